import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { KyselyPlugin } from 'kysely';
import { createRecord } from '../../src/business/records.ts';
import { listRecentEvents } from '../../src/events/events.ts';
import { recordHappenings } from '../../src/events/happenings.ts';
import { endConnection } from '../../src/grants/connections.ts';
import { SECOND } from '../../src/lib/clock.ts';
import { contacts } from '../../src/resources/contacts.ts';
import { migrate } from '../../src/storage/migrate.ts';
import { openStorage } from '../../src/storage/open.ts';
import { watchStatements } from '../../src/storage/statement-log.ts';
import { inTransaction, type Storage } from '../../src/storage/storage.ts';
import { toPayload } from '../../src/webhooks/signatures.ts';
import { spreadHappenings } from '../../src/webhooks/spreading.ts';
import { connectApps } from '../support/connected-apps.ts';
import { createFixtures } from '../support/fixtures.ts';

const START = Date.UTC(2030, 0, 1);

/** A database of its own, without a server, and a clock that does not move by itself. */
async function openWorld() {
  const storage = await openStorage('sqlite::memory:');
  after(() => storage.close());
  await migrate(storage);
  let now = START;
  const clock = () => now;
  const fixtures = await createFixtures(() => storage, clock);
  const { acme, ada } = fixtures;
  const world = {
    ...fixtures,
    storage,
    clock,
    advanceClock(milliseconds: number) {
      now += milliseconds;
    },
    connect: (count: number, options: { isPublic?: boolean; scopes?: string; businessId?: string } = {}) =>
      connectApps(storage, { businessId: acme.id, userId: ada.id, count, ...options }, now),
    write: (name: string, businessId = acme.id) =>
      createRecord(storage.durable, contacts, { businessId, input: { name } }, now),
    spread: ({ of = storage, batchSize = 500 } = {}) => spreadHappenings({ storage: of, clock, batchSize }),
    /** The events about records. */
    async listEvents() {
      const rows = await storage.durable.selectFrom('events').selectAll().orderBy('id').execute();
      return rows
        .filter(({ type }) => type.startsWith('contact.'))
        .map((row) => ({ ...row, data: JSON.parse(row.data) }));
    },
    happenings: () => storage.durable.selectFrom('happenings').selectAll().orderBy('id').execute(),
  };
  return world;
}

test('a write records one happening and reads nothing about apps, however many are connected', async () => {
  const seen: string[] = [];
  const stopWatching = watchStatements(({ sql }) => seen.push(sql));
  const world = await openWorld();
  const statementsOfWrite = async () => {
    seen.length = 0;
    await world.write('Lin');
    return [...seen];
  };

  const without = await statementsOfWrite();
  await world.connect(300);
  const withMany = await statementsOfWrite();
  stopWatching();

  assert.deepEqual(withMany, without);
  assert.equal(without.filter((sql) => /^insert into "happenings"/.test(sql)).length, 1);
  assert.ok(without.every((sql) => !/"(events|apps|grants)"/.test(sql)));
  assert.equal((await world.happenings()).length, 2);
});

test('every confidential app with the scope in the business receives an event, and no other app', async () => {
  const world = await openWorld();
  const cafe = await world.addBusiness('Cafe');
  await world.addMember(world.ada, cafe);
  const readers = await world.connect(3);
  await world.connect(3, { isPublic: true });
  await world.connect(1, { scopes: 'read:invoices' });
  await world.connect(1, { businessId: cafe.id });

  await world.write('Lin');
  await world.spread();

  const events = await world.listEvents();
  assert.deepEqual(events.map(({ app_id }) => app_id).sort(), readers);
  assert.equal(new Set(events.map(({ id }) => id)).size, 3);
  for (const { type, business_id, data } of events) {
    assert.deepEqual([type, business_id, data.status], ['contact.created', world.acme.id, 'ACTIVE']);
  }
  assert.deepEqual(await world.happenings(), []);
});

test('what happened while no app was connected is gone afterwards', async () => {
  const world = await openWorld();

  await world.write('Lin');
  await world.spread();

  assert.deepEqual([await world.happenings(), await world.listEvents()], [[], []]);
});

test('the timestamp of an event is when it happened, and not when it was spread', async () => {
  const world = await openWorld();
  const [appId = ''] = await world.connect(1);
  await world.write('Lin');
  world.advanceClock(40 * SECOND);
  await world.spread();

  const [event] = await listRecentEvents(world.storage.durable, appId, 0);

  assert.ok(event);
  assert.equal(toPayload(event).timestamp, new Date(START).toISOString());
  assert.equal(event.createdAt, START + 40 * SECOND);
});

