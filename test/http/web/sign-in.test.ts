import assert from 'node:assert/strict';
import { test } from 'node:test';
import { markUserDisabled } from '../../../src/accounts/users.ts';
import { toBody } from '../../support/browser.ts';
import { PASSWORD } from '../../support/fixtures.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const SESSION = '__Host-session';

test('each cookie is __Host- prefixed, Secure, HttpOnly, SameSite=Lax, for the whole host and no other [S3]', async () => {
  const browser = server.browse();
  const csrf = await browser.csrf();
  const first = await server.browse().fetch('/sign-in');
  const body = toBody({ csrf, email: server.ada.email, password: PASSWORD });
  const signedIn = await browser.fetch('/sign-in', { method: 'POST', body });

  const set = [...first.headers.getSetCookie(), ...signedIn.headers.getSetCookie()];

  assert.equal(set.length, 3);
  assert.match(set[1] ?? '', /^__Host-session=[\w-]{43};/);
  for (const cookie of set) {
    const [pair, ...attributes] = cookie.split('; ');
    assert.match(pair ?? '', /^__Host-/);
    for (const wanted of ['Secure', 'HttpOnly', 'SameSite=Lax', 'Path=/'])
      assert.ok(attributes.includes(wanted), cookie);
    assert.doesNotMatch(cookie, /domain/i);
  }
});

test('every sign-in creates a new session id, and the previous one stops working [S1]', async () => {
  const browser = await server.signedIn();
  const before = browser.cookies.get(SESSION) ?? '';

  await browser.signIn(server.ada.email, PASSWORD);

  assert.notEqual(browser.cookies.get(SESSION), before);
  assert.equal((await browser.open('/settings/account')).url, `${server.web}/settings/account`);
  const replay = server.browse();
  replay.cookies.set(SESSION, before);
  assert.match((await replay.open('/settings/account')).url, /\/sign-in\?/);
});

test('signing in again for prompt=login also changes the session id [S1]', async () => {
  const browser = await server.signedIn();
  const before = browser.cookies.get(SESSION) ?? '';
  server.advanceClock(1000);

  const signInPage = await browser.open(server.authorizeUrl({ prompt: 'login' }));
  const consent = await browser.signIn(server.ada.email, PASSWORD, signInPage);

  assert.match(consent.url, /\/consent\?/);
  assert.notEqual(browser.cookies.get(SESSION), before);
  const replay = server.browse();
  replay.cookies.set(SESSION, before);
  assert.match((await replay.open('/settings/account')).url, /\/sign-in\?/);
});

test('a session cookie planted before sign-in never becomes a session [S2]', async () => {
  const planted = 'A'.repeat(43);
  const browser = server.browse();
  browser.cookies.set(SESSION, planted);

  await browser.signIn(server.ada.email, PASSWORD);

  assert.notEqual(browser.cookies.get(SESSION), planted);
  const attacker = server.browse();
  attacker.cookies.set(SESSION, planted);
  assert.match((await attacker.open('/settings/account')).url, /\/sign-in\?/);
});

test('a sign-in by someone else in the same browser ends the session before it [S1]', async () => {
  const eve = await server.addUser('Eve', [[server.acme, 'member']]);
  const browser = await server.signedIn();
  const replay = server.browse();
  replay.cookies.set(SESSION, browser.cookies.get(SESSION) ?? '');

  await browser.signIn(eve.email, PASSWORD);

  assert.match((await replay.open('/settings/account')).url, /\/sign-in\?/);
  const { text } = await browser.open('/settings/account');
  assert.match(text, /eve@example\.com/);
  assert.doesNotMatch(text, /ada@example\.com/);
});

test('a wrong password, an unknown user and a disabled user get the same response, byte for byte [S4]', async () => {
  const bob = await server.addUser('Bob');
  await markUserDisabled(server.storage().durable, bob.id, server.clock());
  const browser = server.browse();
  const csrf = await browser.csrf();
  const attempt = async (email: string, password: string) => {
    const response = await browser.fetch('/sign-in', { method: 'POST', body: toBody({ csrf, email, password }) });
    const headers = [...response.headers].filter(([name]) => name !== 'date' && name !== 'x-request-id');
    return { status: response.status, headers, body: (await response.text()).replaceAll(email, 'EMAIL') };
  };

  const wrong = await attempt('ada@example.com', 'not the password');
  const unknown = await attempt('zoe@example.com', 'not the password');
  const disabled = await attempt('bob@example.com', PASSWORD);

  assert.equal(wrong.status, 401);
  assert.deepEqual(unknown, wrong);
  assert.deepEqual(disabled, wrong);
});

