import assert from 'node:assert/strict';
import { createHmac, randomInt } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { recordEvent } from '../../src/events/events.ts';
import { MINUTE, SECOND } from '../../src/lib/clock.ts';
import { createKeyring } from '../../src/lib/keyring.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { insertEndpoint } from '../../src/webhooks/endpoints.ts';
import { databaseUrl, TEMPLATE } from '../support/databases.ts';
import { startNodes } from '../support/nodes.ts';
import { createTemplate, startPostgres } from '../support/postgres-server.ts';
import { type Received, startWebhookReceiver } from '../support/webhook-receiver.ts';
import { expireLeases, untilDelivered } from './support/deliveries.ts';

/** For a long run: `TEST_EVENTS=10000 TEST_KILLS=50`. */
const EVENTS = Number(process.env.TEST_EVENTS ?? 100);
const KILLS = Number(process.env.TEST_KILLS ?? 3);
/** Many endpoints, since a missing response blocks one for 15 s. */
const ENDPOINTS = EVENTS > 1000 ? 200 : 30;
/** A node sends to a limited number of endpoints of one owner at a time. */
const ENDPOINTS_PER_OWNER = 20;
const SECRET_KEY = 'the-key-that-all-of-these-nodes-sign-with';
const ENV = { WEBHOOKS_TO_LOOPBACK: 'yes', SECRET_KEYS: SECRET_KEY };
const TIMEOUT = { timeout: 10 * MINUTE + EVENTS * 60 };

test('kill -9 of the one node on SQLite loses no event and invents none [W7]', TIMEOUT, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-test-'));
  after(() => rmSync(folder, { recursive: true, force: true }));

  await assertAllArrive(1, `sqlite:${join(folder, 'gatehouse.db')}`);
});

test('kill -9 of one of three nodes on PostgreSQL loses no event and invents none [W7]', TIMEOUT, async () => {
  const postgres = await startPostgres();
  after(() => postgres.remove());
  await createTemplate(postgres.url);

  await assertAllArrive(3, databaseUrl(postgres.url, TEMPLATE));
});

async function assertAllArrive(nodeCount: number, url: string): Promise<void> {
  const { nodes, storage, addApp, addBusiness, acme } = await startNodes(nodeCount, url, ENV);
  const { receiver, acknowledged } = await startUnreliableReceiver();
  const secrets = new Map<string, string>();
  const appIds: string[] = [];
  let owner = acme;
  for (let index = 0; index < ENDPOINTS; index++) {
    if (index % ENDPOINTS_PER_OWNER === 0) owner = await addBusiness(`Owner ${index}`);
    const app = await addApp({ ownerBusinessId: owner.id });
    const endpoint = { appId: app.id, url: `${receiver.url}/${app.id}`, eventTypes: ['grant.created'] };
    const { secret } = await insertEndpoint(storage.durable, createKeyring([SECRET_KEY]), endpoint, Date.now());
    secrets.set(`/hook/${app.id}`, secret);
    appIds.push(app.id);
  }

  const recorded = new Map<string, string>();
  const rolledBack = new Set<string>();
  for (let kill = 1; kill <= KILLS; kill++) {
    const share = Math.round((EVENTS * kill) / KILLS) - recorded.size;
    const recording = record(storage, { appIds, businessId: acme.id, count: share, recorded, rolledBack });
    await setTimeout(randomInt(50, 500));
    const node = nodes[randomInt(nodes.length)];
    await node?.stop('SIGKILL');
    await recording;
    await expireLeases(storage);
    await node?.start();
  }
  await untilDelivered(storage);

  assert.equal(recorded.size, EVENTS);
  assert.deepEqual(
    [...recorded.keys()].filter((id) => !acknowledged.has(id)),
    [],
    'every event has arrived',
  );
  for (const received of receiver.received) assertGenuine(received, { recorded, rolledBack, secrets });
  report(nodeCount, receiver.received, acknowledged);
}

interface Recording {
  appIds: string[];
  businessId: string;
  count: number;
  /** Committed events: the app by the id of the event. */
  recorded: Map<string, string>;
  /** The ids of events whose transaction was rolled back. */
  rolledBack: Set<string>;
}

async function record(storage: Storage, { appIds, businessId, count, recorded, rolledBack }: Recording): Promise<void> {
  for (let made = 0; made < count; ) {
    const size = Math.min(10, count - made);
    const isRolledBack = randomInt(10) === 0;
    const batch: [string, string][] = [];
    const work = storage.transaction(async (db) => {
      for (let i = 0; i < size; i++) {
        const appId = appIds[randomInt(appIds.length)] ?? '';
        const data = { appId, isRolledBack: String(isRolledBack) };
        batch.push([await recordEvent(db, { type: 'grant.created', appId, businessId, data }, Date.now()), appId]);
      }
      if (isRolledBack) throw new Rollback();
    });
    await work.catch((error) => {
      if (!(error instanceof Rollback)) throw error;
    });
    for (const [id, appId] of batch) isRolledBack ? rolledBack.add(id) : recorded.set(id, appId);
    if (!isRolledBack) made += size;
    // The receiver runs in this process, so it needs time to respond.
    await setTimeout(randomInt(5));
  }
}

class Rollback extends Error {}

/** Responds at random: mostly with 200, often with 500, sometimes not at all or too late. */
async function startUnreliableReceiver() {
  const acknowledged = new Set<string>();
  const silent = new Set<string>();
  const receiver = await startWebhookReceiver(({ path, headers }, response) => {
    const chance = randomInt(100);
    // In a short run only a few endpoints do not respond, and only once each, since their timeouts add up.
    if (chance < 5 && (EVENTS > 1000 || (silent.size < 5 && !silent.has(path)))) {
      silent.add(path);
      if (chance < 2) globalThis.setTimeout(() => response.end(), 16 * SECOND).unref();
      return;
    }
    if (chance < 25) return response.writeHead(500).end();
    acknowledged.add(String(headers['webhook-id']));
    return response.end();
  });
  return { receiver, acknowledged };
}

interface Expected {
  recorded: Map<string, string>;
  rolledBack: Set<string>;
  secrets: Map<string, string>;
}

function assertGenuine({ path, headers, body, event }: Received, { recorded, rolledBack, secrets }: Expected): void {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature } = headers;
  assert.ok(!rolledBack.has(String(id)), 'no event that was rolled back is sent');
  assert.equal(path, `/hook/${recorded.get(String(id))}`, 'it was recorded, and arrived at its own endpoint');
  assert.equal(event.data.appId, recorded.get(String(id)));
  const key = Buffer.from(secrets.get(path)?.slice('whsec_'.length) ?? '', 'base64');
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  assert.equal(signature, `v1,${expected}`);
}

function report(nodeCount: number, received: Received[], acknowledged: Set<string>): void {
  const ids = new Set(received.map(({ headers }) => headers['webhook-id']));
  console.log(
    `${nodeCount} node(s), ${KILLS} kills: ${received.length} requests for ${ids.size} events, ${acknowledged.size} arrived`,
  );
}
