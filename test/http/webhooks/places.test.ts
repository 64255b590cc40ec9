import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { recordEvent } from '../../../src/events/events.ts';
import { createKeyring } from '../../../src/lib/keyring.ts';
import { insertEndpoint } from '../../../src/webhooks/endpoints.ts';
import { newReceiver, withStatus } from '../../support/receiver.ts';
import { newWorld } from '../../support/world.ts';

const PLACES_OF_AN_OWNER = 50;

test('one owner’s slow endpoints take up fifty places of a node, and the others have theirs at once', async () => {
  const world = await newWorld({ WEBHOOKS_TO_LOOPBACK: 'yes' });
  const keys = createKeyring(world.settings.secretKeys);
  const held: ServerResponse[] = [];
  const [slow, quick] = [await newReceiver((_, response) => held.push(response)), await newReceiver()];
  const listen = async (ownerBusinessId: string | null, url: string, count: number) => {
    const { id: appId } = await world.addApp({ ownerBusinessId });
    await world.storage().transaction(async (db) => {
      const wish = { appId, url, eventTypes: ['grant.created'] };
      for (let i = 0; i < count; i++) await insertEndpoint(db, keys, wish, world.clock());
    });
    const event = { type: 'grant.created', appId, businessId: null, data: {} } as const;
    return () => recordEvent(world.storage().durable, event, world.clock());
  };
  const bolt = await world.addBusiness('Bolt');
  for (let i = 0; i < 6; i++) await (await listen(world.acme.id, slow.url, 10))();
  const others = [await listen(bolt.id, quick.url, 1), await listen(null, quick.url, 1)];
  await slow.has(PLACES_OF_AN_OWNER);

  for (let round = 1; round <= 2; round++) {
    for (const happen of others) await happen();
    await quick.has(round * others.length);
  }
  assert.equal(slow.received.length, PLACES_OF_AN_OWNER);

  slow.answer(withStatus(204));
  for (const response of held) response.end();
  await slow.has(60);
});
