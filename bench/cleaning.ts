import { performance } from 'node:perf_hooks';
import { setTimeout } from 'node:timers/promises';
import { startGatehouse } from './contenders/gatehouse.ts';
import { ask, type Engine } from './databases.ts';
import { fill } from './fill.ts';
import { speakToGrown } from './growth.ts';
import type { Work } from './load.ts';
import { refreshScenario } from './scenarios/refresh.ts';
import { seed } from './seed.ts';
import { type Latency, latencyOf } from './statistics.ts';
import { type Lane, openLane } from './wire.ts';

export interface Cleaning {
  engine: string;
  dead: number;
  seconds: number;
  /** Refreshes per second and how long they took: while it cleaned up, and afterwards. */
  during: Pace;
  after: Pace;
}

interface Pace {
  perSecond: number;
  latency: Latency;
}

const LEAST = 2;
const MOST = 8;
const LONGEST = 120;

/** Refreshing as fast as it goes while many dead grants are worked off, and for some seconds once none is left. */
export async function measureCleaning(
  engine: Engine,
  { grants, dead, lanes }: { grants: number; dead: number; lanes: number },
): Promise<Cleaning> {
  const url = await engine.newUrl();
  const { app } = await seed(url, 1);
  const people = await fill(url, { grants, appId: app.id, order: 'none', dead });
  const running = speakToGrown(await startGatehouse(url), { app, people }, grants);
  const open = Array.from({ length: lanes }, openLane);
  const work = refreshScenario.prepare(running, open);
  const isDirty = () => countDead(url).then((left) => left > 0);
  try {
    // The clean-up begins a few seconds after the start.
    const before = await countDead(url);
    await warmUpUntil(work, open, async () => (await countDead(url)) < before);
    const began = performance.now();
    const during = await refreshWhile(work, open, isDirty);
    const seconds = (performance.now() - began) / 1000;
    const until = performance.now() + Math.min(MOST, Math.max(LEAST, seconds)) * 1000;
    const after = await refreshWhile(work, open, async () => performance.now() < until);
    return { engine: engine.name, dead, seconds, during, after };
  } finally {
    for (const lane of open) lane.close();
    await running.stop();
  }
}

function countDead(url: string): Promise<number> {
  return ask(url, `select count(*) from grants where removable_on <= ${Math.floor(Date.now() / 86_400_000)}`);
}

async function warmUpUntil(work: Work, lanes: Lane[], hasBegun: () => Promise<boolean>): Promise<void> {
  await refreshWhile(work, lanes, async () => !(await hasBegun()));
}

/** Every lane sends its next request once the last is answered, until the question, asked now and then, says no. */
async function refreshWhile(work: Work, lanes: Lane[], goesOn: () => Promise<boolean>): Promise<Pace> {
  const latencies: number[] = [];
  let [isOver, spent] = [false, 0];
  const asking = (async () => {
    const latest = performance.now() + LONGEST * 1000;
    while (performance.now() < latest && (await goesOn())) await setTimeout(200);
    isOver = true;
  })();
  while (!isOver) {
    await work.stock(work.batch);
    const began = performance.now();
    let left = work.batch;
    const refresh = async (lane: Lane) => {
      for (; left > 0; latencies.push(await timed(() => work.turn(lane)))) left -= 1;
    };
    await Promise.all(lanes.map(refresh));
    spent += performance.now() - began;
  }
  await asking;
  return { perSecond: latencies.length / (spent / 1000), latency: latencyOf(latencies) };
}

async function timed(work: () => Promise<void>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}
