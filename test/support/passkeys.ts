import assert from 'node:assert/strict';
import { newAuthenticator } from './authenticator.ts';
import type { Browser } from './browser.ts';
import { rememberSecret } from './leaks.ts';
import type { TestServer } from './test-server.ts';

export const ACCOUNT = '/settings/account';
export const PASSKEYS = `${ACCOUNT}/passkeys`;

/** Asks for a challenge as our script does. */
async function ask(browser: Browser, path: string, fields: Record<string, string> = {}) {
  const { status, text } = await browser.post(`${path}/options`, { csrf: await browser.csrf(), ...fields });
  const options = JSON.parse(text);
  rememberSecret('challenge', options.challenge);
  return { status, options };
}

export const askToAdd = (browser: Browser, passkey_name = 'My phone') => ask(browser, PASSKEYS, { passkey_name });
export const askToSignIn = (browser: Browser) => ask(browser, '/sign-in/passkey');

export async function send(browser: Browser, path: string, credential: string, fields: Record<string, string> = {}) {
  return browser.post(path, { csrf: await browser.csrf(), credential, ...fields });
}

export const sendNew = (browser: Browser, credential: string, passkey_name = 'My phone') =>
  send(browser, PASSKEYS, credential, { passkey_name });
export const sendSignIn = (browser: Browser, credential: string) => send(browser, '/sign-in/passkey', credential);

/** Someone with a passkey, added in the browser they are signed in with. */
export async function addOwner(server: TestServer, name: string) {
  const user = await server.addUser(name, [[server.acme, 'member']]);
  const browser = await server.signedInByPassword(user);
  const key = newAuthenticator(server.web);
  const page = await sendNew(browser, key.create((await askToAdd(browser)).options));
  assert.match(page.text, /The passkey has been added/);
  return { user, browser, key };
}

export async function passkeysOf(server: TestServer, user: { id: string }) {
  return server.storage().durable.selectFrom('passkeys').selectAll().where('user_id', '=', user.id).execute();
}
