import cluster, { type Worker } from 'node:cluster';
import { setTimeout } from 'node:timers/promises';
import type { Settings } from '../config.ts';
import { MINUTE, SECOND, systemClock } from '../lib/clock.ts';
import { withStorage } from './command.ts';
import { WorkersFailed } from './explain.ts';
import { refuseDemoData, untilStopped } from './serve.ts';
import { ENDS_WITHIN, type Report, serveAsWorker } from './worker.ts';

/** A worker that dies within this of its start may well die again. */
const SOON = MINUTE;
const SHORTEST_DELAY = SECOND / 2;
const LONGEST_DELAY = 30 * SECOND;

/** Several processes on the same addresses and the same database. This one starts them, and serves nothing itself. */
export async function serveTogether(settings: Settings, env: NodeJS.ProcessEnv): Promise<void> {
  if (cluster.isWorker) return serveAsWorker(settings);
  const { baseUrl, consentUrl, workers } = settings;
  await withStorage(env, (storage) => refuseDemoData(storage, settings));
  // Before the first listener is open. From here on no signal ends this process by default, however many come.
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => {});
  const stopped = untilStopped();
  cluster.setupPrimary({ args: ['serve', '--workers', String(workers)] });
  const crew = newCrew();
  const members = Array.from({ length: workers }, () => crew.start());
  try {
    const allReady = Promise.all(members.map(({ ready }) => ready)).then(() => true);
    if (!(await Promise.race([allReady, stopped.then(() => false)]))) return;
    for (const member of members) crew.keepUp(member);
    console.error(`Gatehouse serves ${baseUrl} (API) and ${consentUrl} (web) with ${workers} workers.`);
    await stopped;
  } finally {
    await crew.end();
  }
}

/** One worker, from its start to its end. */
interface Member {
  worker: Worker;
  startedAt: number;
  /** Rejects with what the worker says if it ends before it serves. */
  ready: Promise<void>;
  /** Resolves with the reason. */
  ended: Promise<string>;
}

function newCrew() {
  const stopping = new AbortController();
  const living = new Set<Member>();

  function start(): Member {
    const member = startMember();
    living.add(member);
    member.ended.then(() => living.delete(member));
    return member;
  }

  /** Puts another in the place of each that ends, for as long as there is no end to it all. */
  async function keepUp(first: Member): Promise<void> {
    let delay = 0;
    for (let member = first; ; member = start()) {
      const reason = await member.ended;
      if (stopping.signal.aborted) return;
      delay = nextDelay(delay, systemClock() - member.startedAt);
      const when = delay === 0 ? 'now' : `in ${delay / SECOND} s`;
      console.error(`Worker ${member.worker.process.pid} has ended: ${reason} Another takes its place ${when}.`);
      await setTimeout(delay, undefined, { signal: stopping.signal }).catch(() => {});
      if (stopping.signal.aborted) return;
    }
  }

  async function end(): Promise<void> {
    stopping.abort();
    const allEnded = Promise.all([...living].map(({ ended }) => ended));
    for (const { worker } of living) worker.process.kill('SIGTERM');
    await Promise.race([allEnded, setTimeout(ENDS_WITHIN, undefined, { ref: false }), untilToldAgain()]);
    const late = [...living];
    for (const { worker } of late) worker.process.kill('SIGKILL');
    await allEnded;
    if (late.length === 1) throw new WorkersFailed('1 worker had not finished and was killed.');
    if (late.length > 1) throw new WorkersFailed(`${late.length} workers had not finished and were killed.`);
  }

  return { start, keepUp, end };
}

/** The first that dies after a good while is replaced at once; the more of them die young, the longer it takes. */
function nextDelay(last: number, livedFor: number): number {
  return livedFor > SOON ? 0 : Math.min(Math.max(2 * last, SHORTEST_DELAY), LONGEST_DELAY);
}

function startMember(): Member {
  const worker = cluster.fork();
  let refusal: string | undefined;
  const isReady = new Promise<void>((resolve) => {
    worker.on('message', (report: Report) => {
      if ('refusal' in report) refusal = report.refusal;
      else resolve();
    });
  });
  const ended = new Promise<string>((resolve) => {
    worker.once('exit', (code, signal) => resolve(refusal ?? `${signal ?? `exit code ${code}`}.`));
    worker.on('error', (error) => {
      if (worker.process.pid === undefined) resolve(`it could not be started (${error.message}).`);
    });
  });
  const failed = ended.then((reason) => {
    throw new WorkersFailed(refusal ?? `A worker ended before it could serve: ${reason}`);
  });
  const ready = Promise.race([isReady, failed]);
  // Of several that fail for one reason, one is heard.
  ready.catch(() => {});
  return { worker, startedAt: systemClock(), ready, ended };
}

/** What comes within a second is no second signal: npm passes on what the terminal has sent to everyone already. */
async function untilToldAgain(): Promise<void> {
  await setTimeout(SECOND, undefined, { ref: false });
  await untilStopped();
}
