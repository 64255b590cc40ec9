import assert from 'node:assert/strict';
import { createAuthenticator } from './authenticator.ts';
import type { Browser } from './browser.ts';
import { rememberSecret } from './leaks.ts';
import type { TestServer } from './test-server.ts';

export const ACCOUNT = '/settings/account';
export const PASSKEYS = `${ACCOUNT}/passkeys`;

/** Requests a challenge, as the script of the page does. */
async function fetchOptions(browser: Browser, path: string, fields: Record<string, string> = {}) {
  const { status, text } = await browser.post(`${path}/options`, { csrf: await browser.csrf(), ...fields });
  const options = JSON.parse(text);
  rememberSecret('challenge', options.challenge);
  return { status, options };
}

export const fetchCreationOptions = (browser: Browser, passkey_name = 'My phone') =>
  fetchOptions(browser, PASSKEYS, { passkey_name });
export const fetchSignInOptions = (browser: Browser) => fetchOptions(browser, '/sign-in/passkey');

export async function postCredential(
  browser: Browser,
  path: string,
  credential: string,
  fields: Record<string, string> = {},
) {
  return browser.post(path, { csrf: await browser.csrf(), credential, ...fields });
}

export const postNewPasskey = (browser: Browser, credential: string, passkey_name = 'My phone') =>
  postCredential(browser, PASSKEYS, credential, { passkey_name });
export const postSignIn = (browser: Browser, credential: string) =>
  postCredential(browser, '/sign-in/passkey', credential);

/** Adds a user with a passkey. */
export async function addUserWithPasskey(server: TestServer, name: string) {
  const user = await server.addUser(name, [[server.acme, 'member']]);
  const browser = await server.signedInByPassword(user);
  const key = createAuthenticator(server.web);
  const page = await postNewPasskey(browser, key.create((await fetchCreationOptions(browser)).options));
  assert.match(page.text, /The passkey has been added/);
  return { user, browser, key };
}

export async function passkeysOf(server: TestServer, user: { id: string }) {
  return server.storage().durable.selectFrom('passkeys').selectAll().where('user_id', '=', user.id).execute();
}
