import { performance } from 'node:perf_hooks';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { cpuTimeOf, cpuTimeOfFirstThread, cpuTimeSince, cpuTimesOfChildren } from './cpu-usage.ts';
import type { HttpClient } from './http-client.ts';
import { untilIdle } from './process.ts';

/** The repeated operation of a scenario. An iteration uses prepared data and checks each response. */
export interface Workload {
  /** The maximum number of iterations per batch. */
  batch: number;
  /** Prepares the data of that many iterations. Not measured. */
  prepareBatch(iterations: number): Promise<void>;
  iterate(client: HttpClient): Promise<void>;
  /** Checks the effect of a batch. Not measured. */
  verifyBatch?(): Promise<void>;
}

export interface Peak {
  iterations: number;
  perSecond: number;
  /** CPU time of the server, in microseconds per iteration. */
  cpu: number | null;
  /** The part of `cpu` in threads other than the main thread. */
  cpuOfOthers: number;
  /** CPU time of PostgreSQL's processes, in microseconds per iteration. */
  cpuOfPostgres: number;
  /** CPU use of the load generator. If it is near 1, the load generator is the bottleneck. */
  loadShare: number | null;
}

interface PeakOptions {
  seconds: number;
  pid: number;
  postmaster?: number | undefined;
  /** Iterations per second, if known: limits the data that is prepared for a slow contender. */
  expected?: number | undefined;
}

/** Closed loop: every client sends its next request when it has received the previous response. */
export async function runPeak(work: Workload, clients: HttpClient[], options: PeakOptions): Promise<Peak> {
  const { seconds, pid, postmaster, expected } = options;
  let [iterations, spent, cpu, first, byPostgres, load] = [0, 0, 0, 0, 0, 0];
  while (spent < seconds * 1000) {
    const wanted = Math.ceil((expected ?? Number.POSITIVE_INFINITY) * (seconds - spent / 1000));
    const batch = Math.min(work.batch, Math.max(clients.length, wanted));
    await work.prepareBatch(batch);
    await untilIdle(pid);
    const [cpuBefore, loadBefore] = [cpuTimeOf(pid) ?? Number.NaN, cpuTimeOf(process.pid) ?? Number.NaN];
    const [firstBefore, byPostgresBefore] = [cpuTimeOfFirstThread(pid), timesOfPostgres(postmaster)];
    const began = performance.now();
    let left = batch;
    // A long batch ends with the measured time.
    const until = began + seconds * 1000 - spent;
    await Promise.all(
      clients.map(async (client) => {
        while (left > 0 && performance.now() < until) {
          left -= 1;
          iterations += 1;
          await work.iterate(client);
        }
      }),
    );
    spent += performance.now() - began;
    cpu += (cpuTimeOf(pid) ?? Number.NaN) - cpuBefore;
    first += cpuTimeOfFirstThread(pid) - firstBefore;
    byPostgres += cpuTimeSince(byPostgresBefore, timesOfPostgres(postmaster));
    load += (cpuTimeOf(process.pid) ?? Number.NaN) - loadBefore;
    await work.verifyBatch?.();
  }
  return {
    iterations,
    perSecond: iterations / (spent / 1000),
    cpu: Number.isNaN(cpu) ? null : cpu / 1000 / iterations,
    cpuOfOthers: Number.isNaN(cpu) ? 0 : (cpu - first) / 1000 / iterations,
    cpuOfPostgres: byPostgres / 1000 / iterations,
    loadShare: Number.isNaN(load) ? null : load / 1e6 / spent,
  };
}

function timesOfPostgres(postmaster: number | undefined): Map<number, number> {
  return postmaster === undefined ? new Map() : cpuTimesOfChildren(postmaster);
}

/** The totals of several slices. */
export function combine(peaks: Peak[]): Pick<Peak, 'iterations' | 'perSecond' | 'cpu' | 'loadShare'> {
  const sum = (of: (peak: Peak) => number) => peaks.reduce((all, peak) => all + of(peak), 0);
  const secondsOf = ({ iterations, perSecond }: Peak) => iterations / perSecond;
  const [iterations, seconds] = [sum((peak) => peak.iterations), sum(secondsOf)];
  const cpu = sum((peak) => (peak.cpu ?? Number.NaN) * peak.iterations) / iterations;
  const loadShare = sum((peak) => (peak.loadShare ?? Number.NaN) * secondsOf(peak)) / seconds;
  return {
    iterations,
    perSecond: iterations / seconds,
    cpu: Number.isNaN(cpu) ? null : cpu,
    loadShare: Number.isNaN(loadShare) ? null : loadShare,
  };
}

export interface PacedOptions {
  perSecond: number;
  seconds: number;
  pid: number;
  /** Sleeps between arrivals instead of polling, to leave its core to the contender; adds up to a millisecond. */
  sleeps: boolean;
}

/**
 * Open loop: requests arrive at random times (a Poisson process), whether or not the previous ones have got a response. The
 * time that a request waits for a free connection counts. The arrivals are the same for every contender. Returns milliseconds.
 */
export async function runPaced(
  work: Workload,
  clients: HttpClient[],
  { perSecond, seconds, pid, sleeps }: PacedOptions,
): Promise<number[]> {
  const gaps = createGaps(perSecond);
  const latencies: number[] = [];
  const wanted = Math.max(1, Math.round(perSecond * seconds));
  while (latencies.length < wanted) {
    const count = Math.min(work.batch, wanted - latencies.length);
    await work.prepareBatch(count);
    await untilIdle(pid);
    latencies.push(...(await runArrivals(work, clients, { gaps, count, sleeps })));
    await work.verifyBatch?.();
  }
  return latencies;
}

interface Arrivals {
  gaps: () => number;
  count: number;
  sleeps: boolean;
}

async function runArrivals(
  work: Workload,
  clients: HttpClient[],
  { gaps, count, sleeps }: Arrivals,
): Promise<number[]> {
  const free = [...clients];
  const waiting: number[] = [];
  const latencies: number[] = [];
  const failures: unknown[] = [];
  const serve = async (client: HttpClient) => {
    for (let due = waiting.shift(); due !== undefined; due = waiting.shift()) {
      await work.iterate(client);
      latencies.push(performance.now() - due);
    }
    free.push(client);
  };
  let [arrived, next] = [0, performance.now()];
  while (latencies.length < count) {
    for (; arrived < count && next <= performance.now(); arrived += 1) {
      waiting.push(next);
      next += gaps();
      const client = free.pop();
      if (client) serve(client).catch((error) => failures.push(error));
    }
    await (sleeps ? setTimeout(1) : setImmediate());
    if (failures.length > 0) throw failures[0];
  }
  return latencies;
}

/** Exponential gaps in milliseconds, from a generator with a fixed seed (xorshift). */
function createGaps(perSecond: number): () => number {
  let state = 0x9e3779b9;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    const chance = ((state >>> 0) + 1) / 0x1_0000_0001;
    return (-Math.log(chance) * 1000) / perSecond;
  };
}
