import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { recordEvent, recordEvents } from '../../src/events/events.ts';
import { createKeyring } from '../../src/lib/keyring.ts';
import { migrate } from '../../src/storage/migrate.ts';
import { openStorage } from '../../src/storage/open.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { dispatchEvents, listDue, nextDueAt, recordAttempt } from '../../src/webhooks/deliveries.ts';
import { insertEndpoint } from '../../src/webhooks/endpoints.ts';
import { chooseEndpoints, claimEndpoints, releaseEndpoint } from '../../src/webhooks/queue.ts';
import { databaseUrl, TEMPLATE, withLongConnectTimeout } from '../support/databases.ts';
import { createFixtures } from '../support/fixtures.ts';
import { createTemplate, startPostgres } from '../support/postgres-server.ts';

const KEYS = createKeyring(['the-key-that-all-of-these-nodes-sign-with']);
const DELIVERED = { outcome: 'delivered', status: 200, head: '', took: 1 } as const;
const TIMEOUT = { outcome: 'timeout', status: null, head: '', took: 15_000 } as const;

test('a delivery that is created while another node releases its endpoint is not lost', async () => {
  const postgres = await startPostgres();
  after(() => postgres.remove());
  await createTemplate(postgres.url);
  const storage = await openStorage(withLongConnectTimeout(databaseUrl(postgres.url, TEMPLATE)));
  after(() => storage.close());
  const { endpoint, recordOne } = await listen(storage);

  await recordOne();
  await storage.transaction((db) => dispatchEvents(db, 200, Date.now()));
  await recordOne();
  // One node has dispatched the second event without a commit, while another one polls for due endpoints.
  await storage.transaction(async (dispatching) => {
    await dispatchEvents(dispatching, 200, Date.now());
    const now = Date.now();
    const lease = now + 60_000;
    const chosen = await chooseEndpoints(storage.durable, { limit: 10, active: new Map() }, now);
    const [claimed] = await storage.transaction((db) => claimEndpoints(db, KEYS, { chosen, lease }, now));
    if (!claimed) return;
    for (const delivery of await listDue(storage.durable, endpoint.id, 50, now)) {
      await recordAttempt(storage.relaxed, delivery, DELIVERED, { chance: 0, now });
    }
    const dueAt = await nextDueAt(storage.durable, endpoint.id);
    await releaseEndpoint(storage.durable, claimed, { dueAt, backoffUntil: 0 });
  });

  const { due_at } = await storage.durable.selectFrom('endpoints').select('due_at').executeTakeFirstOrThrow();
  assert.notEqual(due_at, null, 'the endpoint still has pending deliveries');
});

test('a node whose lease of an endpoint has expired cannot overwrite later deliveries of another node', async () => {
  const storage = await openStorage('sqlite::memory:');
  after(() => storage.close());
  await migrate(storage);
  const { endpoint, recordOne } = await listen(storage);
  await recordOne();
  await storage.transaction((db) => dispatchEvents(db, 200, Date.now()));
  const [seenByBoth] = await listDue(storage.durable, endpoint.id, 50, Date.now());
  assert.ok(seenByBoth);

  await recordAttempt(storage.relaxed, seenByBoth, DELIVERED, { chance: 0, now: Date.now() });
  await recordAttempt(storage.relaxed, seenByBoth, TIMEOUT, { chance: 0, now: Date.now() });

  assert.equal(await nextDueAt(storage.durable, endpoint.id), null, 'nothing is left to send');
  const { delivered_at } = await storage.durable.selectFrom('deliveries').selectAll().executeTakeFirstOrThrow();
  assert.notEqual(delivered_at, null);
});

test('an event of an app without an endpoint is recorded as dispatched', async () => {
  const storage = await openStorage('sqlite::memory:');
  after(() => storage.close());
  await migrate(storage);
  const { ledger, acme } = await createFixtures(() => storage, Date.now);
  const event = { type: 'grant.created', appId: ledger.id, businessId: acme.id, data: {} } as const;
  await recordEvent(storage.durable, event, Date.now());
  await recordEvents(storage.durable, [event, event], Date.now());
  const countDispatched = () => storage.transaction((db) => dispatchEvents(db, 200, Date.now()));

  assert.equal(await countDispatched(), 0);
  const recorded = storage.durable.selectFrom('events').select('id').where('type', '=', 'grant.created');
  assert.equal((await recorded.execute()).length, 3);

  const options = { appId: ledger.id, url: 'https://ledger.example/hook', eventTypes: ['grant.created'] };
  await storage.transaction((db) => insertEndpoint(db, KEYS, options, Date.now()));
  await recordEvent(storage.durable, event, Date.now());
  await recordEvents(storage.durable, [event, event], Date.now());
  assert.equal(await countDispatched(), 3);
});

/** Ledger's endpoint, and a function that records an event for it. */
async function listen(storage: Storage) {
  const { ledger, acme } = await createFixtures(() => storage, Date.now);
  const options = { appId: ledger.id, url: 'https://ledger.example/hook', eventTypes: ['grant.created'] };
  const { endpoint } = await storage.transaction((db) => insertEndpoint(db, KEYS, options, Date.now()));
  const event = { type: 'grant.created', appId: ledger.id, businessId: acme.id, data: {} } as const;
  return { endpoint, recordOne: () => recordEvent(storage.durable, event, Date.now()) };
}
