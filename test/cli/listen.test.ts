import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { watchEvents } from '../../src/cli/listen.ts';
import { recordEvent } from '../../src/events/events.ts';
import { MINUTE } from '../../src/lib/clock.ts';
import { startTestServer } from '../support/test-server.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const MAIN = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url));

const TIMEOUT = { timeout: 60_000 };

test('listen sends new events, signed, to a receiver on this machine, and prints each result', TIMEOUT, async () => {
  const [server, receiver] = [await startTestServer(), await startWebhookReceiver()];
  await server.allow();
  const args = [MAIN, 'listen', '--app', server.ledger.id, '--forward-to', receiver.url];
  const env = { PATH: process.env.PATH, DATABASE_URL: server.settings.databaseUrl };
  const child = spawn(process.execPath, args, { env });
  after(() => child.kill('SIGKILL'));
  const [announcement] = await once(child.stderr, 'data');
  const [secret = ''] = /whsec_[A-Za-z0-9+/=]+/.exec(String(announcement)) ?? [];

  await server.allow({ state: 'later' });
  const [received] = await receiver.waitFor(1);
  const [printed] = await once(child.stdout, 'data');
  child.kill('SIGINT');
  await once(child, 'close');

  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature } = received?.headers ?? {};
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.${received?.body}`).digest('base64');
  assert.equal(signature, `v1,${expected}`);
  assert.equal(received?.event.type, 'grant.created');
  assert.equal(receiver.received.length, 1, 'earlier events are not sent');
  assert.equal(String(printed), `grant.created ${id} → 200\n`);
  assert.equal(child.exitCode, 0);
});

test('listen misses no event and sends none twice, however long earlier ones took', async () => {
  const server = await startTestServer();
  const db = server.storage().durable;
  const recordInvoiceEvent = async (at = server.clock()) =>
    recordEvent(db, { type: 'endpoint.test', appId: server.ledger.id, businessId: null, data: {} }, at);
  await recordInvoiceEvent();
  const nextEvents = await watchEvents(db, server.ledger.id, server.clock);
  const nextIds = async () => (await nextEvents()).map(({ id }) => id);

  const first = await recordInvoiceEvent();
  assert.deepEqual(await nextIds(), [first]);
  const meanwhile = await recordInvoiceEvent();
  server.advanceClock(5 * MINUTE);
  // This transaction began earlier and commits later.
  const late = await recordInvoiceEvent(server.clock() - 10_000);
  assert.deepEqual(await nextIds(), [meanwhile, late]);
  assert.deepEqual(await nextIds(), []);
});