test('an app that is disconnected before the happening is spread receives nothing', async () => {
  const world = await openWorld();
  const [leaving = '', staying] = await world.connect(2);
  await world.write('Lin');

  const parties = { userId: world.ada.id, appId: leaving, businessId: world.acme.id };
  await endConnection(world.storage.durable, parties, 'disconnected_by_user', world.clock());
  await world.spread();

  assert.deepEqual(
    (await world.listEvents()).map(({ app_id }) => app_id),
    [staying],
  );
});

test('each app receives what happened in its order, also if its apps need several transactions', async () => {
  const world = await openWorld();
  const apps = await world.connect(13);
  const names = ['Ann', 'Bob', 'Cem'];
  const ids: unknown[] = [];
  for (const name of names) ids.push((await world.write(name)).values.id);

  await world.spread({ batchSize: 5 });

  const byApp = Map.groupBy(await world.listEvents(), ({ app_id }) => app_id);
  assert.deepEqual([...byApp.keys()].sort(), apps);
  for (const events of byApp.values()) {
    assert.deepEqual(
      events.map(({ data }) => data.contactId),
      ids,
    );
  }
});

test('a happening that is committed after later ones were spread is spread as well', async () => {
  const world = await openWorld();
  await world.connect(1);
  world.advanceClock(SECOND);
  await world.write('Later');
  await world.spread();
  const late = { type: 'contact.created', businessId: world.acme.id, data: { contactId: 'late' } } as const;
  await recordHappenings(world.storage.durable, [late], START);
  await world.spread();

  assert.equal((await world.listEvents()).at(-1)?.data.contactId, 'late');
});

test('a business with thousands of happenings delays those of others by one transaction', async () => {
  const world = await openWorld();
  const names = Array.from({ length: 20 }, (_, index) => `Business ${index}`);
  const others = await Promise.all(names.map((name) => world.addBusiness(name)));
  await world.connect(1);
  for (const each of others) {
    await world.addMember(world.ada, each);
    await world.connect(1, { businessId: each.id });
  }
  const happening = { type: 'contact.created', businessId: world.acme.id, data: {} } as const;
  await recordHappenings(world.storage.durable, Array(3000).fill(happening), world.clock());
  for (const { id } of others) await world.write('Lin', id);
  let transactions = 0;

  await spreadHappenings(
    world,
    () => (transactions += 1),
    () => transactions === 2,
  );

  const events = await world.listEvents();
  const served = new Set(events.map(({ business_id }) => business_id));
  assert.equal(served.size, 21);
  await world.spread();
  assert.equal((await world.listEvents()).length, 3020);
});

/** Fails at one statement, which `failAt` counts from 1. */
function failingStorage(storage: Storage, failAt: number): Storage {
  let statements = 0;
  const plugin: KyselyPlugin = {
    transformQuery({ node }) {
      statements += 1;
      if (statements === failAt) throw new Error(`Statement ${failAt} fails.`);
      return node;
    },
    transformResult: async ({ result }) => result,
  };
  const [durable, relaxed] = [storage.durable.withPlugin(plugin), storage.relaxed.withPlugin(plugin)];
  return { ...storage, durable, relaxed, transaction: (work) => inTransaction(durable, work) };
}

test('an error at any statement neither loses nor doubles an event', async () => {
  const world = await openWorld();
  const apps = await world.connect(7);
  let failAt = 0;
  for (let isOver = false; !isOver; ) {
    failAt += 1;
    await world.storage.durable.deleteFrom('events').execute();
    await world.write('Ann');
    await world.write('Bob');
    const failing = { of: failingStorage(world.storage, failAt), batchSize: 5 };
    await world.spread(failing).then(
      () => (isOver = true),
      (error) => assert.match(String(error), /Statement \d+ fails/),
    );
    // As if it had expired: releasing it may be what failed.
    await world.storage.durable.updateTable('leases').set({ expires_at: 0 }).execute();

    await world.spread();

    const byApp = Map.groupBy(await world.listEvents(), ({ app_id }) => app_id);
    assert.deepEqual([...byApp.keys()].sort(), apps, `statement ${failAt}`);
    assert.ok(
      [...byApp.values()].every(({ length }) => length === 2),
      `statement ${failAt}`,
    );
  }
  assert.ok(failAt > 30, `${failAt} statements`);
});
