import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePort } from '../test/support/ports.ts';
import { isReady } from '../test/support/ready.ts';
import { cpuTimeOf } from './cpu-usage.ts';
import { attach, type Inspector } from './inspector.ts';

const hasTaskset = spawnSync('taskset', ['--version']).status === 0;

/** For the report. */
export const PINNING = hasTaskset
  ? 'each contender on core 0, the load generator on core 1 (taskset)'
  : 'not pinned to cores: this machine has no taskset';

/** In milliseconds. */
const POLL_INTERVAL = 2;
const MAX_POLLS = 50;

/** CPU time between two polls, in nanoseconds. */
const IDLE_BELOW = 100_000;

const running = new Set<ChildProcess>();
const inspectorPorts = new Map<number, number>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/**
 * Pins the load generator to core 1. Its compiler and garbage collector threads get a low priority: otherwise they would
 * delay requests by milliseconds, which would be measured as latency of the server.
 */
export function pinMyself(): void {
  if (!hasTaskset) return;
  spawnSync('taskset', ['-a', '-p', '-c', '1', String(process.pid)]);
  const others = readdirSync('/proc/self/task')
    .map(Number)
    .filter((thread) => thread !== process.pid);
  for (const thread of others) setPriority(thread, constants.priority.PRIORITY_LOW);
}

/** Runs a program to its end. */
export async function runProgram([program = '', ...args]: string[], env: Record<string, string>): Promise<void> {
  await promisify(execFile)(program, args, { env: { PATH: process.env.PATH, ...env } }).catch((error) => {
    throw new Error(`${program} ${args.join(' ')} failed: ${error.stdout}${error.stderr}`);
  });
}

export interface Child {
  pid: number;
  stop(): Promise<void>;
}

/** Starts a server in Node.js on core 0, and waits until `readyUrl` responds with 200. */
export async function startChild(args: string[], env: Record<string, string>, readyUrl: string): Promise<Child> {
  const inspectorPort = await freePort();
  // Opened by `inspect`.
  const command = [process.execPath, `--inspect-port=127.0.0.1:${inspectorPort}`, ...args];
  const child = await startProgram(command, { NODE_ENV: 'production', ...env }, readyUrl);
  inspectorPorts.set(child.pid, inspectorPort);
  return child;
}

/** The same for any program. */
export async function startProgram(command: string[], env: Record<string, string>, readyUrl: string): Promise<Child> {
  const [program = '', ...rest] = hasTaskset ? ['taskset', '-c', '0', ...command] : command;
  const child = spawn(program, rest, {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output: string[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => output.push(text));
  running.add(child);
  child.once('exit', () => running.delete(child));
  while (!(await isReady(readyUrl))) {
    if (child.exitCode !== null)
      throw new Error(`${command.join(' ')} ended with ${child.exitCode}: ${output.join('')}`);
    await setTimeout(2);
  }
  return {
    // `taskset` replaces itself with the program, so this is the pid of the program.
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
 * Waits until a server is idle, for at most a tenth of a second, so that deferred work (timers, checkpoints, garbage
 * collection) is not measured. Waits for one poll where CPU time is unknown.
 */
export async function untilIdle(pid: number): Promise<void> {
  for (let poll = 0; poll < MAX_POLLS; poll += 1) {
    const before = cpuTimeOf(pid) ?? 0;
    await setTimeout(POLL_INTERVAL);
    if ((cpuTimeOf(pid) ?? 0) - before < IDLE_BELOW) return;
  }
}

/** The process may be slower from then on. */
export async function inspect(pid: number): Promise<Inspector> {
  const port = inspectorPorts.get(pid) ?? 0;
  process.kill(pid, 'SIGUSR1');
  while (!(await isReady(`http://127.0.0.1:${port}/json/version`))) await setTimeout(20);
  return attach(port);
}

/** Only one contender runs at a time. */
export function pause(pid: number): void {
  process.kill(pid, 'SIGSTOP');
}

export function resume(pid: number): void {
  process.kill(pid, 'SIGCONT');
}
