import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HOUR } from '../../../src/lib/clock.ts';
import { parseAuditTable, readAuditEntries } from '../../support/audit-entries.ts';
import { startTestServer, type TestServer } from '../../support/test-server.ts';

const failures = async (server: TestServer) =>
  (await readAuditEntries(server))
    .filter(({ action }) => action === 'session.failed')
    .map(({ detail }) => JSON.parse(detail));

const fail = (server: TestServer, email = server.ada.email) => server.browse().signIn(email, 'not the password');

test('a failed sign-in is in the platform’s log and on the account page of the user', async () => {
  const server = await startTestServer();
  const root = await server.signedIn(await server.addUser('Root', [], true));
  await fail(server);
  const ada = await server.signedIn();

  const [entry, ...more] = parseAuditTable(await root.open('/platform/audit-log'));
  const account = await ada.open('/settings/account');

  assert.deepEqual(more, []);
  assert.deepEqual(
    [entry?.who, entry?.what, entry?.onWhat, entry?.more, entry?.business, entry?.where],
    ['Someone', 'Failed to sign in', 'Ada', 'With a password', '—', '127.0.0.1'],
  );
  assert.match(account.text, /Failed sign-ins.*127\.0\.0\.1\. With a password/s);
  assert.doesNotMatch((await root.open('/settings/account')).text, /Failed sign-ins/);
});

test('of many failures within an hour the first, the tenth and the hundredth are in the log [X9]', async () => {
  const server = await startTestServer({ LIMIT_SIGN_IN_PER_ACCOUNT: '1000' });

  for (let i = 0; i < 12; i++) await fail(server);
  const within = await failures(server);
  server.advanceClock(HOUR);
  await fail(server);

  const first = { with: 'password' };
  assert.deepEqual(within, [first, { ...first, attempts_within_an_hour: '10' }]);
  assert.deepEqual((await failures(server)).at(-1), first);
});

test('failures for accounts that do not exist leave no entry, and one counter for their network [X9] [S4]', async () => {
  const server = await startTestServer();

  for (const email of ['nobody@example.com', 'no-one@example.com', 'not even an address']) {
    assert.equal((await fail(server, email)).status, 401);
  }

  assert.deepEqual(await readAuditEntries(server), []);
  assert.equal((await server.storage().durable.selectFrom('audit_repeats').select('key').execute()).length, 1);
});

test('a disabled user who knows the password fails as well, and it is recorded', async () => {
  const server = await startTestServer();
  await server.storage().durable.updateTable('users').set({ disabled_at: server.clock() }).execute();

  const response = await server.browse().signIn(server.ada.email, 'correct horse battery');

  assert.equal(response.status, 401);
  assert.equal((await failures(server)).length, 1);
});
