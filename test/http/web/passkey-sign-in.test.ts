import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expiredChallenges } from '../../../src/accounts/passkeys.ts';
import { markUserDisabled } from '../../../src/accounts/users.ts';
import { retentionSteps } from '../../../src/jobs.ts';
import { DAY, MINUTE } from '../../../src/lib/clock.ts';
import { idToBytes } from '../../../src/lib/ids.ts';
import { removeExpired } from '../../../src/storage/retention.ts';
import { readAuditEntries } from '../../support/audit-entries.ts';
import type { AuthenticatorOverrides, createAuthenticator } from '../../support/authenticator.ts';
import type { Browser } from '../../support/browser.ts';
import { PASSWORD } from '../../support/fixtures.ts';
import {
  ACCOUNT,
  addUserWithPasskey,
  fetchCreationOptions,
  fetchSignInOptions,
  PASSKEYS,
  passkeysOf,
  postCredential,
  postNewPasskey,
  postSignIn,
} from '../../support/passkeys.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const { key: honest } = await addUserWithPasskey(server, 'Hal');

async function signIn(
  key: ReturnType<typeof createAuthenticator>,
  overrides: AuthenticatorOverrides = {},
  browser = server.browse(),
) {
  const { options } = await fetchSignInOptions(browser);
  return { browser, page: await postSignIn(browser, key.get(options, overrides)) };
}

async function entriesOf(user: { id: string }) {
  return (await readAuditEntries(server)).filter(({ actor_id }) => actor_id === user.id);
}

/** The user handle of the authenticator. */
function handleOf({ id }: { id: string }): string {
  return idToBytes(id).toString('base64url');
}

async function isSignedIn(browser: Browser): Promise<boolean> {
  return (await browser.open(ACCOUNT)).url === server.web + ACCOUNT;
}

function assertRejected({ browser, page }: Awaited<ReturnType<typeof signIn>>): void {
  assert.equal(page.status, 401);
  assert.match(page.text, /id="passkey-problem">This passkey did not sign you in\. Try again, or use your password\./);
  assert.equal(browser.cookies.get('__Host-session'), undefined);
}

test('a passkey that was added signs in, and the account page says when it was used', async () => {
  const { user, key } = await addUserWithPasskey(server, 'Ann');

  const { browser, page } = await signIn(key);

  assert.equal(page.status, 200);
  assert.equal(page.url, server.web + server.acmePath('connected-apps'));
  const { text } = await browser.open(ACCOUNT);
  assert.match(text, /<strong>My phone<\/strong>\s*<p class="muted small">Added <time.*?last used <time/s);
  const entries = (await entriesOf(user)).map(({ action, business_id, detail }) => [action, business_id, detail]);
  assert.deepEqual(entries, [
    ['session.started', null, '{"with":"password"}'],
    ['passkey.added', null, '{}'],
    ['session.started', null, '{"with":"passkey"}'],
  ]);
});

test('signing in by passkey changes the session id, and the session before ends [S1]', async () => {
  const { browser, key } = await addUserWithPasskey(server, 'Ben');
  const before = browser.cookies.get('__Host-session') ?? '';

  await signIn(key, {}, browser);

  assert.notEqual(browser.cookies.get('__Host-session'), before);
  const replay = server.browse();
  replay.cookies.set('__Host-session', before);
  assert.equal(await isSignedIn(replay), false);
});

test('a passkey satisfies prompt=login, and the user returns to the app [A19]', async () => {
  const { browser, key } = await addUserWithPasskey(server, 'Cid');
  server.advanceClock(1000);
  const signInPage = await browser.open(server.authorizeUrl({ prompt: 'login' }));
  const return_to = new URL(signInPage.url).searchParams.get('return_to') ?? '';

  const { options } = await fetchSignInOptions(browser);
  const page = await postCredential(browser, '/sign-in/passkey', key.get(options), { return_to });

  assert.match(page.url, /\/consent\?/);
  assert.match(page.text, /<strong><bdi>Ledger<\/bdi><\/strong> wants to access/);
});

