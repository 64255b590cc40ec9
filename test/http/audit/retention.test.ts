import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OPERATOR, recordAudit, removeOldEntries } from '../../../src/audit/entries.ts';
import { retentionSteps } from '../../../src/jobs.ts';
import { DAY } from '../../../src/lib/clock.ts';
import { removeExpired } from '../../../src/storage/retention.ts';
import { readAuditEntries } from '../../support/audit-entries.ts';
import { startTestServer, type TestServer } from '../../support/test-server.ts';

async function addActs(server: TestServer, name: string, count = 1): Promise<void> {
  const subject = { kind: 'business', id: 'some', name } as const;
  const entry = { action: 'business.added', actor: OPERATOR, businessId: null, subject } as const;
  for (let i = 0; i < count; i++) await recordAudit(server.storage().durable, entry, server.clock());
}

const names = async (server: TestServer) => (await readAuditEntries(server)).map(({ subject_name }) => subject_name);

/** Runs the retention job of a server with AUDIT_RETENTION_DAYS=30. */
async function removeWithRetention(server: TestServer): Promise<number> {
  let rows = 0;
  const removed = (table: string, count: number) => {
    if (table === 'audit_entries') rows += count;
  };
  await removeExpired(server.storage().durable, retentionSteps(30 * DAY), server.clock(), {
    isStopped: () => false,
    removed,
  });
  return rows;
}

test('with a retention setting the retention job removes what is older, batch by batch, and nothing else', async () => {
  const server = await startTestServer();
  await addActs(server, 'Old', 1201);
  server.advanceClock(2 * DAY);
  await addActs(server, 'Young');
  server.advanceClock(29 * DAY);

  const removed = await removeWithRetention(server);

  assert.equal(removed, 1201);
  assert.deepEqual(await names(server), ['Young']);
});

test('an entry is kept to the last day of its retention', async () => {
  const server = await startTestServer();
  await addActs(server, 'Kept');

  server.advanceClock(30 * DAY);
  await removeWithRetention(server);
  const onItsLastDay = await names(server);
  server.advanceClock(1);
  await removeWithRetention(server);

  assert.deepEqual(onItsLastDay, ['Kept']);
  assert.deepEqual(await names(server), []);
});

test('after the retention job the database rejects removals as before, of old entries, too', async () => {
  const server = await startTestServer();
  const { durable } = server.storage();
  await addActs(server, 'First');
  server.advanceClock(40 * DAY);
  await addActs(server, 'Second');
  await removeWithRetention(server);
  server.advanceClock(40 * DAY);

  await assert.rejects(durable.deleteFrom('audit_entries').execute(), /append-only/);
  await assert.rejects(durable.updateTable('audit_entries').set({ actor_name: 'Nobody' }).execute(), /append-only/);

  assert.deepEqual(await names(server), ['Second']);
});

test('a removal that fails leaves every entry, and the database rejects removals as before', async () => {
  const server = await startTestServer();
  const { durable } = server.storage();
  await addActs(server, 'Old', 3);
  server.advanceClock(40 * DAY);

  const failing = durable.transaction().execute(async (tx) => {
    await tx.updateTable('audit_retention').set({ removable_before: server.clock() }).execute();
    await tx.deleteFrom('audit_entries').execute();
    throw new Error('and now something fails');
  });

  await assert.rejects(failing, /something fails/);
  await assert.rejects(durable.deleteFrom('audit_entries').execute(), /append-only/);
  assert.equal((await names(server)).length, 3);
});

test('several nodes that remove at once remove each entry once', async () => {
  const server = await startTestServer();
  const { durable } = server.storage();
  await addActs(server, 'Old', 60);
  server.advanceClock(40 * DAY);

  const removed = await Promise.all([1, 2, 3].map(() => removeOldEntries(durable, 25, server.clock() - 30 * DAY)));

  assert.equal(
    removed.reduce((sum, rows) => sum + rows),
    60,
  );
  assert.deepEqual(await names(server), []);
});

test('the log says how long its entries are kept', async () => {
  const [forEver, forAYear] = [await startTestServer(), await startTestServer({ AUDIT_RETENTION_DAYS: '365' })];
  const read = async (server: TestServer) => (await (await server.signedIn()).open('/settings/audit-log')).text;

  assert.match(await read(forEver), /Nothing in it can be changed or removed\./);
  assert.match(await read(forAYear), /entries are removed only after 365 days\./);
});
