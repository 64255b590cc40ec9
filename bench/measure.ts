import type { Contender, Running } from './contender.ts';
import { runPaced, runPeak, type Work } from './load.ts';
import type { Options } from './options.ts';
import { halt, resume } from './process.ts';
import type { Progress } from './progress.ts';
import { SCENARIOS } from './scenarios/all.ts';
import type { Scenario } from './scenarios/scenario.ts';
import { type Latency, latencyOf, type Spread, spreadOf } from './statistics.ts';
import { type Lane, openLane } from './wire.ts';

export interface Entry {
  contender: Contender;
  running: Running;
}

/** One scenario of one contender. Null where it does not offer it. */
export interface Measured {
  contender: string;
  scenario: string;
  perSecond: Spread | null;
  latency: Latency | null;
  /** Of the server's own process, in microseconds for each turn. */
  cpu: number | null;
  /** Of the time, the share in which the load itself was at work. */
  loadShare: number | null;
}

/** Of a spell: so long it runs before it counts. A longer one comes before all rounds, for the compiler to see everything. */
const RUN_UP = 0.25;

/** At this share of its own peak it is measured how long answers take. */
const PACE = 0.8;

/** Whose turn it is changes from round to round, so that nobody always comes first. */
export async function measureAll(entries: Entry[], options: Options, progress: Progress): Promise<Measured[]> {
  const scenarios = SCENARIOS.filter(({ name }) => options.scenarios.includes(name));
  const cells = scenarios.flatMap((scenario) => entries.map((entry) => newCell(entry, scenario)));
  const { rounds, spell, warmUp, pacedSpell } = options;
  progress.plan(cells.length * ((rounds * spell + warmUp) * (1 + RUN_UP) + pacedSpell));
  for (const { running } of entries) halt(running.pid);
  for (let round = 0; round <= rounds; round += 1) {
    for (const scenario of scenarios) {
      const turns = cells.filter((cell) => cell.scenario === scenario);
      for (const cell of rotate(turns, round)) {
        const [what, seconds] = round === 0 ? ['Warming up', warmUp] : [`Round ${round} of ${rounds}`, spell];
        progress.step(`${what}: ${titleOf(cell)}`, seconds * (1 + RUN_UP));
        await measurePeak(cell, { lanes: options.lanes, seconds });
      }
    }
    if (round === 0) forgetAll(cells);
  }
  for (const cell of pacedSpell > 0 ? cells : []) {
    progress.step(`How long answers take: ${titleOf(cell)}`, pacedSpell);
    await measureLatency(cell, options);
  }
  for (const { running } of entries) resume(running.pid);
  return cells.map(summarise);
}

interface Cell extends Entry {
  scenario: Scenario;
  peaks: number[];
  cpu: number[];
  loadShares: number[];
  latency: Latency | null;
}

function newCell(entry: Entry, scenario: Scenario): Cell {
  return { ...entry, scenario, peaks: [], cpu: [], loadShares: [], latency: null };
}

/** The first round only warms up. */
function forgetAll(cells: Cell[]): void {
  for (const cell of cells) {
    cell.peaks = [];
    cell.cpu = [];
    cell.loadShares = [];
  }
}

function titleOf({ contender, scenario }: Cell): string {
  return `${contender.title}, ${scenario.title.toLowerCase()}`;
}

function rotate<Thing>(things: Thing[], by: number): Thing[] {
  const start = by % things.length;
  return [...things.slice(start), ...things.slice(0, start)];
}

async function measurePeak(cell: Cell, { lanes, seconds }: { lanes: number; seconds: number }): Promise<void> {
  await onStage(cell, lanes, async (work, open) => {
    const { pid } = cell.running;
    await runPeak(work, open, { seconds: seconds * RUN_UP, pid });
    const { perSecond, cpu, loadShare } = await runPeak(work, open, { seconds, pid });
    cell.peaks.push(perSecond);
    if (cpu !== null) cell.cpu.push(cpu);
    if (loadShare !== null) cell.loadShares.push(loadShare);
  });
}

async function measureLatency(cell: Cell, { lanes, pacedSpell }: Options): Promise<void> {
  await onStage(cell, lanes, async (work, open) => {
    const perSecond = spreadOf(cell.peaks).median * PACE;
    const sleeps = cell.contender.needsBothCores;
    cell.latency = latencyOf(await runPaced(work, open, { perSecond, seconds: pacedSpell, sleeps }));
  });
}

/** Everyone else rests meanwhile, and the connections are new: servers close those on which nothing came for a while. */
async function onStage(cell: Cell, count: number, work: (work: Work, lanes: Lane[]) => Promise<void>): Promise<void> {
  const { contender, running, scenario } = cell;
  if (!scenario.isOffered(running)) return;
  const lanes = Array.from({ length: count }, openLane);
  resume(running.pid);
  try {
    await work(scenario.prepare(running.speakFor?.(scenario.name) ?? running, lanes), lanes);
  } catch (error) {
    throw new Error(
      `${contender.title}, ${scenario.title.toLowerCase()}: ${error instanceof Error ? error.message : error}`,
      {
        cause: error,
      },
    );
  } finally {
    for (const lane of lanes) lane.close();
    halt(running.pid);
  }
}

function summarise({ contender, scenario, peaks, cpu, loadShares, latency }: Cell): Measured {
  return {
    contender: contender.name,
    scenario: scenario.name,
    perSecond: peaks.length > 0 ? spreadOf(peaks) : null,
    latency,
    cpu: cpu.length > 0 ? spreadOf(cpu).median : null,
    loadShare: loadShares.length > 0 ? spreadOf(loadShares).median : null,
  };
}