test('a passkey signs in after the password was changed, and not after it was removed [D3]', async () => {
  const { user, browser, key } = await addUserWithPasskey(server, 'Dee');
  const password = 'a much better password';
  await browser.submit(await browser.open(ACCOUNT), `${ACCOUNT}/password`, { current_password: PASSWORD, password });
  const kept = await signIn(key);
  const [row] = await passkeysOf(server, user);
  const action = `${PASSKEYS}/${row?.id}/remove`;

  const removed = await browser.submit(await browser.open(ACCOUNT), action);

  assert.equal(await isSignedIn(kept.browser), true);
  assert.match(removed.text, /The passkey has been removed/);
  assertRejected(await signIn(key));
  assert.equal((await browser.post(action, { csrf: await browser.csrf() })).status, 404);
  assert.deepEqual(
    (await entriesOf(user)).filter(({ subject_kind }) => subject_kind === 'passkey').map(({ action }) => action),
    ['passkey.added', 'passkey.removed'],
  );
});

test('the passkey of a disabled user does not sign in [S16]', async () => {
  const { user, key } = await addUserWithPasskey(server, 'Eli');
  await markUserDisabled(server.storage().durable, user.id, server.clock());

  assertRejected(await signIn(key));
});

test('a passkey response counts once, however often and however fast it is sent', async () => {
  const { key } = await addUserWithPasskey(server, 'Fay');
  const browser = server.browse();
  const { options } = await fetchSignInOptions(browser);
  const credential = key.get(options);
  const csrf = await browser.csrf();
  const post = () =>
    browser.fetch('/sign-in/passkey', { method: 'POST', body: new URLSearchParams({ csrf, credential }) });

  const statuses = (await Promise.all(Array.from({ length: 8 }, post))).map(({ status }) => status);

  assert.deepEqual(statuses.sort(), [303, ...Array(7).fill(401)]);
  await removeExpired(server.storage().durable, retentionSteps(), server.clock());
  assertRejected({ browser, page: await postSignIn(browser, credential) });
  await expiredChallenges.remove(server.storage().durable, 100, server.clock() + DAY);
  assert.deepEqual(await server.storage().durable.selectFrom('used_challenges').selectAll().execute(), []);
});

test('a challenge is valid for five minutes, in the browser that it was issued to, and for its purpose', async () => {
  const { browser, key } = await addUserWithPasskey(server, 'Gus');
  const visitor = server.browse();
  const late = key.get((await fetchSignInOptions(visitor)).options);
  server.advanceClock(5 * MINUTE);
  assertRejected({ browser: visitor, page: await postSignIn(visitor, late) });

  const elsewhere = key.get((await fetchSignInOptions(server.browse())).options);
  assertRejected({ browser: visitor, page: await postSignIn(visitor, elsewhere) });

  const { options } = await fetchCreationOptions(browser);
  assertRejected({ browser: visitor, page: await postSignIn(visitor, key.get({ ...options, rpId: 'localhost' })) });
  assertRejected({
    browser: visitor,
    page: await postSignIn(visitor, key.get({ challenge: 'AAAA', rpId: 'localhost' })),
  });
});

const OVERRIDES: [what: string, overrides: AuthenticatorOverrides][] = [
  ['made at another site', { origin: 'https://evil.example' }],
  ['made for another site', { rpId: 'evil.example' }],
  ['meant to add a passkey', { type: 'webauthn.create' }],
  ['of a device that did not ask who is there', { isVerified: false }],
  ['that names another user', { userHandle: 'AAAAAAAAAAAAAAAAAAAAAA' }],
  ['that names no user', { userHandle: '' }],
  ['of an unknown passkey', { credentialId: 'AAAAAAAAAAAAAAAAAAAAAA' }],
];

