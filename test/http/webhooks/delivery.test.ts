import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { after, test } from 'node:test';
import { deleteApp } from '../../../src/apps/apps.ts';
import { OPERATOR } from '../../../src/audit/entries.ts';
import { recordEvent } from '../../../src/events/events.ts';
import { MINUTE, SECOND } from '../../../src/lib/clock.ts';
import { createKeyring } from '../../../src/lib/keyring.ts';
import { listDeliveries } from '../../../src/webhooks/delivery-log.ts';
import { findEndpoint, insertEndpoint, rotateSecret } from '../../../src/webhooks/endpoints.ts';
import { startTestServer } from '../../support/test-server.ts';
import { respondWithStatus, startWebhookReceiver } from '../../support/webhook-receiver.ts';

const server = await startTestServer({ WEBHOOKS_TO_LOOPBACK: 'yes' });
const keys = createKeyring(server.settings.secretKeys);
const browser = await server.signedIn();
const db = () => server.storage().durable;

async function listen(url: string, appId: string, eventTypes: string[] = ['grant.created', 'grant.revoked']) {
  return insertEndpoint(db(), keys, { appId, url, eventTypes }, server.clock());
}

const newApp = () => server.addApp({ ownerBusinessId: server.acme.id });

test('an app receives a signed event about a grant, with ids and no credentials [W1]', async () => {
  const [app, receiver] = [await newApp(), await startWebhookReceiver()];
  const { secret } = await listen(receiver.url, app.id);

  const code = await server.allow({ client_id: app.id }, browser);
  const [first] = await receiver.waitFor(1);

  assert.ok(first);
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature } = first.headers;
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.${first.body}`).digest('base64');
  assert.equal(signature, `v1,${expected}`);
  assert.equal(Number(timestamp), server.clock() / SECOND);
  assert.deepEqual(Object.keys(first.event), ['type', 'timestamp', 'data']);
  assert.equal(first.event.type, 'grant.created');
  assert.equal(first.event.data.businessId, server.acme.id);
  assert.ok(!first.body.includes(code));
});

test('an endpoint receives only events of its own app, and only the types it subscribed to', async () => {
  const [app, other] = [await newApp(), await newApp()];
  const [revocations, foreign] = [await startWebhookReceiver(), await startWebhookReceiver()];
  await listen(revocations.url, app.id, ['grant.revoked']);
  await listen(foreign.url, other.id);

  const { refresh_token } = (
    await server.exchange(await server.allow({ client_id: app.id }, browser), {
      client_id: app.id,
      client_secret: app.secret,
    })
  ).body;
  await server.revoke(refresh_token);
  const [first] = await revocations.waitFor(1);

  assert.equal(first?.event.type, 'grant.revoked');
  assert.equal(first?.event.data.reason, 'revoked_by_app');
  assert.equal(revocations.received.length, 1);
  assert.equal(foreign.received.length, 0);
});

test('a failed delivery is sent again later, with the same id and a fresh signature, until it arrives [W3]', async () => {
  const [app, receiver] = [await newApp(), await startWebhookReceiver(respondWithStatus(500))];
  await listen(receiver.url, app.id);
  await server.allow({ client_id: app.id }, browser);
  await receiver.waitFor(1);

  receiver.respondWith(respondWithStatus(204));
  await windUntil(receiver, 2);
  const [failed, arrived] = receiver.received;

  assert.equal(arrived?.headers['webhook-id'], failed?.headers['webhook-id']);
  assert.equal(arrived?.body, failed?.body);
  assert.notEqual(arrived?.headers['webhook-timestamp'], failed?.headers['webhook-timestamp']);
});

test('events arrive in the order in which they happened, one at a time', async () => {
  const [app, receiver] = [await newApp(), await startWebhookReceiver()];
  let open = 0;
  receiver.respondWith((_, response) => {
    open += 1;
    assert.equal(open, 1, 'one at a time');
    setImmediate(() => {
      open -= 1;
      response.end();
    });
  });
  await listen(receiver.url, app.id);

  for (let i = 0; i < 20; i++) await server.allow({ client_id: app.id, state: `s${i}` }, browser);
  const received = await receiver.waitFor(20);

  const ids = received.map(({ headers }) => String(headers['webhook-id']));
  assert.deepEqual(ids, ids.toSorted());
  assert.equal(new Set(ids).size, 20);
});

test('an endpoint that responds with 410 is disabled, and a redirect is not followed [W3][W6]', async () => {
  const [app, gone, elsewhere] = [
    await newApp(),
    await startWebhookReceiver(respondWithStatus(410)),
    await startWebhookReceiver(),
  ];
  const redirecting = await Promise.all(
    [301, 302, 303, 307, 308].map((status) =>
      startWebhookReceiver((_, response) => response.writeHead(status, { location: elsewhere.url }).end()),
    ),
  );
  const { endpoint } = await listen(gone.url, app.id);
  for (const { url } of redirecting) await listen(url, app.id);

  await server.allow({ client_id: app.id }, browser);
  await Promise.all([gone, ...redirecting].map((receiver) => receiver.waitFor(1)));
  await server.allow({ client_id: app.id, state: 'again' }, browser);
  const found = await until(async () => {
    const now = await findEndpoint(db(), app.id, endpoint.id);
    return now?.disabledAt === null ? undefined : now;
  });

  assert.equal(found.disabledReason, 'gone');
  assert.equal(gone.received.length, 1);
  assert.equal(elsewhere.received.length, 0);
});

test('a redirect is a failed attempt, which is made again later [W6]', async () => {
  const [app, elsewhere] = [await newApp(), await startWebhookReceiver()];
  const receiver = await startWebhookReceiver((_, response) =>
    response.writeHead(302, { location: elsewhere.url }).end(),
  );
  const { endpoint } = await listen(receiver.url, app.id);

  await server.allow({ client_id: app.id }, browser);
  await receiver.waitFor(1);
  // The next attempt is scheduled after this one is recorded.
  const { attemptsMade, deliveredAt } = await until(async () => {
    const [delivery] = await listDeliveries(db(), { endpointId: endpoint.id, limit: 1 });
    const isScheduled = delivery?.attemptsMade.length && delivery.dueAt !== null && delivery.dueAt > server.clock();
    return isScheduled ? delivery : undefined;
  });

  assert.deepEqual(
    attemptsMade.map(({ outcome, status }) => [outcome, status]),
    [['refused', 302]],
  );
  assert.equal(deliveredAt, null);
});

test('while a secret is being replaced both sign, and then only the new one [W2]', async () => {
  const [app, receiver] = [await newApp(), await startWebhookReceiver()];
  const { endpoint, secret } = await listen(receiver.url, app.id);
  const newer = await rotateSecret(db(), keys, endpoint, server.clock());

  await server.allow({ client_id: app.id }, browser);
  await receiver.waitFor(1);
  server.advanceClock(24 * 60 * MINUTE);
  await server.allow({ client_id: app.id }, await server.signedIn());
  await receiver.waitFor(2);

  const [both, one] = receiver.received.map(({ headers, body }) => {
    const sign = (text: string) =>
      `v1,${createHmac('sha256', Buffer.from(text.slice(6), 'base64'))
        .update(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`)
        .digest('base64')}`;
    return { sent: headers['webhook-signature'], old: sign(secret), new: sign(newer) };
  });
  assert.equal(both?.sent, `${both?.new} ${both?.old}`);
  assert.equal(one?.sent, one?.new);
});

