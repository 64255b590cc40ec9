import assert from 'node:assert/strict';
import { TOTP } from 'otpauth';
import { SECOND } from '../../src/lib/clock.ts';
import type { Browser, BrowserPage } from './browser.ts';
import { PASSWORD } from './fixtures.ts';
import { rememberSecret } from './leaks.ts';
import type { TestServer } from './test-server.ts';

export const TWO_STEP = '/settings/two-step';
export const SECOND_STEP = '/sign-in/second-step';

type AppClock = Pick<TestServer, 'clock'> & Partial<Pick<TestServer, 'advanceClock'>>;

/** An authenticator app with one secret. */
export function createApp(server: AppClock, secret: string) {
  const totp = new TOTP({ secret });
  return {
    /** The code of a time step, relative to the one of the server's clock. */
    code: (step = 0) => totp.generate({ timestamp: server.clock() + step * 30 * SECOND }),
    /** Advances the clock to a step whose code has not been used. */
    freshCode() {
      server.advanceClock?.(60 * SECOND);
      return totp.generate({ timestamp: server.clock() });
    },
  };
}

/** The secret that a set-up page shows. */
export function readSecret({ text }: BrowserPage): string {
  const [, secret = ''] = /<code id="key">([A-Z2-7]+)<\/code>/.exec(text) ?? [];
  assert.match(secret, /^[A-Z2-7]{32}$/, text);
  rememberSecret('authenticator secret', secret);
  return secret;
}

export function readRecoveryCodes({ text }: BrowserPage): string[] {
  const codes = [...text.matchAll(/<li><code>([\w-]{19})<\/code><\/li>/g)].map(([, code = '']) => code);
  for (const code of codes) rememberSecret('recovery code', code);
  return codes;
}

/** Sets up two-step sign-in in a browser that has just signed in. */
export async function setUpTwoStep(server: AppClock, browser: Browser) {
  const page = await browser.open(TWO_STEP);
  const app = createApp(server, readSecret(page));
  const done = await browser.submit(page, TWO_STEP, { code: app.code() });
  const recoveryCodes = readRecoveryCodes(done);
  assert.equal(recoveryCodes.length, 10, done.text);
  return { ...app, recoveryCodes };
}

/** Adds a user with an authenticator app. */
export async function addTwoStepUser(server: TestServer, name: string) {
  const user = await server.addUser(name, [[server.acme, 'member']]);
  const browser = await server.signedIn(user);
  return { user, browser, ...(await setUpTwoStep(server, browser)) };
}

/** Enters the password, and returns the page of the second step. */
export async function enterPassword(browser: Browser, { email }: { email: string }, path = '/'): Promise<BrowserPage> {
  const page = await browser.signIn(email, PASSWORD, await browser.open(path));
  assert.match(page.url, /\/sign-in\/second-step/, page.text);
  return page;
}

export function enterCode(browser: Browser, page: BrowserPage, code: string): Promise<BrowserPage> {
  return browser.submit(page, SECOND_STEP, code.includes('-') ? { recovery_code: code } : { code });
}

export function isSignedIn(page: BrowserPage): boolean {
  return page.status === 200 && !page.url.includes('/sign-in');
}