for (const [what, overrides] of OVERRIDES) {
  test(`a response ${what} does not sign in, and gets the same message as any other [S4]`, async () => {
    assertRejected(await signIn(honest, overrides));
  });
}

test('a signature of another key is rejected', async () => {
  const { user, key } = await addUserWithPasskey(server, 'Ida');
  const { key: other } = await addUserWithPasskey(server, 'Ike');

  assertRejected(await signIn(other, { credentialId: key.id, userHandle: handleOf(user) }));
});

test('a passkey whose counter does not increase is rejected: it may have been cloned', async () => {
  const { user, key } = await addUserWithPasskey(server, 'Joy');

  const counted = await signIn(key, { counter: 3_000_000_000 });
  const still = await signIn(key, { counter: 3_000_000_000 });
  const back = await signIn(key, { counter: 7 });
  const none = await signIn(key, { counter: 0 });

  assert.equal(counted.page.status, 200);
  for (const rejected of [still, back, none]) assertRejected(rejected);
  assert.equal((await passkeysOf(server, user))[0]?.counter, 3_000_000_000);
});

test('of two simultaneous responses with the same counter, one signs in', async () => {
  const { key } = await addUserWithPasskey(server, 'Jem');
  const attempts = [];
  for (const browser of [server.browse(), server.browse()]) {
    const credential = key.get((await fetchSignInOptions(browser)).options, { counter: 5 });
    attempts.push({ browser, body: new URLSearchParams({ csrf: await browser.csrf(), credential }) });
  }

  const responses = await Promise.all(
    attempts.map(({ browser, body }) => browser.fetch('/sign-in/passkey', { method: 'POST', body })),
  );

  assert.deepEqual(responses.map(({ status }) => status).sort(), [303, 401]);
});

const ODD = [
  '',
  '{',
  'null',
  '[]',
  '"x"',
  '{"id":1}',
  '{"id":"x","response":null}',
  '{"id":"x","response":{}}',
  '\0',
  `${'['.repeat(9000)}`,
];

test('malformed passkey responses are rejected by the sign-in and by the account page', async () => {
  const { user, browser, key } = await addUserWithPasskey(server, 'Kim');
  const visitor = server.browse();
  const response = { userHandle: handleOf(user), clientDataJSON: 7, attestationObject: 'o2NmbXRkbm9uZQ' };
  const hollow = JSON.stringify({ id: key.id, rawId: key.id, type: 'public-key', response });

  for (const credential of [...ODD, hollow]) {
    assertRejected({ browser: visitor, page: await postSignIn(visitor, credential) });
    const page = await postNewPasskey(browser, credential);
    assert.equal(page.status, 400, credential);
    assert.match(page.text, /id="passkey-problem">This passkey could not be added\./);
  }
  const csrf = await visitor.csrf();
  assert.equal((await visitor.post('/sign-in/passkey', { csrf, credential: ['a', 'b'] })).status, 401);
  assert.equal((await visitor.post('/sign-in/passkey', { csrf, credential: 'x'.repeat(70_000) })).status, 413);
  assert.equal((await passkeysOf(server, user)).length, 1);
});

test('wrong passkeys are limited by address like wrong passwords, and right ones are not [S9]', async () => {
  const small = await startTestServer({ LIMIT_SIGN_IN_PER_ADDRESS: '3' });
  const { key } = await addUserWithPasskey(small, 'Lou');
  const attempt = async (overrides: AuthenticatorOverrides) =>
    (await signIn(key, overrides, small.browse())).page.status;

  const right = [await attempt({}), await attempt({}), await attempt({}), await attempt({})];
  const wrong = [];
  for (let i = 0; i < 3; i++) wrong.push(await attempt({ rpId: 'evil.example' }));

  assert.deepEqual(right, [200, 200, 200, 200]);
  assert.deepEqual(wrong, [401, 401, 401]);
  assert.equal(await attempt({}), 429);
});
