import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as listenRaw } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { recordEvent } from '../../src/events/events.ts';
import { newId } from '../../src/lib/ids.ts';
import { createKeyring } from '../../src/lib/keyring.ts';
import { migrate } from '../../src/storage/migrate.ts';
import { openStorage } from '../../src/storage/open.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { insertEndpoint } from '../../src/webhooks/endpoints.ts';
import { schedule } from '../../src/webhooks/queue.ts';
import { createBrowser } from '../../test/support/browser.ts';
import { createClient } from '../../test/support/client.ts';
import { createFixtures } from '../../test/support/fixtures.ts';
import { freePort } from '../../test/support/ports.ts';

// `npx node bench/measure/webhooks.ts`: how fast one node delivers, what that costs the token endpoint, and how much an
// unreachable, a slow and a silent endpoint delay the others. Server and receivers are separate processes; SQLite, loopback.

const KEY = 'the-key-that-the-measuring-signs-with-only';
const ENDPOINTS = 100;
const PER_MINUTE = 5000;
const PERIOD = 5000;
const PAIRS = 10;
/** Shorter than the timeout of an attempt. */
const SLOW_BY = 10_000;
const LOOPS = 8;
/** Endpoints that are unreachable, silent and slow. */
const BAD = 3;

if (process.argv[2] === 'receive') receive();
else await measure();

/** Responds at once, and sends the parent process the delay of each event since it was recorded. */
function receive(): void {
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      if (request.url === '/slow') return setTimeout(SLOW_BY).then(() => response.end());
      response.end();
      process.send?.(Date.now() - Date.parse(JSON.parse(body).timestamp));
    });
  });
  server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
}

