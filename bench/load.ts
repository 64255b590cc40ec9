import { performance } from 'node:perf_hooks';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { untilIdle } from './process.ts';
import { cpuTimeOf, cpuTimeOfFirstThread, cpuTimeSince, cpuTimesOfChildren } from './usage.ts';
import type { Lane } from './wire.ts';

/** What is done over and over. A turn takes what it needs out of what was stocked, and checks what it is answered. */
export interface Work {
  /** How many turns one stock is good for, at most. */
  batch: number;
  /** Makes what so many turns need, on nobody's time. */
  stock(turns: number): Promise<void>;
  turn(lane: Lane): Promise<void>;
  /** After a batch, on nobody's time: whether what was done has come true. */
  review?(): Promise<void>;
}

export interface Peak {
  turns: number;
  perSecond: number;
  /** Of the server, in microseconds for each turn. */
  cpu: number | null;
  /** Of that, what other threads than the first took. */
  cpuOfOthers: number;
  /** Of the processes of PostgreSQL, in the same unit. */
  cpuOfPostgres: number;
  /** Of the time, the share in which the load itself was at work: near 1, it is the load that was measured. */
  loadShare: number | null;
}

interface Spell {
  seconds: number;
  pid: number;
  postmaster?: number | undefined;
  /** Turns per second, where that is known: what a slow contender will not use is then not made. */
  expected?: number | undefined;
}

/** As fast as it will go: every lane sends its next request once the last is answered. */
export async function runPeak(work: Work, lanes: Lane[], spell: Spell): Promise<Peak> {
  const { seconds, pid, postmaster, expected } = spell;
  let [turns, spent, cpu, first, byPostgres, load] = [0, 0, 0, 0, 0, 0];
  while (spent < seconds * 1000) {
    const wanted = Math.ceil((expected ?? Number.POSITIVE_INFINITY) * (seconds - spent / 1000));
    const batch = Math.min(work.batch, Math.max(lanes.length, wanted));
    await work.stock(batch);
    await untilIdle(pid);
    const [cpuBefore, loadBefore] = [cpuTimeOf(pid) ?? Number.NaN, cpuTimeOf(process.pid) ?? Number.NaN];
    const [firstBefore, byPostgresBefore] = [cpuTimeOfFirstThread(pid), timesOfPostgres(postmaster)];
    const began = performance.now();
    let left = batch;
    // A batch that could go on for long ends with the spell.
    const until = began + seconds * 1000 - spent;
    await Promise.all(
      lanes.map(async (lane) => {
        while (left > 0 && performance.now() < until) {
          left -= 1;
          turns += 1;
          await work.turn(lane);
        }
      }),
    );
    spent += performance.now() - began;
    cpu += (cpuTimeOf(pid) ?? Number.NaN) - cpuBefore;
    first += cpuTimeOfFirstThread(pid) - firstBefore;
    byPostgres += cpuTimeSince(byPostgresBefore, timesOfPostgres(postmaster));
    load += (cpuTimeOf(process.pid) ?? Number.NaN) - loadBefore;
    await work.review?.();
  }
  return {
    turns,
    perSecond: turns / (spent / 1000),
    cpu: Number.isNaN(cpu) ? null : cpu / 1000 / turns,
    cpuOfOthers: Number.isNaN(cpu) ? 0 : (cpu - first) / 1000 / turns,
    cpuOfPostgres: byPostgres / 1000 / turns,
    loadShare: Number.isNaN(load) ? null : load / 1e6 / spent,
  };
}

function timesOfPostgres(postmaster: number | undefined): Map<number, number> {
  return postmaster === undefined ? new Map() : cpuTimesOfChildren(postmaster);
}

/** Several as one. */
export function together(peaks: Peak[]): Pick<Peak, 'turns' | 'perSecond' | 'cpu' | 'loadShare'> {
  const sum = (of: (peak: Peak) => number) => peaks.reduce((all, peak) => all + of(peak), 0);
  const secondsOf = ({ turns, perSecond }: Peak) => turns / perSecond;
  const [turns, seconds] = [sum((peak) => peak.turns), sum(secondsOf)];
  const cpu = sum((peak) => (peak.cpu ?? Number.NaN) * peak.turns) / turns;
  const loadShare = sum((peak) => (peak.loadShare ?? Number.NaN) * secondsOf(peak)) / seconds;
  return {
    turns,
    perSecond: turns / seconds,
    cpu: Number.isNaN(cpu) ? null : cpu,
    loadShare: Number.isNaN(loadShare) ? null : loadShare,
  };
}

export interface Pace {
  perSecond: number;
  seconds: number;
  pid: number;
  /** Whether to sleep between arrivals, for those who need the core that the load is on; it costs up to a millisecond. */
  sleeps: boolean;
}

/**
 * Requests come when they come, whether or not the last is answered, and what one waits for a free connection is part of
 * how long it took. The gaps are random (a Poisson process), and the same for every contender. Gives milliseconds.
 */
export async function runPaced(
  work: Work,
  lanes: Lane[],
  { perSecond, seconds, pid, sleeps }: Pace,
): Promise<number[]> {
  const gaps = newGaps(perSecond);
  const latencies: number[] = [];
  const wanted = Math.max(1, Math.round(perSecond * seconds));
  while (latencies.length < wanted) {
    const count = Math.min(work.batch, wanted - latencies.length);
    await work.stock(count);
    await untilIdle(pid);
    latencies.push(...(await runArrivals(work, lanes, { gaps, count, sleeps })));
    await work.review?.();
  }
  return latencies;
}

interface Arrivals {
  gaps: () => number;
  count: number;
  sleeps: boolean;
}

async function runArrivals(work: Work, lanes: Lane[], { gaps, count, sleeps }: Arrivals): Promise<number[]> {
  const free = [...lanes];
  const waiting: number[] = [];
  const latencies: number[] = [];
  const failures: unknown[] = [];
  const serve = async (lane: Lane) => {
    for (let due = waiting.shift(); due !== undefined; due = waiting.shift()) {
      await work.turn(lane);
      latencies.push(performance.now() - due);
    }
    free.push(lane);
  };
  let [come, next] = [0, performance.now()];
  while (latencies.length < count) {
    for (; come < count && next <= performance.now(); come += 1) {
      waiting.push(next);
      next += gaps();
      const lane = free.pop();
      if (lane) serve(lane).catch((error) => failures.push(error));
    }
    await (sleeps ? setTimeout(1) : setImmediate());
    if (failures.length > 0) throw failures[0];
  }
  return latencies;
}

/** Exponential gaps in milliseconds, from a small generator that starts alike each time (xorshift). */
function newGaps(perSecond: number): () => number {
  let state = 0x9e3779b9;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    const chance = ((state >>> 0) + 1) / 0x1_0000_0001;
    return (-Math.log(chance) * 1000) / perSecond;
  };
}
