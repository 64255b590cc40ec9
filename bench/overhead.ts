import { performance } from 'node:perf_hooks';
import { setTimeout } from 'node:timers/promises';
import { addRequests, startGatehouse } from './contenders/gatehouse.ts';
import { residentMemoryOf } from './cpu-usage.ts';
import type { Engine } from './databases.ts';
import { createHttpClient, type HttpClient } from './http-client.ts';
import { runPeak } from './load.ts';
import { callScenario } from './scenarios/call.ts';
import { introspectScenario } from './scenarios/introspect.ts';
import { refreshScenario } from './scenarios/refresh.ts';
import { seed } from './seed.ts';
import { type Spread, spreadOf } from './statistics.ts';

export interface Start {
  engine: string;
  /** From starting the command to the first 200 of /readyz, in milliseconds. */
  ready: Spread;
}

export interface Memory {
  engine: string;
  idleBytes: number | null;
  requests: number;
  bytesAfter: number | null;
}

const STARTS = 5;
const IDLE_FOR = 2000;

export async function timeStarts({ name: engine, newUrl }: Engine): Promise<Start> {
  const url = await newUrl();
  await seed(url, 1);
  const ready: number[] = [];
  for (let start = 0; start < STARTS; start += 1) {
    const began = performance.now();
    const server = await startGatehouse(url);
    ready.push(performance.now() - began);
    await server.stop();
  }
  return { engine, ready: spreadOf(ready) };
}

/** Takes no times, so other work can run in parallel. */
export async function measureMemory(
  { name: engine, newUrl }: Engine,
  { requests, connections, onProgress }: { requests: number; connections: number; onProgress(done: number): void },
): Promise<Memory> {
  const url = await newUrl();
  const seeded = await seed(url, connections);
  const running = addRequests(await startGatehouse(url), seeded);
  let done = 0;
  const clients = Array.from({ length: connections }, () => counting(createHttpClient(), () => done++));
  try {
    await setTimeout(IDLE_FOR);
    const idleBytes = residentMemoryOf(running.pid) ?? null;
    const works = [refreshScenario, callScenario, introspectScenario].map((each) => each.prepare(running, clients));
    while (done < requests) {
      for (const work of works) await runPeak(work, clients, { seconds: 1, pid: running.pid });
      onProgress(done);
    }
    return { engine, idleBytes, requests: done, bytesAfter: residentMemoryOf(running.pid) ?? null };
  } finally {
    for (const client of clients) client.close();
    await running.stop();
  }
}

function counting(client: HttpClient, count: () => void): HttpClient {
  return {
    ...client,
    ask(request) {
      count();
      return client.ask(request);
    },
  };
}
