import { performance } from 'node:perf_hooks';
import { setTimeout } from 'node:timers/promises';
import { startGatehouse } from './contenders/gatehouse.ts';
import { type Engine, queryNumber } from './databases.ts';
import { fill } from './fill.ts';
import { createGrownServer } from './growth.ts';
import { createHttpClient, type HttpClient } from './http-client.ts';
import type { Workload } from './load.ts';
import { refreshScenario } from './scenarios/refresh.ts';
import { seed } from './seed.ts';
import { type Latency, latencyOf } from './statistics.ts';

export interface RetentionResult {
  engine: string;
  expired: number;
  seconds: number;
  /** Throughput and latency of refreshes while expired grants are removed, and afterwards. */
  during: RefreshRate;
  after: RefreshRate;
}

interface RefreshRate {
  perSecond: number;
  latency: Latency;
}

const MIN_SECONDS_AFTER = 2;
const MAX_SECONDS_AFTER = 8;
const TIMEOUT_SECONDS = 120;

/** Refreshes at full load while the retention job removes expired grants, and for some seconds afterwards. */
export async function measureRetention(
  engine: Engine,
  { grants, expired, connections }: { grants: number; expired: number; connections: number },
): Promise<RetentionResult> {
  const url = await engine.newUrl();
  const { app } = await seed(url, 1);
  const users = await fill(url, { grants, appId: app.id, order: 'none', expired });
  const running = createGrownServer(await startGatehouse(url), { app, users }, grants);
  const clients = Array.from({ length: connections }, createHttpClient);
  const work = refreshScenario.prepare(running, clients);
  const hasRemovable = () => countRemovable(url).then((left) => left > 0);
  try {
    // The retention job starts a few seconds after the server.
    const before = await countRemovable(url);
    await warmUpUntil(work, clients, async () => (await countRemovable(url)) < before);
    const began = performance.now();
    const during = await refreshWhile(work, clients, hasRemovable);
    const seconds = (performance.now() - began) / 1000;
    const until = performance.now() + Math.min(MAX_SECONDS_AFTER, Math.max(MIN_SECONDS_AFTER, seconds)) * 1000;
    const after = await refreshWhile(work, clients, async () => performance.now() < until);
    return { engine: engine.name, expired, seconds, during, after };
  } finally {
    for (const client of clients) client.close();
    await running.stop();
  }
}

function countRemovable(url: string): Promise<number> {
  return queryNumber(url, `select count(*) from grants where removable_on <= ${Math.floor(Date.now() / 86_400_000)}`);
}

async function warmUpUntil(
  work: Workload,
  connections: HttpClient[],
  hasStarted: () => Promise<boolean>,
): Promise<void> {
  await refreshWhile(work, connections, async () => !(await hasStarted()));
}

/** Runs at full load until `shouldContinue`, which is polled, returns false. */
async function refreshWhile(
  work: Workload,
  connections: HttpClient[],
  shouldContinue: () => Promise<boolean>,
): Promise<RefreshRate> {
  const latencies: number[] = [];
  let [isDone, spent] = [false, 0];
  const polling = (async () => {
    const latest = performance.now() + TIMEOUT_SECONDS * 1000;
    while (performance.now() < latest && (await shouldContinue())) await setTimeout(200);
    isDone = true;
  })();
  while (!isDone) {
    await work.prepareBatch(work.batch);
    const began = performance.now();
    let left = work.batch;
    const refresh = async (client: HttpClient) => {
      for (; left > 0; latencies.push(await timed(() => work.iterate(client)))) left -= 1;
    };
    await Promise.all(connections.map(refresh));
    spent += performance.now() - began;
  }
  await polling;
  return { perSecond: latencies.length / (spent / 1000), latency: latencyOf(latencies) };
}

async function timed(work: () => Promise<void>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}
