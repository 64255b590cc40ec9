import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { insertBusiness } from '../../../src/accounts/businesses.ts';
import { registerApp } from '../../../src/apps/apps.ts';
import { OPERATOR } from '../../../src/audit/entries.ts';
import { recordEvent } from '../../../src/events/events.ts';
import { createKeyring } from '../../../src/lib/keyring.ts';
import { migrate } from '../../../src/storage/migrate.ts';
import { openStorage } from '../../../src/storage/open.ts';
import { insertEndpoint } from '../../../src/webhooks/endpoints.ts';
import { startWebhooks } from '../../../src/webhooks/worker.ts';
import { startWebhookReceiver } from '../../support/webhook-receiver.ts';

test('no endpoint receives an event that a crash could still undo', async () => {
  const [storage, keys, receiver] = [
    await openStorage('sqlite::memory:'),
    createKeyring(['any']),
    await startWebhookReceiver(),
  ];
  await migrate(storage);
  const db = storage.durable;
  const { id: businessId } = await insertBusiness(db, { name: 'Acme' }, 0);
  const registered = await registerApp(
    OPERATOR,
    db,
    {
      name: 'Ledger',
      ownerBusinessId: businessId,
      openToAnyBusiness: false,
      requiresPkce: false,
      redirectUris: ['https://ledger.example/callback'],
      allowedScopes: ['read:invoices'],
    },
    0,
  );
  const appId = registered?.app.id ?? '';
  await insertEndpoint(db, keys, { appId, url: receiver.url, eventTypes: ['grant.created'] }, 0);
  await recordEvent(db, { type: 'grant.created', appId, businessId, data: {} }, 0);
  const disk = Promise.withResolvers<void>();
  let isSyncing = false;
  const settled = () => {
    isSyncing = true;
    return disk.promise;
  };
  const parts = {
    storage: { ...storage, flushed: settled },
    keys,
    clock: () => 0,
    allowsLoopback: true,
    timeLimit: 5000,
  };
  const webhooks = startWebhooks(parts, assert.ifError);

  while (!isSyncing) await setTimeout(10);
  assert.equal(receiver.received.length, 0);
  disk.resolve();
  await receiver.waitFor(1);

  await webhooks.stop();
  await storage.close();
});
