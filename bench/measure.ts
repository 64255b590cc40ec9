import type { Contender, Running } from './contender.ts';
import { type Peak, runPaced, runPeak, together, type Work } from './load.ts';
import type { Options } from './options.ts';
import { halt, resume, untilIdle } from './process.ts';
import type { Progress } from './progress.ts';
import { SCENARIOS } from './scenarios/all.ts';
import type { Scenario } from './scenarios/scenario.ts';
import { type Latency, latencyOf, middleOf, type Spread, spreadOf } from './statistics.ts';
import { timeSameWork } from './steadiness.ts';
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
  /** How long the machine took for one and the same thing, before each stint. */
  sameWork: number[];
}

/**
 * In seconds. A spell is run in stints, by turns with the others: what slows the machine down for a second slows everyone.
 * Long enough for a whole batch of all but the slowest: how long a history a grant has costs some more than others.
 */
export const STINT = 0.06;
const WARMING_STINTS = 4;

/** At the beginning of a round: the connections are new then, and what a contender needs is elsewhere in memory. */
const UNCOUNTED_STINTS = 1;

/** At this share of its own peak it is measured how long answers take. */
const PACE = 0.8;

/** After every so many stints, at what the last of them came to: the machine may be twice as fast a second later. */
const PACED_EVERY = 2;

/** Whose turn it is changes, so that nobody always comes first. They are left halted. */
export async function measureAll(entries: Entry[], options: Options, progress: Progress): Promise<Measured[]> {
  const scenarios = SCENARIOS.filter(({ name }) => options.scenarios.includes(name));
  const cells = scenarios.flatMap((scenario) => entries.map((entry) => newCell(entry, scenario)));
  const { rounds, spell, warmUp, pacedSpell } = options;
  const stints = Math.ceil(spell / STINT);
  const spells = [
    { peak: warmUp, stints: WARMING_STINTS, uncounted: 0, paced: 0 },
    ...Array.from({ length: rounds }, () => ({ peak: spell, stints, uncounted: UNCOUNTED_STINTS, paced: pacedSpell })),
  ];
  for (const length of spells) for (const { scenario } of cells) progress.plan(secondsOf(scenario, length));
  for (const { running } of entries) halt(running.pid);
  for (const [round, length] of spells.entries()) {
    for (const scenario of scenarios) {
      const ofScenario = cells.filter((cell) => cell.scenario === scenario);
      const what = round === 0 ? 'Warming up' : `Round ${round} of ${rounds}`;
      progress.step(`${what}: ${scenario.title.toLowerCase()}`, ofScenario.length * secondsOf(scenario, length));
      await playRound(rotate(ofScenario, round), options.lanes, length);
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
  sameWork: number[];
  latencies: Latency[];
  /** Turns per second, by what was last measured. */
  expected?: number;
}

function newCell(entry: Entry, scenario: Scenario): Cell {
  return { ...entry, scenario, peaks: [], cpu: [], loadShares: [], sameWork: [], latencies: [] };
}

/** In seconds: as fast as it goes, and at a pace in between. */
interface Length {
  peak: number;
  /** How many that is run in. */
  stints: number;
  /** How many of the same length come before. */
  uncounted: number;
  paced: number;
}

function secondsOf({ share }: Scenario, { peak, stints, uncounted, paced }: Length): number {
  return share * (peak * (1 + uncounted / stints) + paced);
}

/** The first round only warms up. */
function forgetAll(cells: Cell[]): void {
  for (const cell of cells) {
    cell.peaks = [];
    cell.cpu = [];
    cell.loadShares = [];
    cell.sameWork = [];
  }
}

function rotate<Thing>(things: Thing[], by: number): Thing[] {
  const start = by % things.length;
  return [...things.slice(start), ...things.slice(0, start)];
}

async function playRound(cells: Cell[], lanes: number, length: Length): Promise<void> {
  const { peak, stints: count, uncounted, paced } = length;
  const playing = cells
    .filter(({ scenario, running }) => scenario.isOffered(running))
    .map((cell) => ({ cell, stage: setStage(cell, lanes), stints: [] as Peak[], waits: [] as number[] }));
  const pacedEach = paced / Math.ceil(count / PACED_EVERY);
  try {
    for (let stint = -uncounted; stint < count; stint += 1) {
      const isPaced = paced > 0 && stint >= 0 && stint % PACED_EVERY === 0;
      for (const { cell, stage, stints, waits } of rotate(playing, uncounted + stint)) {
        cell.sameWork.push(timeSameWork());
        await perform(cell, async () => {
          const done = await runStint(cell, stage, peak / count);
          if (stint >= 0) stints.push(done);
          if (isPaced) waits.push(...(await runAtPace(cell, stage, PACE * done.perSecond, pacedEach)));
        });
      }
    }
    for (const { cell, stints, waits } of playing) {
      note(cell, together(stints));
      if (waits.length > 0) cell.latencies.push(latencyOf(waits));
    }
  } finally {
    for (const { stage } of playing) stage.clear();
  }
}

async function runStint(cell: Cell, { work, lanes }: Stage, seconds: number): Promise<Peak> {
  const { scenario, running, expected } = cell;
  const peak = await runPeak(work, lanes, { seconds: scenario.share * seconds, pid: running.pid, expected });
  cell.expected = peak.perSecond;
  return peak;
}

function runAtPace(cell: Cell, { work, lanes }: Stage, perSecond: number, seconds: number): Promise<number[]> {
  const { contender, running, scenario } = cell;
  const pace = { perSecond, seconds: scenario.share * seconds, pid: running.pid, sleeps: contender.needsBothCores };
  return runPaced(work, lanes, pace);
}

function note(cell: Cell, { perSecond, cpu, loadShare }: ReturnType<typeof together>): void {
  cell.peaks.push(perSecond);
  if (cpu !== null) cell.cpu.push(cpu);
  if (loadShare !== null) cell.loadShares.push(loadShare);
}

export interface Stage {
  work: Work;
  lanes: Lane[];
  clear(): void;
}

/** New connections, and someone to use them. */
export function setStage({ running, scenario }: Act, count: number): Stage {
  const lanes = Array.from({ length: count }, openLane);
  const work = scenario.prepare(running.speakFor?.(scenario.name) ?? running, lanes);
  const clear = () => {
    for (const lane of lanes) lane.close();
  };
  return { work, lanes, clear };
}

/**
 * Everyone else rests meanwhile. What came due while a contender was halted it does first: what it does every few seconds
 * would otherwise fall into each stint of a few hundredths of a second.
 */
export async function perform<Result>(act: Act, work: () => Promise<Result>): Promise<Result> {
  const { contender, running, scenario } = act;
  resume(running.pid);
  try {
    await untilIdle(running.pid);
    return await work();
  } catch (error) {
    const what = `${contender.title}, ${scenario.title.toLowerCase()}`;
    throw new Error(`${what}: ${error instanceof Error ? error.message : error}`, { cause: error });
  } finally {
    halt(running.pid);
  }
}

function summarise({ contender, scenario, peaks, cpu, loadShares, sameWork, latencies }: Cell): Measured {
  return {
    contender: contender.name,
    scenario: scenario.name,
    perSecond: peaks.length > 0 ? spreadOf(peaks) : null,
    latency: latencies.length > 0 ? middleOf(latencies) : null,
    cpu: cpu.length > 0 ? spreadOf(cpu).median : null,
    loadShare: loadShares.length > 0 ? spreadOf(loadShares).median : null,
    sameWork,
  };
}
