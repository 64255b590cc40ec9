import type { Contender, RunningServer } from './contender.ts';
import { createHttpClient, type HttpClient } from './http-client.ts';
import { combine, type Peak, runPaced, runPeak, type Workload } from './load.ts';
import type { Options } from './options.ts';
import { pause, resume, untilIdle } from './process.ts';
import type { Progress } from './progress.ts';
import { SCENARIOS } from './scenarios/all.ts';
import type { Scenario } from './scenarios/scenario.ts';
import { type Latency, latencyOf, medianOf, type Spread, spreadOf } from './statistics.ts';
import { timeSameWork } from './steadiness.ts';

export interface Entry {
  contender: Contender;
  running: RunningServer;
}

/** The result of one scenario of one contender. Null if the contender does not support it. */
export interface Measured {
  contender: string;
  scenario: string;
  perSecond: Spread | null;
  latency: Latency | null;
  /** CPU time of the server process, in microseconds per iteration. */
  cpu: number | null;
  /** CPU use of the load generator. */
  loadShare: number | null;
  /** How long a fixed piece of work took before each slice: shows how steady the machine was. */
  sameWork: number[];
}

/**
 * In seconds. The contenders alternate in short slices, so that a slow second of the machine affects all of them. A slice is
 * long enough for a whole batch of all but the slowest.
 */
export const SLICE = 0.06;
const WARM_UP_SLICES = 4;

/** At the start of a round, when connections are new and caches are cold. */
const UNCOUNTED_SLICES = 1;

/** Latency is measured at this share of the peak throughput. */
const PACED_LOAD = 0.8;

/** Latency is measured after every so many slices, at a share of the throughput of the last one. */
const PACED_EVERY = 2;

/** The order of the contenders rotates. Their processes are paused afterwards. */
export async function measureAll(entries: Entry[], options: Options, progress: Progress): Promise<Measured[]> {
  const scenarios = SCENARIOS.filter(({ name }) => options.scenarios.includes(name));
  const cells = scenarios.flatMap((scenario) => entries.map((entry) => createCell(entry, scenario)));
  const { rounds, seconds, warmUp, pacedSeconds } = options;
  const slices = Math.ceil(seconds / SLICE);
  const plans = [
    { peak: warmUp, slices: WARM_UP_SLICES, uncounted: 0, paced: 0 },
    ...Array.from({ length: rounds }, () => ({
      peak: seconds,
      slices,
      uncounted: UNCOUNTED_SLICES,
      paced: pacedSeconds,
    })),
  ];
  for (const plan of plans) for (const { scenario } of cells) progress.plan(secondsOf(scenario, plan));
  for (const { running } of entries) pause(running.pid);
  for (const [round, plan] of plans.entries()) {
    for (const scenario of scenarios) {
      const ofScenario = cells.filter((cell) => cell.scenario === scenario);
      const phase = round === 0 ? 'Warming up' : `Round ${round} of ${rounds}`;
      progress.step(`${phase}: ${scenario.title.toLowerCase()}`, ofScenario.length * secondsOf(scenario, plan));
      await runRound(rotate(ofScenario, round), options.connections, plan);
    }
    if (round === 0) discardResults(cells);
  }
  return cells.map(summarise);
}

/** One scenario of one contender. */
export interface ScenarioRun extends Entry {
  scenario: Scenario;
}

interface Cell extends ScenarioRun {
  peaks: number[];
  cpu: number[];
  loadShares: number[];
  sameWork: number[];
  latencies: Latency[];
  /** Iterations per second in the last slice. */
  expected?: number;
}

function createCell(entry: Entry, scenario: Scenario): Cell {
  return { ...entry, scenario, peaks: [], cpu: [], loadShares: [], sameWork: [], latencies: [] };
}

/** `peak` and `paced` are in seconds: at full load, and at a share of it. */
interface RoundPlan {
  peak: number;
  /** The number of slices that `peak` is divided into. */
  slices: number;
  /** Slices before them that are not counted. */
  uncounted: number;
  paced: number;
}

function secondsOf({ share }: Scenario, { peak, slices, uncounted, paced }: RoundPlan): number {
  return share * (peak * (1 + uncounted / slices) + paced);
}

