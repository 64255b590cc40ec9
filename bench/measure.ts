import type { Contender, Running } from './contender.ts';
import { runPaced, runPeak, type Work } from './load.ts';
import type { Options } from './options.ts';
import { takePace } from './pace.ts';
import { halt, resume } from './process.ts';
import type { Progress } from './progress.ts';
import { SCENARIOS } from './scenarios/all.ts';
import type { Scenario } from './scenarios/scenario.ts';
import { type Latency, latencyOf, middleOf, type Spread, spreadOf } from './statistics.ts';
import { type Lane, openLane } from './wire.ts';

export interface Entry {
  contender: Contender;
  running: Running;
}

/** What one scenario of one contender came to. Null where it does not offer it. */
export interface Measured {
  contender: string;
  scenario: string;
  perSecond: Spread | null;
  latency: Latency | null;
  /** Of the server's own process, in microseconds for each turn. */
  cpu: number | null;
  /** Of the time, the share in which the load itself was at work. */
  loadShare: number | null;
  /** How long the machine took for one and the same thing, before each spell. */
  paces: number[];
}

/** Of a spell: so long it runs before it counts. A longer one comes before all rounds, for the compiler to see everything. */
const RUN_UP = 0.25;

/** At this share of its own peak it is measured how long answers take. */
const PACE = 0.8;

/** Whose turn it is changes from round to round, so that nobody always comes first. They are left halted. */
export async function measureAll(entries: Entry[], options: Options, progress: Progress): Promise<Measured[]> {
  const scenarios = SCENARIOS.filter(({ name }) => options.scenarios.includes(name));
  const cells = scenarios.flatMap((scenario) => entries.map((entry) => newCell(entry, scenario)));
  const { rounds, spell, warmUp, pacedSpell } = options;
  const spells = [
    { peak: warmUp, paced: 0 },
    ...Array.from({ length: rounds }, () => ({ peak: spell, paced: pacedSpell })),
  ];
  for (const length of spells) for (const { scenario } of cells) progress.plan(secondsOf(scenario, length));
  for (const { running } of entries) halt(running.pid);
  for (const [round, length] of spells.entries()) {
    for (const scenario of scenarios) {
      const turns = cells.filter((cell) => cell.scenario === scenario);
      for (const cell of rotate(turns, round)) {
        const what = round === 0 ? 'Warming up' : `Round ${round} of ${rounds}`;
        progress.step(`${what}: ${titleOf(cell)}`, secondsOf(scenario, length));
        await measure(cell, options.lanes, length);
      }
    }
    if (round === 0) forgetAll(cells);
  }
  return cells.map(summarise);
}

/** One scenario of one contender. */
export interface Act extends Entry {
  scenario: Scenario;
}

interface Cell extends Act {
  peaks: number[];
  cpu: number[];
  loadShares: number[];
  paces: number[];
  latencies: Latency[];
  /** Turns per second, by what was last measured. */
  expected?: number;
}

function newCell(entry: Entry, scenario: Scenario): Cell {
  return { ...entry, scenario, peaks: [], cpu: [], loadShares: [], paces: [], latencies: [] };
}

/** In seconds: as fast as it goes, and then at a pace. */
interface Length {
  peak: number;
  paced: number;
}

function secondsOf({ share }: Scenario, { peak, paced }: Length): number {
  return share * (peak * (1 + RUN_UP) + paced);
}

/** The first round only warms up. */
function forgetAll(cells: Cell[]): void {
  for (const cell of cells) {
    cell.peaks = [];
    cell.cpu = [];
    cell.loadShares = [];
    cell.paces = [];
  }
}

function titleOf({ contender, scenario }: Cell): string {
  return `${contender.title}, ${scenario.title.toLowerCase()}`;
}

function rotate<Thing>(things: Thing[], by: number): Thing[] {
  const start = by % things.length;
  return [...things.slice(start), ...things.slice(0, start)];
}

/** The pace is of the peak a moment before, since a machine may be slower by half a minute later. */
async function measure(cell: Cell, lanes: number, length: Length): Promise<void> {
  const { share } = cell.scenario;
  cell.paces.push(takePace());
  await onStage(cell, lanes, async (work, open) => {
    const { pid } = cell.running;
    const runUp = await runPeak(work, open, { seconds: share * length.peak * RUN_UP, pid, expected: cell.expected });
    const expected = runUp.perSecond;
    const { perSecond, cpu, loadShare } = await runPeak(work, open, { seconds: share * length.peak, pid, expected });
    cell.expected = perSecond;
    cell.peaks.push(perSecond);
    if (cpu !== null) cell.cpu.push(cpu);
    if (loadShare !== null) cell.loadShares.push(loadShare);
    if (length.paced === 0) return;
    const pace = { perSecond: perSecond * PACE, seconds: share * length.paced, sleeps: cell.contender.needsBothCores };
    cell.latencies.push(latencyOf(await runPaced(work, open, pace)));
  });
}

/** Everyone else rests meanwhile, and the connections are new: servers close those on which nothing came for a while. */
export async function onStage(
  { contender, running, scenario }: Act,
  count: number,
  work: (work: Work, lanes: Lane[]) => Promise<void>,
): Promise<void> {
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

function summarise({ contender, scenario, peaks, cpu, loadShares, paces, latencies }: Cell): Measured {
  return {
    contender: contender.name,
    scenario: scenario.name,
    perSecond: peaks.length > 0 ? spreadOf(peaks) : null,
    latency: latencies.length > 0 ? middleOf(latencies) : null,
    cpu: cpu.length > 0 ? spreadOf(cpu).median : null,
    loadShare: loadShares.length > 0 ? spreadOf(loadShares).median : null,
    paces,
  };
}
