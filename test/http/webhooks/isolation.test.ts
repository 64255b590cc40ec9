import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { recordEvent } from '../../../src/events/events.ts';
import { createKeyring } from '../../../src/lib/keyring.ts';
import { insertEndpoint } from '../../../src/webhooks/endpoints.ts';
import { freePort } from '../../support/ports.ts';
import { startTestServer } from '../../support/test-server.ts';
import { startWebhookReceiver } from '../../support/webhook-receiver.ts';

const ENDPOINTS = 100;
const ROUNDS = 5;

test('one unreachable endpoint and one that never responds do not delay the others', async () => {
  const server = await startTestServer({ WEBHOOKS_TO_LOOPBACK: 'yes' });
  const [db, keys] = [server.storage().durable, createKeyring(server.settings.secretKeys)];
  const held: ServerResponse[] = [];
  const [receiver, stuck] = [
    await startWebhookReceiver(),
    await startWebhookReceiver((_, response) => held.push(response)),
  ];
  const others = Array.from({ length: ENDPOINTS - 2 }, (_, index) => `${receiver.url}/${index}`);
  // The bad endpoints come first, so that they would delay the others.
  const urls = [`http://127.0.0.1:${await freePort()}/dead`, stuck.url, ...others];
  const appIds: string[] = [];
  for (const url of urls) {
    const { id } = await server.addApp({ ownerBusinessId: server.acme.id });
    appIds.push(id);
    await insertEndpoint(db, keys, { appId: id, url, eventTypes: ['grant.created'] }, server.clock());
  }

  for (let round = 1; round <= ROUNDS; round++) {
    for (const appId of appIds) {
      const event = {
        type: 'grant.created',
        appId,
        businessId: server.acme.id,
        data: { round: String(round) },
      } as const;
      await recordEvent(db, event, server.clock());
    }
    await receiver.waitFor(others.length * round);
  }

  assert.equal(stuck.received.length, 1, 'the first is still without a response, and nothing else is sent meanwhile');
  const rounds = Map.groupBy(receiver.received, ({ path }) => path);
  assert.equal(rounds.size, others.length);
  for (const [path, received] of rounds) {
    const rounds = received.map(({ event }) => event.data.round);
    assert.deepEqual(rounds, ['1', '2', '3', '4', '5'], path);
  }
  // Lets the server shut down without waiting for this request.
  stuck.respondWith((_, response) => response.end());
  for (const response of held) response.end();
});
