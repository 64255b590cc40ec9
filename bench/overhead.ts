import { performance } from 'node:perf_hooks';
import { setTimeout } from 'node:timers/promises';
import { speakTo, startGatehouse } from './contenders/gatehouse.ts';
import type { Engine } from './databases.ts';
import { runPeak } from './load.ts';
import { callScenario } from './scenarios/call.ts';
import { introspectScenario } from './scenarios/introspect.ts';
import { refreshScenario } from './scenarios/refresh.ts';
import { seed } from './seed.ts';
import { type Spread, spreadOf } from './statistics.ts';
import { residentMemoryOf } from './usage.ts';
import { type Lane, openLane } from './wire.ts';

export interface Overhead {
  engine: string;
  /** From starting the command to the first 200 of /readyz, in milliseconds. */
  ready: Spread;
  idleBytes: number | null;
  requests: number;
  bytesAfter: number | null;
}

const STARTS = 5;
const IDLE_FOR = 2000;

export async function measureOverhead(
  engine: Engine,
  { requests, lanes, onProgress }: { requests: number; lanes: number; onProgress(done: number): void },
): Promise<Overhead> {
  const url = await engine.newUrl();
  const seeded = await seed(url, lanes);
  const ready: number[] = [];
  for (let start = 0; start < STARTS; start += 1) {
    const began = performance.now();
    const server = await startGatehouse(url);
    ready.push(performance.now() - began);
    await server.stop();
  }
  const running = speakTo(await startGatehouse(url), seeded);
  let done = 0;
  const open = Array.from({ length: lanes }, () => counting(openLane(), () => done++));
  try {
    await setTimeout(IDLE_FOR);
    const idleBytes = residentMemoryOf(running.pid) ?? null;
    const works = [refreshScenario, callScenario, introspectScenario].map((each) => each.prepare(running, open));
    while (done < requests) {
      for (const work of works) await runPeak(work, open, { seconds: 1, pid: running.pid });
      onProgress(done);
    }
    const bytesAfter = residentMemoryOf(running.pid) ?? null;
    return { engine: engine.name, ready: spreadOf(ready), idleBytes, requests: done, bytesAfter };
  } finally {
    for (const lane of open) lane.close();
    await running.stop();
  }
}

function counting(lane: Lane, count: () => void): Lane {
  return {
    ...lane,
    ask(request) {
      count();
      return lane.ask(request);
    },
  };
}