/** Sends a few bytes every few milliseconds until the connection closes. */
async function newTrickler() {
  let isCutOff = () => {};
  const cutOff = new Promise<void>((resolve) => {
    isCutOff = resolve;
  });
  const server = createServer((socket) => {
    const drip = setInterval(() => socket.write('x'), 10);
    socket.on('error', () => {});
    socket.on('close', () => {
      clearInterval(drip);
      isCutOff();
    });
    socket.resume().write('HTTP/1.1 200 OK\r\nx: ');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, cutOff };
}

test('a receiver whose response never ends is cut off, and the attempt has failed [W6]', {
  timeout: 60_000,
}, async () => {
  const slow = await startTestServer({ WEBHOOKS_TO_LOOPBACK: 'yes' });
  const { webhookTimeout } = slow.settings;
  await slow.restart({ settings: { webhookTimeout: 300 } });
  const { url, cutOff } = await newTrickler();
  const newEndpoint = { appId: slow.ledger.id, url, eventTypes: ['grant.created'] };
  const { endpoint } = await insertEndpoint(slow.storage().durable, keys, newEndpoint, slow.clock());

  await slow.allow();
  await cutOff;
  const made = await until(async () => {
    const [first] = await listDeliveries(slow.storage().durable, { endpointId: endpoint.id, limit: 1 });
    return first?.attemptsMade[0];
  });

  assert.deepEqual([made.outcome, made.status, made.head], ['timeout', null, '']);
  assert.ok(made.took >= 290, String(made.took));
  assert.ok(webhookTimeout >= 15 * SECOND && webhookTimeout <= 30 * SECOND);
});

/** Advances the clock in small steps until this many events have arrived. */
async function windUntil(receiver: Awaited<ReturnType<typeof startWebhookReceiver>>, count: number): Promise<void> {
  const arrived = receiver.waitFor(count).then(() => true);
  while (!(await Promise.race([arrived, new Promise((resolve) => setTimeout(resolve, 20))])))
    server.advanceClock(SECOND);
}

async function until<Value>(poll: () => Promise<Value | undefined>): Promise<Value> {
  for (;;) {
    const found = await poll();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test('nothing is sent unsigned: without the key that encrypts its secret an endpoint gets nothing', async () => {
  const [app, receiver] = [await newApp(), await startWebhookReceiver()];
  const foreign = createKeyring(['a-key-of-another-server-that-this-one-never-had']);
  const { endpoint } = await insertEndpoint(
    db(),
    foreign,
    { appId: app.id, url: receiver.url, eventTypes: ['grant.created'] },
    server.clock(),
  );

  await server.allow({ client_id: app.id }, await server.signedIn());
  const logged = await until(async () => {
    const [first] = await listDeliveries(db(), { endpointId: endpoint.id, limit: 1 });
    return first?.attemptsMade[0];
  });

  assert.equal(logged.outcome, 'unsigned');
  assert.equal(receiver.received.length, 0);
});

test('a deleted app receives nothing more, and a new endpoint no earlier events', async () => {
  const [app, receiver] = [await newApp(), await startWebhookReceiver()];
  const browser = await server.signedIn();
  await server.allow({ client_id: app.id }, browser);
  server.advanceClock(1);
  const { endpoint } = await listen(receiver.url, app.id);
  await server.allow({ client_id: app.id, state: 'second' }, browser);
  await receiver.waitFor(1);

  await deleteApp(OPERATOR, db(), app, server.clock());
  await recordEvent(db(), { type: 'grant.created', appId: app.id, businessId: null, data: {} }, server.clock());
  const [last] = await until(async () => {
    const log = await listDeliveries(db(), { endpointId: endpoint.id, limit: 10 });
    return log.length === 2 && log.every(({ dueAt }) => dueAt === null) ? log : undefined;
  });

  assert.equal(last?.attemptsMade[0]?.outcome, 'withheld');
  assert.equal(receiver.received.length, 1);
});
