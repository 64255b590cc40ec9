import cluster, { type Worker } from 'node:cluster';
import { flushCompileCache } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import type { Settings } from '../config/settings.ts';
import { MINUTE, SECOND, systemClock } from '../lib/clock.ts';
import { OutdatedRelease } from '../storage/storage.ts';
import { explainServing, WorkersFailed, withCreatedStorage } from './command.ts';
import { DRAIN_TIMEOUT, exitSoon, rejectDemoData, untilStopped } from './serve.ts';

/** A worker that exits sooner after its start may be in a crash loop. */
const STABLE_AFTER = MINUTE;
const MIN_DELAY = SECOND / 2;
const MAX_DELAY = 30 * SECOND;

/** Several processes on the same ports and database. The primary process starts them, and serves no requests. */
export async function serveWithWorkers(settings: Settings, env: NodeJS.ProcessEnv): Promise<void> {
  if (cluster.isWorker) return serveAsWorker(settings);
  const { baseUrl, consentUrl, workers } = settings;
  await withCreatedStorage(env, (storage) => rejectDemoData(storage, settings));
  // Before the first listener opens. From here on no signal kills this process.
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => {});
  const stopped = untilStopped();
  cluster.setupPrimary({ args: ['serve', '--workers', String(workers)] });
  const pool = createWorkerPool();
  const started = Array.from({ length: workers }, () => pool.start());
  try {
    const allReady = Promise.all(started.map(({ ready }) => ready)).then(() => true);
    if (!(await Promise.race([allReady, stopped.then(() => false)]))) return;
    for (const entry of started) pool.respawn(entry);
    console.error(`Gatehouse serves ${baseUrl} (API) and ${consentUrl} (web) with ${workers} workers.`);
    await Promise.race([stopped, pool.outdated]);
  } finally {
    await pool.end();
  }
}

interface PoolWorker {
  worker: Worker;
  startedAt: number;
  /** Rejects with the worker's error if it exits before it serves. */
  ready: Promise<void>;
  /** Resolves with the reason of the exit. */
  ended: Promise<Exit>;
}

interface Exit {
  reason: string;
  /** Whether every replacement would exit for the same reason. */
  isOutdated: boolean;
}

function createWorkerPool() {
  const stopping = new AbortController();
  const running = new Set<PoolWorker>();
  const { promise: outdated, reject: onOutdated } = Promise.withResolvers<never>();

  function start(): PoolWorker {
    const entry = forkWorker();
    running.add(entry);
    entry.ended.then(() => running.delete(entry));
    return entry;
  }

  /** Replaces the worker whenever it exits, until the pool stops or the release is outdated. */
  async function respawn(first: PoolWorker): Promise<void> {
    let delay = 0;
    for (let entry = first; ; entry = start()) {
      const { reason, isOutdated } = await entry.ended;
      if (stopping.signal.aborted) return;
      if (isOutdated) return onOutdated(new WorkersFailed(reason));
      delay = nextDelay(delay, systemClock() - entry.startedAt);
      const when = delay === 0 ? 'now' : `in ${delay / SECOND} s`;
      console.error(`Worker ${entry.worker.process.pid} has exited: ${reason} A replacement starts ${when}.`);
      await sleep(delay, undefined, { signal: stopping.signal }).catch(() => {});
      if (stopping.signal.aborted) return;
    }
  }

  async function end(): Promise<void> {
    stopping.abort();
    const allEnded = Promise.all([...running].map(({ ended }) => ended));
    for (const { worker } of running) worker.process.kill('SIGTERM');
    await Promise.race([allEnded, sleep(STOP_TIMEOUT, undefined, { ref: false }), untilSecondSignal()]);
    const late = [...running];
    for (const { worker } of late) worker.process.kill('SIGKILL');
    await allEnded;
    if (late.length === 1) throw new WorkersFailed('1 worker did not stop in time and was killed.');
    if (late.length > 1) throw new WorkersFailed(`${late.length} workers did not stop in time and were killed.`);
  }

  return { start, respawn, end, outdated };
}

/** No delay after a stable run; exponential backoff in a crash loop. */
function nextDelay(last: number, uptime: number): number {
  return uptime > STABLE_AFTER ? 0 : Math.min(Math.max(2 * last, MIN_DELAY), MAX_DELAY);
}

function forkWorker(): PoolWorker {
  const worker = cluster.fork();
  let failure: Failure | undefined;
  const reportedReady = new Promise<void>((resolve) => {
    worker.on('message', (report: Report) => {
      if ('failure' in report) failure = report;
      else resolve();
    });
  });
  const ended = new Promise<Exit>((resolve) => {
    const end = (reason: string, isOutdated = false) => resolve({ reason, isOutdated });
    worker.once('exit', (code, signal) => {
      if (failure) end(failure.failure, failure.isOutdated);
      else end(`${signal ?? `exit code ${code}`}.`);
    });
    worker.on('error', (error) => {
      if (worker.process.pid === undefined) end(`it could not be started (${error.message}).`);
    });
  });
  const failed = ended.then(({ reason }) => {
    throw new WorkersFailed(failure?.failure ?? `A worker exited before it could serve: ${reason}`);
  });
  const ready = Promise.race([reportedReady, failed]);
  // Several workers may fail for the same reason; one error is reported.
  ready.catch(() => {});
  return { worker, startedAt: systemClock(), ready, ended };
}

/** Signals within the first second are duplicates: npm forwards the signal that the terminal sent to every process. */
async function untilSecondSignal(): Promise<void> {
  await sleep(SECOND, undefined, { ref: false });
  await untilStopped();
}

/** How long a worker may take to stop: longer than any of its own timeouts. */
const STOP_TIMEOUT = 30 * SECOND;

/** A message from a worker to the primary process. */
type Report = { isReady: true } | Failure;

interface Failure {
  failure: string;
  isOutdated: boolean;
}

async function serveAsWorker(settings: Settings): Promise<void> {
  const stopRequested = untilStopRequested();
  try {
    const { startServer } = await import('../server.ts');
    const server = await startServer(settings);
    await report({ isReady: true });
    flushCompileCache();
    await Promise.race([stopRequested, server.outdated]).catch(async (error) => {
      await server.close();
      throw error;
    });
    await server.close(DRAIN_TIMEOUT);
  } catch (error) {
    const sentence = explainServing(error);
    const failure = typeof sentence === 'string' ? sentence : inspect(error);
    await report({ failure, isOutdated: error instanceof OutdatedRelease });
  }
  exitSoon();
  if (process.connected) process.disconnect?.();
}

/**
 * A worker stops on SIGTERM, and when the primary process is gone. It ignores SIGINT: Ctrl+C reaches every process in the
 * terminal, and the primary process handles it.
 */
function untilStopRequested(): Promise<void> {
  process.on('SIGINT', () => {});
  return new Promise((resolve) => {
    process.on('SIGTERM', () => resolve());
    cluster.worker?.once('disconnect', () => {
      // Otherwise Node exits immediately.
      if (cluster.worker) cluster.worker.exitedAfterDisconnect = true;
      setTimeout(() => process.exit(1), STOP_TIMEOUT).unref();
      resolve();
    });
  });
}

/** Does nothing without a primary process. */
function report(message: Report): Promise<void> {
  return new Promise((resolve) => {
    process.send?.(message, undefined, undefined, () => resolve());
  });
}