async function measure(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-measure-'));
  const url = `sqlite:${join(folder, 'gatehouse.db')}`;
  const receiver = await startReceiver();
  const storage = await openStorage(url);
  await migrate(storage);
  const fixtures = await createFixtures(() => storage, Date.now);
  const appIds: string[] = [];
  // The number of parallel deliveries per owner is limited.
  for (let index = 0; index < ENDPOINTS; index++) {
    const owner = await fixtures.addBusiness(`Owner ${index}`);
    appIds.push((await fixtures.addApp({ ownerBusinessId: owner.id })).id);
  }
  const listen = (appId: string, to: string) =>
    insertEndpoint(
      storage.durable,
      createKeyring([KEY]),
      { appId, url: to, eventTypes: ['grant.created'] },
      Date.now(),
    );
  for (const appId of appIds) await listen(appId, receiver.url);
  const server = await startServer(url);
  const record = async (ids: string[]) => {
    await storage.transaction(async (db) => {
      for (const appId of ids) {
        await recordEvent(db, { type: 'grant.created', appId, businessId: fixtures.acme.id, data: {} }, Date.now());
      }
    });
  };

  try {
    await measureRate(appIds, record, receiver);
    await measureDelay(appIds.slice(BAD), record, receiver, async () => {
      const silent = listenRaw((socket) => socket.on('error', () => {}).resume()).listen(0, '127.0.0.1');
      await once(silent, 'listening');
      silent.unref();
      const bad = [
        `http://127.0.0.1:${await freePort()}/`,
        `http://127.0.0.1:${(silent.address() as AddressInfo).port}/`,
        new URL('/slow', receiver.url).href,
      ];
      for (const [index, to] of bad.entries()) {
        const appId = appIds[index] ?? '';
        await storage.durable.updateTable('endpoints').set({ url: to }).where('app_id', '=', appId).execute();
      }
      return appIds.slice(0, BAD);
    });
    const browse = () => createBrowser(server.web, [server.api, server.web]);
    const client = createClient({
      api: server.api,
      browse,
      user: fixtures.ada,
      app: fixtures.ledger,
      business: fixtures.acme,
    });
    await measureTokens(server.api, client, (count) => plan(storage, appIds.slice(BAD), count), receiver);
  } finally {
    server.child.kill('SIGKILL');
    receiver.child.kill('SIGKILL');
    await storage.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

type Receiver = Awaited<ReturnType<typeof startReceiver>>;
type Client = ReturnType<typeof createClient>;
type Record = (appIds: string[]) => Promise<void>;

/** Events that have been dispatched, and whose deliveries are due evenly over the next period. */
async function plan(storage: Storage, appIds: string[], count: number): Promise<void> {
  const endpoints = await storage.durable.selectFrom('endpoints').select(['id', 'app_id']).execute();
  const now = Date.now();
  await storage.transaction(async (db) => {
    for (let i = 0; i < count; i++) {
      const appId = appIds[i % appIds.length] ?? '';
      const endpointId = endpoints.find(({ app_id }) => app_id === appId)?.id ?? '';
      const eventId = await recordEvent(db, { type: 'grant.created', appId, businessId: null, data: {} }, now);
      const due_at = now + Math.round((PERIOD * i) / count);
      const delivery = { id: newId(now), endpoint_id: endpointId, event_id: eventId, created_at: now, attempts: 0 };
      await db
        .insertInto('deliveries')
        .values({ ...delivery, due_at })
        .execute();
      await schedule(db, endpointId, due_at);
    }
    await db.updateTable('events').set({ dispatched_at: now }).where('dispatched_at', 'is', null).execute();
  });
}

async function measureRate(appIds: string[], record: Record, receiver: Receiver): Promise<void> {
  for (let round = 0; round < 50; round++) await record(appIds);
  const began = performance.now();
  const from = receiver.delays.length;
  while (performance.now() - began < 20_000 && receiver.delays.length < 50 * ENDPOINTS) await setTimeout(10);
  const rate = ((receiver.delays.length - from) / (performance.now() - began)) * 60_000;
  console.log(`deliveries per minute, ${ENDPOINTS} endpoints: ${Math.round(rate)}`);
  await receiver.untilQuiet();
}

async function measureDelay(others: string[], record: Record, receiver: Receiver, breakSome: () => Promise<string[]>) {
  const run = async (extra: string[]) => {
    const from = receiver.delays.length;
    for (let round = 1; round <= 10; round++) {
      await record([...extra, ...others]);
      await setTimeout(700);
    }
    await receiver.untilQuiet();
    return { median: median(receiver.delays.slice(from)), count: receiver.delays.length - from };
  };
  const without = await run([]);
  const bad = await breakSome();
  const withBad = await run(bad);
  console.log(
    `median delay of ${others.length} others: ${without.median} ms without (${without.count}), ${withBad.median} ms`,
  );
  console.log(
    `  with one unreachable, one silent and one slow (${withBad.count}): ratio ${(withBad.median / without.median).toFixed(2)}`,
  );
}

/**
 * Alternates without and with deliveries, so that other load of the machine affects both. The deliveries are inserted
 * before: a second process that writes at the same time would be measured, too.
 */
async function measureTokens(api: string, client: Client, plan: (count: number) => Promise<void>, receiver: Receiver) {
  const browser = await client.signedIn();
  const tokens: string[] = [];
  for (let i = 0; i < LOOPS; i++) tokens.push((await client.connect({ state: `s${i}` }, browser)).refresh_token);
  const refresh = async (refresh_token: string): Promise<string> => {
    const body = JSON.stringify({ grant_type: 'refresh_token', refresh_token, ...client.credentials });
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${api}/api/v1/oauth/token`, { method: 'POST', headers, body });
    if (!response.ok) throw new Error(await response.text());
    return ((await response.json()) as { refresh_token: string }).refresh_token;
  };
  const run = async () => {
    const until = performance.now() + PERIOD;
    let count = 0;
    await Promise.all(
      tokens.map(async (_, index) => {
        for (; performance.now() < until; count++) tokens[index] = await refresh(tokens[index] ?? '');
      }),
    );
    return count / (PERIOD / 1000);
  };
  const [quiet, busy]: [number[], number[]] = [[], []];
  await run();
  for (let pair = 0; pair < PAIRS; pair++) {
    const a = await run();
    const from = receiver.delays.length;
    await plan((PER_MINUTE * PERIOD) / 60_000);
    const b = await run();
    const rate = ((receiver.delays.length - from) / PERIOD) * 60_000;
    await receiver.untilQuiet();
    quiet.push(a);
    busy.push(b);
    console.log(
      `refreshes per second: ${a.toFixed(0)} quiet, ${b.toFixed(0)} at ${Math.round(rate)} deliveries per minute`,
    );
  }
  console.log(`  ratio ${(sum(busy) / sum(quiet)).toFixed(2)}`);
}

async function startReceiver() {
  const child: ChildProcess = fork(fileURLToPath(import.meta.url), ['receive']);
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  const delays: number[] = [];
  child.on('message', (delay) => delays.push(Number(delay)));
  return {
    child,
    url: `http://127.0.0.1:${port}/hook`,
    delays,
    /** Resolves when no event has arrived for a second. */
    async untilQuiet() {
      for (let seen = -1; seen < delays.length; await setTimeout(1000)) seen = delays.length;
    },
  };
}

async function startServer(databaseUrl: string) {
  const [api, web] = [`http://127.0.0.1:${await freePort()}`, `http://localhost:${await freePort()}`];
  const settings = { BASE_URL: api, CONSENT_URL: web, DATABASE_URL: databaseUrl, SECRET_KEYS: KEY, LOG_LEVEL: 'error' };
  const child = spawn(process.execPath, ['src/cli/main.js', 'serve'], {
    env: { ...settings, WEBHOOKS_TO_LOOPBACK: 'yes', LIMIT_PER_APP: '1000000' },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  while (
    !(await fetch(`${api}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    ))
  )
    await setTimeout(50);
  return { child, api, web };
}

function median(numbers: number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
}

function sum(numbers: number[]): number {
  return numbers.reduce((a, b) => a + b, 0);
}
