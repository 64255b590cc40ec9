import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { recordEvent } from '../../../src/events/events.ts';
import { MINUTE } from '../../../src/lib/clock.ts';
import { createKeyring } from '../../../src/lib/keyring.ts';
import { insertEndpoint } from '../../../src/webhooks/endpoints.ts';
import { startTestServer } from '../../support/test-server.ts';
import { respondWithStatus, startWebhookReceiver } from '../../support/webhook-receiver.ts';

const PLACES_OF_AN_OWNER = 50;

test('one owner’s slow endpoints use at most fifty slots of a node, and others are served at once', async () => {
  const server = await startTestServer({ WEBHOOKS_TO_LOOPBACK: 'yes' });
  // On a slow machine, the usual timeout would free slots before the test has ended.
  await server.restart({ settings: { webhookTimeout: 2 * MINUTE } });
  const keys = createKeyring(server.settings.secretKeys);
  const held: ServerResponse[] = [];
  const [slow, quick] = [
    await startWebhookReceiver((_, response) => held.push(response)),
    await startWebhookReceiver(),
  ];
  const listen = async (ownerBusinessId: string | null, url: string, count: number) => {
    const { id: appId } = await server.addApp({ ownerBusinessId });
    await server.storage().transaction(async (db) => {
      const endpoint = { appId, url, eventTypes: ['grant.created'] };
      for (let i = 0; i < count; i++) await insertEndpoint(db, keys, endpoint, server.clock());
    });
    const event = { type: 'grant.created', appId, businessId: null, data: {} } as const;
    return () => recordEvent(server.storage().durable, event, server.clock());
  };
  const bolt = await server.addBusiness('Bolt');
  for (let i = 0; i < 6; i++) await (await listen(server.acme.id, slow.url, 10))();
  const others = [await listen(bolt.id, quick.url, 1), await listen(null, quick.url, 1)];
  await slow.waitFor(PLACES_OF_AN_OWNER);

  for (let round = 1; round <= 2; round++) {
    for (const deliver of others) await deliver();
    await quick.waitFor(round * others.length);
  }
  assert.equal(slow.received.length, PLACES_OF_AN_OWNER);

  slow.respondWith(respondWithStatus(204));
  for (const response of held) response.end();
  await slow.waitFor(60);
});