test('after a wrong password the email is still there and the password is not', async () => {
  const browser = server.browse();

  const page = await browser.signIn(server.ada.email, 'not the password');

  assert.equal(page.status, 401);
  assert.match(page.text, /name="email"[^>]*value="ada@example\.com"/);
  assert.match(page.text, /id="password-problem">The email or password is wrong\./);
  assert.doesNotMatch(page.text, /not the password/);
  assert.equal(browser.cookies.get(SESSION), undefined);
});

test('an email is recognised in any case and with spaces around it', async () => {
  const browser = server.browse();

  const page = await browser.signIn('  ADA@Example.COM ', PASSWORD);

  assert.equal(page.url, server.web + server.acmePath('connected-apps'));
});

test('signing in leads to the page that was requested before', async () => {
  const browser = server.browse();

  const signInPage = await browser.open('/settings/developer/new?from=mail');
  const arrived = await browser.signIn(server.ada.email, PASSWORD, signInPage);

  assert.match(signInPage.url, /\/sign-in\?/);
  assert.equal(arrived.url, server.web + server.acmePath('developer/new?from=mail'));
});

test('a wrong password does not lose the page that was requested before', async () => {
  const browser = server.browse();

  const signInPage = await browser.open('/settings/account');
  const rejected = await browser.signIn(server.ada.email, 'not the password', signInPage);
  const arrived = await browser.signIn(server.ada.email, PASSWORD, rejected);

  assert.equal(arrived.url, `${server.web}/settings/account`);
});

test('an authorize request is preserved whole through sign-in', async () => {
  const browser = server.browse();
  const state = 'a b&c=d%"<é>';

  const signInPage = await browser.open(server.authorizeUrl({ state }));
  const screen = await browser.signIn(server.ada.email, PASSWORD, signInPage);
  const response = await browser.submit(screen, '/consent', { decision: 'allow' });

  assert.match(signInPage.url, /\/sign-in\?/);
  assert.match(screen.url, /\/consent\?/);
  assert.equal(response.leftTo?.searchParams.get('state'), state);
  assert.ok(response.leftTo?.searchParams.get('code'));
});

const ODD: [string, string][] = [
  ['no fields', ''],
  ['no password', 'email=ada@example.com'],
  ['a repeated email', `email=ada@example.com&email=ada@example.com&password=${encodeURIComponent(PASSWORD)}`],
  ['a repeated password', 'email=ada@example.com&password=a&password=b'],
  ['a NUL in the email', 'email=ada%00@example.com&password=x'],
  ['half a surrogate pair', 'email=%ED%A0%80&password=%ED%A0%80'],
  ['broken percent-encoding', 'email=%zz&password=%'],
  ['a very long email', `email=${'a'.repeat(30_000)}&password=x`],
  ['__proto__ for a name', '__proto__=x&email=x&password=x'],
];

for (const [name, fields] of ODD) {
  test(`a sign-in with ${name} is rejected like any other failed one`, async () => {
    const browser = server.browse();
    const csrf = await browser.csrf();
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };

    const response = await browser.fetch('/sign-in', { method: 'POST', body: `csrf=${csrf}&${fields}`, headers });

    assert.equal(response.status, 401);
    assert.deepEqual(response.headers.getSetCookie(), []);
  });
}

test('a sign-in that is not a form, or is too large, is rejected without being read', async () => {
  const browser = server.browse();
  const csrf = await browser.csrf();
  const json = { 'content-type': 'application/json' };

  const asJson = await browser.fetch('/sign-in', { method: 'POST', body: JSON.stringify({ csrf }), headers: json });
  const tooLarge = await browser.fetch('/sign-in', {
    method: 'POST',
    body: toBody({ csrf, email: 'a'.repeat(70_000) }),
  });

  assert.equal(asJson.status, 415);
  assert.equal(tooLarge.status, 413);
  assert.match(asJson.headers.get('content-type') ?? '', /^text\/html/);
});
