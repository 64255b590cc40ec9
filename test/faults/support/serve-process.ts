import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { after } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { CHILD_LOG_LEVEL, openChildLog, rememberSecret } from '../../support/leaks.ts';
import { freePort } from '../../support/ports.ts';
import { PROGRAM } from '../../support/program.ts';

const POLL_INTERVAL = 10;
export const KEY = 'the-key-that-the-tests-sign-their-tokens-with';

export interface Addresses {
  api: string;
  web: string;
}

export async function newAddresses(): Promise<Addresses> {
  return { api: `http://127.0.0.1:${await freePort()}`, web: `http://localhost:${await freePort()}` };
}

export interface ServeOptions {
  args?: string[];
  env?: Record<string, string>;
  /** A command before `node`, and options of `node`. */
  before?: string[];
  preload?: string;
  /** The destination of its log, if the test is about that. */
  stdout?: number | 'pipe';
}

export type ServeProcess = ReturnType<typeof createServeProcess>;

const running = new Set<ChildProcess>();
process.once('exit', () => running.forEach(end));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

/** A new process group, so that one signal reaches all processes. */
function end({ pid }: ChildProcess): void {
  try {
    if (pid) process.kill(-pid, 'SIGKILL');
  } catch {
    // It has exited already.
  }
}

/** Resolves when the server is ready. */
async function timeUntilReady(api: string, serves: Promise<void>): Promise<number> {
  const began = performance.now();
  let isServing = false;
  const noted = serves.catch(() => {}).then(() => (isServing = true));
  while (!isServing) {
    const response = await fetch(`${api}/readyz`, { signal: AbortSignal.timeout(1000) }).catch(() => undefined);
    await response?.body?.cancel();
    if (response?.ok) break;
    await Promise.race([setTimeout(POLL_INTERVAL), noted]);
  }
  return performance.now() - began;
}

/** The real `serve` in a child process that can be killed and restarted at the same addresses. */
export function createServeProcess(
  { api, web }: Addresses,
  databaseUrl: string,
  { args = [], env = {}, before = [], preload, stdout }: ServeOptions = {},
) {
  let child: ChildProcess | undefined;
  let stderr = '';
  const [program = '', ...rest] = [
    ...before,
    process.execPath,
    ...(preload ? ['--import', preload] : []),
    PROGRAM,
    'serve',
    ...args,
  ];

  // `before` may limit the size of files, and the log must not reach that limit.
  const isWatched = before.length === 0;
  rememberSecret('key', KEY);

  function launch(): ChildProcess {
    stderr = '';
    const launched = spawn(program, rest, {
      detached: true,
      stdio: ['ignore', stdout ?? (isWatched ? openChildLog() : 'ignore'), 'pipe'],
      env: {
        PATH: process.env.PATH,
        BASE_URL: api,
        CONSENT_URL: web,
        DATABASE_URL: databaseUrl,
        SECRET_KEYS: KEY,
        LIMIT_PER_USER: '1000000',
        LIMIT_CHANGES_PER_USER: '1000000',
        LOG_LEVEL: isWatched ? CHILD_LOG_LEVEL : 'silent',
        ...env,
      },
    });
    running.add(launched);
    launched.once('close', () => running.delete(launched));
    launched.stderr?.on('data', (chunk) => {
      stderr += chunk;
      launched.emit('output');
    });
    child = launched;
    return launched;
  }

  const serving = {
    api,
    web,
    /** The stderr of the last process. */
    stderr: () => stderr,
    pid: () => child?.pid ?? 0,
    /** Its log, if it goes to a pipe. */
    stdout: () => child?.stdout as Readable,
    /** Waits until it is ready. Returns the start time in milliseconds. */
    async start(): Promise<number> {
      const launched = launch();
      const all = new Promise<void>((resolve, reject) => {
        launched.on('output', () => stderr.includes('Gatehouse serves') && resolve());
        launched.once('close', (code, signal) => reject(new Error(`serve ended with ${code ?? signal}: ${stderr}`)));
      });
      const [readyAfter] = await Promise.all([timeUntilReady(api, all), all]);
      return readyAfter;
    },
    /** For a start that should fail. Returns its exit code and output. */
    async expectRejection(): Promise<{ code: number | null; stderr: string }> {
      const launched = launch();
      launched.on('output', () => stderr.includes('Gatehouse serves') && end(launched));
      const [code] = await once(launched, 'close');
      return { code, stderr };
    },
    /** For a process that exits without a signal. Returns its exit code and stderr. */
    async waitForExit(): Promise<{ code: number | null; stderr: string }> {
      const [code] = await once(launch(), 'close');
      return { code, stderr };
    },
    /** Starts it without waiting. */
    launch: () => void launch(),
    async kill(): Promise<void> {
      if (!child || child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'close');
      end(child);
      await ended;
    },
    async stop(): Promise<number | null> {
      if (!child || child.exitCode !== null || child.signalCode !== null) return child?.exitCode ?? null;
      // A pipe that the test does not read would delay `close`.
      const ended = once(child, stdout === 'pipe' ? 'exit' : 'close');
      child.kill('SIGTERM');
      await ended;
      return child.exitCode;
    },
  };
  after(() => serving.kill());
  return serving;
}
