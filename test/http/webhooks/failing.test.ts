import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { after, test } from 'node:test';
import { deleteApp } from '../../../src/apps/apps.ts';
import { OPERATOR } from '../../../src/audit/entries.ts';
import { recordEvent } from '../../../src/events/events.ts';
import { DAY, HOUR, MINUTE } from '../../../src/lib/clock.ts';
import { createKeyring } from '../../../src/lib/keyring.ts';
import { resend, sendTest } from '../../../src/webhooks/deliveries.ts';
import { listDeliveries } from '../../../src/webhooks/delivery-log.ts';
import {
  deleteEndpoint,
  type Endpoint,
  findEndpoint,
  insertEndpoint,
  markEndpointDisabled,
  markEndpointEnabled,
  updateEndpoint,
} from '../../../src/webhooks/endpoints.ts';
import { recordFailure } from '../../../src/webhooks/queue.ts';
import { startTestServer } from '../../support/test-server.ts';
import { respondWithStatus, startWebhookReceiver } from '../../support/webhook-receiver.ts';

const server = await startTestServer({ WEBHOOKS_TO_LOOPBACK: 'yes' });
const keys = createKeyring(server.settings.secretKeys);
const db = () => server.storage().durable;

/** An app with one endpoint, and functions that cause events for it. */
async function listen(url: string) {
  const app = await server.addApp({ ownerBusinessId: server.acme.id });
  const appId = app.id;
  const newEndpoint = { appId, url, eventTypes: ['grant.created'] };
  const { endpoint } = await insertEndpoint(db(), keys, newEndpoint, server.clock());
  const event = { type: 'grant.created', appId, businessId: server.acme.id, data: {} } as const;
  const recordEvents = (times = 1) =>
    server.storage().transaction(async (tx) => {
      for (let i = 0; i < times; i++) await recordEvent(tx, event, server.clock());
    });
  return { endpoint, app, recordEvents };
}

/** When this is delivered, the worker has claimed everything that was due before. */
async function newMarker() {
  const receiver = await startWebhookReceiver();
  const { recordEvents } = await listen(receiver.url);
  return async () => {
    for (let round = 0; round < 2; round++) {
      const count = receiver.received.length + 1;
      await recordEvents();
      await receiver.waitFor(count);
    }
  };
}

async function rowOf({ id }: Endpoint) {
  return db().selectFrom('endpoints').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await new Promise((resolve) => setTimeout(resolve, 20));
}

const isResting = async (endpoint: Endpoint) => (await rowOf(endpoint)).backoff_until > server.clock();

test('a failing endpoint gets no attempts during its backoff, however many events come in, until its owner tries it', async () => {
  const [receiver, passRounds] = [await startWebhookReceiver(respondWithStatus(500)), await newMarker()];
  const { endpoint, recordEvents } = await listen(receiver.url);
  await recordEvents();
  await until(() => isResting(endpoint));

  for (let i = 0; i < 3; i++) {
    await recordEvents();
    await passRounds();
  }
  assert.equal(receiver.received.length, 1);

  await server.storage().transaction((tx) => sendTest(tx, endpoint, server.clock()));
  await receiver.waitFor(2);
  await until(() => isResting(endpoint));
  const [delivery] = await listDeliveries(db(), { endpointId: endpoint.id, limit: 1 });
  await server.storage().transaction((tx) => resend(tx, endpoint.id, delivery?.id ?? '', server.clock()));
  await receiver.waitFor(3);
  await until(() => isResting(endpoint));
  await markEndpointDisabled(db(), endpoint.id, 'by_owner', server.clock());
  await markEndpointEnabled(db(), endpoint.id, server.clock());
  await receiver.waitFor(4);
  await until(() => isResting(endpoint));
  await passRounds();
  assert.equal(receiver.received.length, 4);

  receiver.respondWith(respondWithStatus(204));
  server.advanceClock(5 * MINUTE);
  await receiver.waitFor(9);
  await until(async () => (await rowOf(endpoint)).due_at === null);
  assert.deepEqual(
    await rowOf(endpoint).then(({ backoff_until, failures, failing_since }) => [
      backoff_until,
      failures,
      failing_since,
    ]),
    [0, 0, null],
  );
});

test('an endpoint is disabled after ten failures over three days, and not after two far apart', async () => {
  const { endpoint, app } = await listen('https://hooks.example/');
  const isOn = async () => (await findEndpoint(db(), app.id, endpoint.id))?.disabledAt === null;
  const began = server.clock();

  await recordFailure(db(), endpoint, 0.5, began);
  await recordFailure(db(), endpoint, 0.5, began + 10 * DAY);
  assert.ok(await isOn());
  for (let more = 3; more <= 9; more++) await recordFailure(db(), endpoint, 0.5, began + 10 * DAY + more * HOUR);
  assert.ok(await isOn());
  await recordFailure(db(), endpoint, 0.5, began + 11 * DAY);
  assert.ok(!(await isOn()));
});

test('an endpoint without pending deliveries is no longer failing', async () => {
  const receiver = await startWebhookReceiver(respondWithStatus(503));
  const { endpoint, app, recordEvents } = await listen(receiver.url);
  await recordEvents();
  await until(() => isResting(endpoint));
  assert.notEqual((await rowOf(endpoint)).failing_since, null);

  // Prevents the second attempt.
  await deleteApp(OPERATOR, db(), app, server.clock());
  server.advanceClock(MINUTE);
  await until(async () => (await rowOf(endpoint)).due_at === null);

  const { failing_since, failures } = await rowOf(endpoint);
  assert.deepEqual([failing_since, failures], [null, 0]);
  assert.equal(receiver.received.length, 1);
});

const CHANGES: [what: string, change: (endpoint: Endpoint) => Promise<unknown>][] = [
  ['switched off', ({ id }) => markEndpointDisabled(db(), id, 'by_owner', server.clock())],
  ['removed', ({ id, appId }) => deleteEndpoint(db(), appId, id)],
  [
    'moved',
    ({ id, appId }) =>
      updateEndpoint(db(), { id, appId }, { url: 'http://127.0.0.1:1/moved', eventTypes: ['grant.revoked'] }),
  ],
];

for (const [what, change] of CHANGES) {
  test(`once an endpoint is ${what}, nothing more is sent to its old URL`, async () => {
    const held: ServerResponse[] = [];
    const [receiver, passRounds] = [
      await startWebhookReceiver((_, response) => held.push(response)),
      await newMarker(),
    ];
    const { endpoint, recordEvents } = await listen(receiver.url);
    await recordEvents(5);
    await receiver.waitFor(1);

    await change(endpoint);
    receiver.respondWith(respondWithStatus(204));
    held[0]?.end();
    await passRounds();

    assert.equal(receiver.received.length, 1);
  });
}

test('a response with bytes that no database accepts is stored in a readable form, and 410 is still 410', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.end('HTTP/1.1 410 Go\0ne\r\ncontent-length: 0\r\n\r\n'));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => server.close());
  const { endpoint, recordEvents } = await listen(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);

  await recordEvents();
  await until(async () => (await rowOf(endpoint)).disabled_reason === 'gone');
  const [delivery] = await listDeliveries(db(), { endpointId: endpoint.id, limit: 1 });

  assert.equal(delivery?.attemptsMade.length, 1);
  assert.match(delivery?.attemptsMade[0]?.head ?? '', /^410 Go\ufffdne\n/);
});
