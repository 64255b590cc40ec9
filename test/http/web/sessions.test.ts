import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { markUserDisabled, markUserEnabled } from '../../../src/accounts/users.ts';
import { DAY, HOUR, MINUTE } from '../../../src/lib/clock.ts';
import type { Browser } from '../../support/browser.ts';
import { PASSWORD } from '../../support/fixtures.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const SESSION = '__Host-session';

async function isSignedIn(browser: Browser): Promise<boolean> {
  const { url } = await browser.open('/settings/account');
  assert.match(url, /\/settings\/account$|\/sign-in\?/);
  return !url.includes('/sign-in');
}

function replayOf(browser: Browser): Browser {
  const replay = server.browse();
  replay.cookies.set(SESSION, browser.cookies.get(SESSION) ?? '');
  return replay;
}

test('a session ends 12 hours after it was last used [S15]', async () => {
  const browser = await server.signedIn();

  server.advanceClock(12 * HOUR - 1);
  assert.equal(await isSignedIn(browser), true);
  server.advanceClock(12 * HOUR - 1);
  assert.equal(await isSignedIn(browser), true);
  server.advanceClock(12 * HOUR);
  assert.equal(await isSignedIn(browser), false);
});

test('a session in constant use ends 30 days after the sign-in [S15]', async () => {
  const browser = await server.signedIn();

  for (let passed = 0; passed < 29 * DAY; passed += 10 * HOUR) {
    server.advanceClock(10 * HOUR);
    assert.equal(await isSignedIn(browser), true);
  }
  const left = 30 * DAY - Math.ceil((29 * DAY) / (10 * HOUR)) * 10 * HOUR;
  for (let passed = 0; passed + 5 * HOUR < left; passed += 5 * HOUR) {
    server.advanceClock(5 * HOUR);
    assert.equal(await isSignedIn(browser), true);
  }
  server.advanceClock(5 * HOUR);
  assert.equal(await isSignedIn(browser), false);
});

test('the documentation for operators says how long a session lasts [S15]', () => {
  const settings = readFileSync(new URL('../../../docs/reference/settings.md', import.meta.url), 'utf8');

  assert.match(settings, /^\| a session \| 12 hours without use, 30 days at most \|$/m);
});

test('requests within a minute extend a session as much as a single one [S15]', async () => {
  const browser = await server.signedIn();

  server.advanceClock(11 * HOUR);
  assert.equal(await isSignedIn(browser), true);
  server.advanceClock(MINUTE / 2);
  assert.equal(await isSignedIn(browser), true);
  server.advanceClock(11 * HOUR);
  assert.equal(await isSignedIn(browser), true);
});

test('signing out ends the session on the server: a copy of the cookie is useless [S16]', async () => {
  const browser = await server.signedIn();
  const replay = replayOf(browser);

  const page = await browser.submit(await browser.open('/settings/account'), '/sign-out');

  assert.equal(page.url, `${server.web}/sign-in?done=signed_out`);
  assert.match(page.text, /You are signed out\./);
  assert.equal(browser.cookies.get(SESSION), undefined);
  assert.equal(await isSignedIn(replay), false);
});

test('signing out does not end the session in another browser', async () => {
  const here = await server.signedIn();
  const there = await server.signedIn();

  await here.submit(await here.open('/sign-out'), '/sign-out');

  assert.equal(await isSignedIn(there), true);
});

test('signing out without a session is not an error', async () => {
  const browser = server.browse();

  const page = await browser.submit(await browser.open('/sign-out'), '/sign-out');

  assert.equal(page.status, 200);
  assert.equal(page.url, `${server.web}/sign-in?done=signed_out`);
});

test('a link to /sign-out does not sign out: it shows a form [D1]', async () => {
  const browser = await server.signedIn();

  const page = await browser.open('/sign-out');

  assert.match(page.text, /Sign out\?/);
  assert.equal(await isSignedIn(browser), true);
});

test('a disabled user is signed out everywhere at once, and cannot sign in until enabled [S16]', async () => {
  const bob = await server.addUser('Bob', [[server.acme, 'member']]);
  const browser = await server.signedIn(bob);
  const db = server.storage().durable;

  await markUserDisabled(db, bob.id, server.clock());
  const during = await isSignedIn(browser);
  const rejected = await server.browse().signIn(bob.email, PASSWORD);
  await markUserEnabled(db, bob.id);
  const after = await server.browse().signIn(bob.email, PASSWORD);

  assert.equal(during, false);
  assert.equal(rejected.status, 401);
  assert.equal(after.status, 200);
});

test('a session outlives a restart of the server', async () => {
  const browser = await server.signedIn();

  await server.restart();

  assert.equal(await isSignedIn(browser), true);
});

const ODD_COOKIES = ['', 'x', 'A'.repeat(43), 'A'.repeat(4000), '%00', '%zz', '"quoted"', '../../etc', "' or 1=1 --"];

for (const value of ODD_COOKIES) {
  test(`a session cookie of ${JSON.stringify(value.slice(0, 50))} is not a session`, async () => {
    const browser = server.browse();
    browser.cookies.set(SESSION, value);

    assert.equal(await isSignedIn(browser), false);
  });
}

const PAGES = [
  '/settings/connected-apps',
  '/settings/account',
  '/settings/developer',
  '/settings/developer/new',
  '/settings/developer/01a1dd0a-eb11-7000-997c-587fb8fee946',
];

for (const path of PAGES) {
  test(`${path} asks to sign in first, and then returns to the page`, async () => {
    const response = await server.browse().fetch(path);

    assert.equal(response.status, 303);
    assert.equal(response.headers.get('location'), `/sign-in?${new URLSearchParams({ return_to: path })}`);
  });
}

const OVER = { done: 'session_over' };
const REFERERS: [string, string | undefined, string][] = [
  ['the page of the form', server.acmePath('members/invite?from=mail'), server.acmePath('members/invite?from=mail')],
  ['no page', undefined, '/'],
  ['a page of another site', 'https://elsewhere.example/settings/account', '/'],
  ['a page that is not for coming back to', '/sign-out', '/'],
  ['no address at all', '\\', '/'],
];

for (const [what, referer, returnTo] of REFERERS) {
  test(`a form sent from ${what} after the session ended changes nothing, says so, and leads back to ${returnTo === '/' ? '/' : 'it'} [S8]`, async () => {
    const browser = await server.signedIn();
    const csrf = await browser.csrf();
    server.advanceClock(12 * HOUR);

    const page = await browser.post(
      '/settings/account/name',
      { csrf, name: 'Late' },
      referer === undefined ? {} : { referer: referer.startsWith('/') ? server.web + referer : referer },
    );

    assert.equal(page.url, `${server.web}/sign-in?${new URLSearchParams({ return_to: returnTo, ...OVER })}`);
    assert.match(page.text, /role="status">Your session has ended\. Sign in to continue\./);
    const back = await browser.signIn(server.ada.email, PASSWORD, page);
    assert.equal(back.url, server.web + (returnTo === '/' ? server.acmePath('connected-apps') : returnTo));
    assert.doesNotMatch(back.text, />Late</);
  });
}

test('a forged link cannot show other messages on the sign-in page', async () => {
  for (const done of ['app_deleted', '<b>', '__proto__', 'toString']) {
    const { text } = await server.browse().open(`/sign-in?${new URLSearchParams({ done })}`);
    assert.doesNotMatch(text, /role="status"/, done);
  }
});
