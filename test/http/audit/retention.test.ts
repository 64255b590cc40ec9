import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OPERATOR, recordAudit, removeOldEntries } from '../../../src/audit/entries.ts';
import { DAY } from '../../../src/lib/clock.ts';
import { retentionSteps } from '../../../src/retention-steps.ts';
import { removeExpired } from '../../../src/storage/retention.ts';
import { readActs } from '../../support/acts.ts';
import { newWorld, type World } from '../../support/world.ts';

async function addActs(world: World, name: string, count = 1): Promise<void> {
  const subject = { kind: 'business', id: 'some', name } as const;
  const act = { action: 'business.added', actor: OPERATOR, businessId: null, subject } as const;
  for (let i = 0; i < count; i++) await recordAudit(world.storage().durable, act, world.clock());
}

const names = async (world: World) => (await readActs(world)).map(({ subject_name }) => subject_name);

/** As the server does it, with AUDIT_RETENTION_DAYS=30. */
async function removeWithRetention(world: World): Promise<number> {
  let rows = 0;
  const removed = (table: string, count: number) => {
    if (table === 'audit_entries') rows += count;
  };
  await removeExpired(world.storage().durable, retentionSteps(30 * DAY), world.clock(), {
    isStopped: () => false,
    removed,
  });
  return rows;
}

test('with a retention setting the retention job removes what is older, batch by batch, and nothing else', async () => {
  const world = await newWorld();
  await addActs(world, 'Old', 1201);
  world.wind(2 * DAY);
  await addActs(world, 'Young');
  world.wind(29 * DAY);

  const removed = await removeWithRetention(world);

  assert.equal(removed, 1201);
  assert.deepEqual(await names(world), ['Young']);
});

test('an entry is kept to the last day of its retention', async () => {
  const world = await newWorld();
  await addActs(world, 'Kept');

  world.wind(30 * DAY);
  await removeWithRetention(world);
  const onItsLastDay = await names(world);
  world.wind(1);
  await removeWithRetention(world);

  assert.deepEqual(onItsLastDay, ['Kept']);
  assert.deepEqual(await names(world), []);
});

test('after the retention job the database rejects removals as before, of old entries, too', async () => {
  const world = await newWorld();
  const { durable } = world.storage();
  await addActs(world, 'First');
  world.wind(40 * DAY);
  await addActs(world, 'Second');
  await removeWithRetention(world);
  world.wind(40 * DAY);

  await assert.rejects(durable.deleteFrom('audit_entries').execute(), /append-only/);
  await assert.rejects(durable.updateTable('audit_entries').set({ actor_name: 'Nobody' }).execute(), /append-only/);

  assert.deepEqual(await names(world), ['Second']);
});

test('a removal that fails leaves every entry, and the database rejects removals as before', async () => {
  const world = await newWorld();
  const { durable } = world.storage();
  await addActs(world, 'Old', 3);
  world.wind(40 * DAY);

  const failing = durable.transaction().execute(async (tx) => {
    await tx.updateTable('audit_retention').set({ removable_before: world.clock() }).execute();
    await tx.deleteFrom('audit_entries').execute();
    throw new Error('and now something fails');
  });

  await assert.rejects(failing, /something fails/);
  await assert.rejects(durable.deleteFrom('audit_entries').execute(), /append-only/);
  assert.equal((await names(world)).length, 3);
});

test('several nodes that remove at once remove each entry once', async () => {
  const world = await newWorld();
  const { durable } = world.storage();
  await addActs(world, 'Old', 60);
  world.wind(40 * DAY);

  const removed = await Promise.all([1, 2, 3].map(() => removeOldEntries(durable, 25, world.clock() - 30 * DAY)));

  assert.equal(
    removed.reduce((sum, rows) => sum + rows),
    60,
  );
  assert.deepEqual(await names(world), []);
});

test('the log says how long its entries are kept', async () => {
  const [forEver, forAYear] = [await newWorld(), await newWorld({ AUDIT_RETENTION_DAYS: '365' })];
  const read = async (world: World) => (await (await world.signedIn()).open('/settings/audit-log')).text;

  assert.match(await read(forEver), /Nothing in it can be changed or removed\./);
  assert.match(await read(forAYear), /entries are removed only after 365 days\./);
});
