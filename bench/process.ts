import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import { freePort } from '../test/support/ports.ts';
import { attach, type Inspector } from './inspector.ts';
import { cpuTimeOf } from './usage.ts';

const hasTaskset = spawnSync('taskset', ['--version']).status === 0;

/** Contenders work on the first core, the load on the second; what is said of it where that cannot be. */
export const PINNING = hasTaskset
  ? 'each contender on core 0, the load on core 1 (taskset)'
  : 'not pinned to cores: this machine has no taskset';

/** In milliseconds. */
const LOOKS_EVERY = 2;
const MOST_LOOKS = 50;

/** Nanoseconds of work between two looks. */
const IDLE_BELOW = 100_000;

const running = new Set<ChildProcess>();
const inspectorPorts = new Map<number, number>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/**
 * Whatever this process itself does from now on it does on core 1. What compiles or tidies up in other threads gives way: by
 * turns with them, the load would send requests some milliseconds late, and those would look like the server's.
 */
export function pinMyself(): void {
  if (!hasTaskset) return;
  spawnSync('taskset', ['-a', '-p', '-c', '1', String(process.pid)]);
  const others = readdirSync('/proc/self/task')
    .map(Number)
    .filter((thread) => thread !== process.pid);
  for (const thread of others) setPriority(thread, constants.priority.PRIORITY_LOW);
}

export interface Child {
  pid: number;
  stop(): Promise<void>;
}

/** Starts a server on core 0, and waits until its address answers with 200. */
export async function startChild(args: string[], env: Record<string, string>, readyUrl: string): Promise<Child> {
  const inspectorPort = await freePort();
  // Nobody listens there before `inspect` is called.
  const command = [process.execPath, `--inspect-port=127.0.0.1:${inspectorPort}`, ...args];
  const [program = '', ...rest] = hasTaskset ? ['taskset', '-c', '0', ...command] : command;
  const child = spawn(program, rest, {
    env: { PATH: process.env.PATH, NODE_ENV: 'production', ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const said: string[] = [];
  child.stderr.setEncoding('utf8').on('data', (text) => said.push(text));
  running.add(child);
  inspectorPorts.set(child.pid ?? 0, inspectorPort);
  child.once('exit', () => running.delete(child));
  while (!(await isReady(readyUrl))) {
    if (child.exitCode !== null) throw new Error(`${args.join(' ')} ended with ${child.exitCode}: ${said.join('')}`);
    await setTimeout(2);
  }
  return {
    // `taskset` becomes the program that it starts, so this is the program's own.
    pid: child.pid ?? 0,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGCONT');
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/**
 * Waits until a server is done with what it has put off, for at most a tenth of a second: what came due while it was
 * halted, or what is left of making codes and tokens, a log to be worked in or garbage, should not fall into what is
 * measured next. Where the system does not tell, it waits for one look.
 */
export async function untilIdle(pid: number): Promise<void> {
  for (let look = 0; look < MOST_LOOKS; look += 1) {
    const before = cpuTimeOf(pid) ?? 0;
    await setTimeout(LOOKS_EVERY);
    if ((cpuTimeOf(pid) ?? 0) - before < IDLE_BELOW) return;
  }
}

/** What is inspected may be slower from then on. */
export async function inspect(pid: number): Promise<Inspector> {
  const port = inspectorPorts.get(pid) ?? 0;
  process.kill(pid, 'SIGUSR1');
  while (!(await isReady(`http://127.0.0.1:${port}/json/version`))) await setTimeout(20);
  return attach(port);
}

async function isReady(url: string): Promise<boolean> {
  return fetch(url, { signal: AbortSignal.timeout(1000) }).then(
    ({ status }) => status === 200,
    () => false,
  );
}

/** Only one contender runs at a time: what another still has to tidy up is done on its own time. */
export function halt(pid: number): void {
  process.kill(pid, 'SIGSTOP');
}

export function resume(pid: number): void {
  process.kill(pid, 'SIGCONT');
}
