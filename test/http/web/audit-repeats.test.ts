import assert from 'node:assert/strict';
import { test } from 'node:test';
import { retentionSteps } from '../../../src/jobs.ts';
import { DAY, HOUR } from '../../../src/lib/clock.ts';
import { removeExpired } from '../../../src/storage/retention.ts';
import { parseAuditTable, readAuditEntries } from '../../support/audit-entries.ts';
import { startTestServer, type TestServer } from '../../support/test-server.ts';

const allowed = async (server: TestServer) =>
  (await readAuditEntries(server))
    .filter(({ action }) => action === 'grant.allowed')
    .map(({ detail }) => JSON.parse(detail).scope);

/** An app of the platform, which shows no consent screen. */
async function newConsole(server: TestServer) {
  const { id } = await server.addApp({ name: 'Console' });
  const browser = await server.signedIn();
  const authorize = async (changes = {}, by = browser) => {
    const { leftTo } = await by.open(server.authorizeUrl({ client_id: id, prompt: 'none', ...changes }));
    assert.ok(leftTo?.searchParams.get('code'), String(leftTo));
  };
  return { id, browser, authorize };
}

test('silent authorizations by one user of one app in one business leave one entry a day, however many at once [X9]', async () => {
  const server = await startTestServer();
  const { authorize } = await newConsole(server);

  await Promise.all(Array.from({ length: 20 }, () => authorize()));
  const firstDay = await allowed(server);
  server.advanceClock(DAY - 1);
  const later = await server.signedIn();
  await authorize({}, later);
  const endOfDay = await allowed(server);
  server.advanceClock(1);
  await authorize({}, later);
  await authorize({}, later);

  assert.deepEqual([firstDay.length, endOfDay.length, (await allowed(server)).length], [1, 1, 2]);
});

test('a remembered consent that is used again and again leaves one entry beside the one of Allow [X9]', async () => {
  const server = await startTestServer();
  const browser = await server.signedIn();
  await server.allow({}, browser);

  for (let i = 0; i < 10; i++) await server.allow({ prompt: 'none' }, browser);

  const ways = (await readAuditEntries(server)).map(({ detail }) => JSON.parse(detail).how);
  assert.deepEqual(ways, [undefined, 'without asking']);
});

test('other scopes, another business, another user and another app are not repeats', async () => {
  const server = await startTestServer();
  const { id, browser, authorize } = await newConsole(server);
  const bolt = await server.addBusiness('Bolt');
  await server.addMember(server.ada, bolt, 'member');
  const olivia = await server.signedIn(await server.addUser('Olivia', [[server.acme, 'member']]));
  const other = await server.addApp({ name: 'Other' });

  await authorize();
  await authorize({ scope: 'read:invoices write:invoices' });
  await authorize({ client_id: other.id });
  await olivia.open(server.authorizeUrl({ client_id: id }));
  await browser.post('/settings/current-business', { csrf: await browser.csrf(), business: bolt.id });
  await authorize();

  assert.equal((await allowed(server)).length, 5);
});

test('a silent authorization after the app was disconnected is in the log again', async () => {
  const server = await startTestServer();
  const { id, browser, authorize } = await newConsole(server);
  await authorize();
  const path = '/settings/connected-apps/disconnect';
  const csrf = await browser.csrf();
  await browser.post(path, { csrf, app: id, business: server.acme.id, sure: 'yes' });

  await authorize();
  await authorize();

  assert.deepEqual(
    (await readAuditEntries(server)).map(({ action }) => action),
    ['grant.allowed', 'grant.disconnected', 'grant.allowed'],
  );
});

test('Deny is in the log of the business, once an hour', async () => {
  const server = await startTestServer();
  const browser = await server.signedIn();
  const deny = async () => browser.submit(await browser.open(server.authorizeUrl()), '/consent', { decision: 'deny' });

  const denied = await deny();
  await deny();
  const log = parseAuditTable(await browser.open('/settings/audit-log'));
  server.advanceClock(HOUR);
  await deny();

  assert.equal(denied.leftTo?.searchParams.get('error'), 'access_denied');
  assert.deepEqual(
    log.map(({ who, what, onWhat }) => [who, what, onWhat]),
    [['Ada', 'Denied the app', 'Ledger']],
  );
  assert.equal((await readAuditEntries(server)).length, 2);
});

test('records of repeats are removed after a day', async () => {
  const server = await startTestServer();
  const { authorize } = await newConsole(server);
  await authorize();

  const count = async () => (await server.storage().durable.selectFrom('audit_repeats').select('key').execute()).length;
  const before = await count();
  server.advanceClock(DAY + 1);
  await removeExpired(server.storage().durable, retentionSteps(), server.clock());

  assert.deepEqual([before, await count()], [1, 0]);
});
