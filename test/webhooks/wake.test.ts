import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { recordEvent } from '../../src/events/events.ts';
import { openKeyring } from '../../src/lib/keyring.ts';
import { openStorage } from '../../src/storage/database.ts';
import { dispatchEvents, listDue, nextDueAt, recordAttempt } from '../../src/webhooks/deliveries.ts';
import { addEndpoint, claimEndpoints, releaseEndpoint } from '../../src/webhooks/endpoints.ts';
import { databaseUrl, TEMPLATE } from '../support/engines.ts';
import { settle } from '../support/people.ts';
import { makeTemplate, startPostgres } from '../support/postgres-server.ts';

test('a delivery that comes in while another node is done with its endpoint is not forgotten', async () => {
  const postgres = await startPostgres();
  after(() => postgres.remove());
  await makeTemplate(postgres.url);
  const storage = openStorage(databaseUrl(postgres.url, TEMPLATE));
  after(() => storage.close());
  const keys = openKeyring(['the-key-that-all-of-these-nodes-sign-with']);
  const { ledger, acme } = await settle(() => storage, Date.now);
  const wish = { appId: ledger.id, url: 'https://ledger.example/hook', eventTypes: ['grant.created'] };
  const { endpoint } = await storage.atomically((db) => addEndpoint(db, keys, wish, Date.now()));
  const happen = () =>
    recordEvent(
      storage.durable,
      { type: 'grant.created', appId: ledger.id, businessId: acme.id, data: {} },
      Date.now(),
    );

  await happen();
  await storage.atomically((db) => dispatchEvents(db, 200, Date.now()));
  await happen();
  // One node has dispatched the second event, and is about to say so; another looks for work meanwhile.
  await storage.atomically(async (dispatching) => {
    await dispatchEvents(dispatching, 200, Date.now());
    const now = Date.now();
    const lease = now + 60_000;
    const [claimed] = await storage.atomically((db) => claimEndpoints(db, keys, { limit: 10, lease }, now));
    if (!claimed) return;
    for (const delivery of await listDue(storage.durable, endpoint.id, 50, now)) {
      const outcome = { outcome: 'delivered', status: 200, head: '', took: 1 } as const;
      await recordAttempt(storage.recoverable, delivery, outcome, { chance: 0, now });
    }
    await releaseEndpoint(storage.durable, claimed, await nextDueAt(storage.durable, endpoint.id));
  });

  const { due_at } = await storage.durable.selectFrom('endpoints').select('due_at').executeTakeFirstOrThrow();
  assert.notEqual(due_at, null, 'the endpoint still has something to do');
});