/** The first round is the warm-up. */
function discardResults(cells: Cell[]): void {
  for (const cell of cells) {
    cell.peaks = [];
    cell.cpu = [];
    cell.loadShares = [];
    cell.sameWork = [];
  }
}

function rotate<Item>(items: Item[], by: number): Item[] {
  const start = by % items.length;
  return [...items.slice(start), ...items.slice(0, start)];
}

async function runRound(cells: Cell[], connections: number, plan: RoundPlan): Promise<void> {
  const { peak, slices: count, uncounted, paced } = plan;
  const runs = cells
    .filter(({ scenario, running }) => scenario.isOffered(running))
    .map((cell) => ({
      cell,
      setup: setUpScenario(cell, connections),
      slices: [] as Peak[],
      latencies: [] as number[],
    }));
  const pacedEach = paced / Math.ceil(count / PACED_EVERY);
  try {
    for (let slice = -uncounted; slice < count; slice += 1) {
      const isPaced = paced > 0 && slice >= 0 && slice % PACED_EVERY === 0;
      for (const { cell, setup, slices, latencies } of rotate(runs, uncounted + slice)) {
        cell.sameWork.push(timeSameWork());
        await runUnpaused(cell, async () => {
          const done = await runSlice(cell, setup, peak / count);
          if (slice >= 0) slices.push(done);
          if (isPaced) latencies.push(...(await runAtPace(cell, setup, PACED_LOAD * done.perSecond, pacedEach)));
        });
      }
    }
    for (const { cell, slices, latencies } of runs) {
      addResult(cell, combine(slices));
      if (latencies.length > 0) cell.latencies.push(latencyOf(latencies));
    }
  } finally {
    for (const { setup } of runs) setup.close();
  }
}

async function runSlice(cell: Cell, { work, clients }: ScenarioSetup, seconds: number): Promise<Peak> {
  const { scenario, running, expected } = cell;
  const peak = await runPeak(work, clients, { seconds: scenario.share * seconds, pid: running.pid, expected });
  cell.expected = peak.perSecond;
  return peak;
}

function runAtPace(
  cell: Cell,
  { work, clients }: ScenarioSetup,
  perSecond: number,
  seconds: number,
): Promise<number[]> {
  const { contender, running, scenario } = cell;
  const pace = { perSecond, seconds: scenario.share * seconds, pid: running.pid, sleeps: contender.needsBothCores };
  return runPaced(work, clients, pace);
}

function addResult(cell: Cell, { perSecond, cpu, loadShare }: ReturnType<typeof combine>): void {
  cell.peaks.push(perSecond);
  if (cpu !== null) cell.cpu.push(cpu);
  if (loadShare !== null) cell.loadShares.push(loadShare);
}

export interface ScenarioSetup {
  work: Workload;
  clients: HttpClient[];
  close(): void;
}

/** Opens new connections. */
export function setUpScenario({ running, scenario }: ScenarioRun, count: number): ScenarioSetup {
  const clients = Array.from({ length: count }, createHttpClient);
  const work = scenario.prepare(running.forScenario?.(scenario.name) ?? running, clients);
  const close = () => {
    for (const client of clients) client.close();
  };
  return { work, clients, close };
}

/**
 * All other contenders are paused. Waits first until the contender has run the timers that came due while it was paused:
 * otherwise its periodic work would run in every slice.
 */
export async function runUnpaused<Result>(run: ScenarioRun, work: () => Promise<Result>): Promise<Result> {
  const { contender, running, scenario } = run;
  resume(running.pid);
  try {
    await untilIdle(running.pid);
    return await work();
  } catch (error) {
    const what = `${contender.title}, ${scenario.title.toLowerCase()}`;
    throw new Error(`${what}: ${error instanceof Error ? error.message : error}`, { cause: error });
  } finally {
    pause(running.pid);
  }
}

function summarise({ contender, scenario, peaks, cpu, loadShares, sameWork, latencies }: Cell): Measured {
  return {
    contender: contender.name,
    scenario: scenario.name,
    perSecond: peaks.length > 0 ? spreadOf(peaks) : null,
    latency: latencies.length > 0 ? medianOf(latencies) : null,
    cpu: cpu.length > 0 ? spreadOf(cpu).median : null,
    loadShare: loadShares.length > 0 ? spreadOf(loadShares).median : null,
    sameWork,
  };
}
