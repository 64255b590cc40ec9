import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OPERATOR, recordAudit } from '../../../src/audit/entries.ts';
import { retentionSteps } from '../../../src/jobs.ts';
import { DAY } from '../../../src/lib/clock.ts';
import { removeExpired } from '../../../src/storage/retention.ts';
import { startTestServer, type TestServer } from '../../support/test-server.ts';

const entry = {
  action: 'business.added',
  actor: OPERATOR,
  businessId: null,
  subject: { kind: 'business', id: 'some', name: 'Some business' },
} as const;

const readAuditEntries = (server: TestServer) =>
  server.storage().durable.selectFrom('audit_entries').selectAll().orderBy('id').execute();

test('the database rejects changing, replacing or removing an audit entry', async () => {
  const server = await startTestServer();
  const { durable } = server.storage();
  await recordAudit(durable, entry, server.clock());
  const [written] = await readAuditEntries(server);
  assert.ok(written);

  const forged = { ...written, actor_name: 'Nobody' };
  const attempts = {
    update: durable.updateTable('audit_entries').set({ actor_name: 'Nobody' }).where('id', '=', written.id),
    remove: durable.deleteFrom('audit_entries').where('id', '=', written.id),
    removeAll: durable.deleteFrom('audit_entries'),
    replace: durable.replaceInto('audit_entries').values(forged),
    upsert: durable
      .insertInto('audit_entries')
      .values(forged)
      .onConflict((conflict) => conflict.column('id').doUpdateSet({ actor_name: 'Nobody' })),
  };

  for (const [name, attempt] of Object.entries(attempts)) await assert.rejects(attempt.execute(), name);
  assert.deepEqual(await readAuditEntries(server), [written]);
});

test('a change that is rolled back leaves no audit entry', async () => {
  const server = await startTestServer();

  const undone = server.storage().transaction(async (db) => {
    await recordAudit(db, entry, server.clock());
    throw new Error('and now something fails');
  });

  await assert.rejects(undone, /something fails/);
  assert.deepEqual(await readAuditEntries(server), []);
});

test('a change whose audit entry cannot be written does not happen', async () => {
  const server = await startTestServer();
  const browser = await server.signedInByPassword();
  const { durable } = server.storage();
  const page = await browser.open('/sign-out');

  await durable.schema.alterTable('audit_entries').renameTo('audit_entries_away').execute();
  const rejected = await browser.submit(page, '/sign-out');
  await durable.schema.alterTable('audit_entries_away').renameTo('audit_entries').execute();

  assert.equal(rejected.status, 500);
  assert.equal((await browser.open('/settings/account')).url, `${server.web}/settings/account`);
  assert.deepEqual(
    (await readAuditEntries(server)).map(({ action }) => action),
    ['session.started', 'session.member_started'],
  );
});

test('without a retention setting no audit entry is removed', async () => {
  const server = await startTestServer();
  await server.signedInByPassword();
  const before = await readAuditEntries(server);

  server.advanceClock(10_000 * DAY);
  await removeExpired(server.storage().durable, retentionSteps(), server.clock());

  assert.equal(before.length, 2);
  assert.deepEqual(await readAuditEntries(server), before);
});
