// `npm run faults`: runs the files of test/faults one after the other, and prints its progress. `-- --help` lists the options.
// Ctrl+C stops all processes and removes all files.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const DEFAULT = { TEST_FAULT_KILLS: '250', TEST_ROUNDS: '400', TEST_JOB_POINTS: '5' };
const LONG = { TEST_FAULT_KILLS: '1000', TEST_ROUNDS: '1000', TEST_JOB_POINTS: '20' };
/** The longest median time until a restarted server is ready, in milliseconds. */
const READY_LIMIT = { TEST_READY_WITHIN: '2000' };
/** How long a process may take to stop after SIGINT, in milliseconds. */
const STOP_TIMEOUT = 10_000;

const home = fileURLToPath(new URL('..', import.meta.url));
const all = globSync('test/faults/*.test.ts', { cwd: home }).sort();
const names = all.map(nameOf);
const { sizes, files } = readArguments(process.argv.slice(2));

/** For all temporary files, also those of killed processes. PostgreSQL may run as another user, who needs access. */
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-all-faults-'));
chmodSync(folder, 0o755);
let running: ChildProcess | undefined;
let isStopped = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void stop());

const began = performance.now();
const failed: string[] = [];
for (const [index, file] of files.entries()) {
  if (isStopped) break;
  console.log(`\n${index + 1} of ${files.length}: ${file}, after ${seconds()} s`);
  if (!(await run(file)) && !isStopped) failed.push(file);
}
// PostgreSQL may still be writing files while it stops.
rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 });
if (isStopped) console.log(`\nStopped after ${seconds()} s.`);
else console.log(`\n${files.length - failed.length} of ${files.length} passed, in ${seconds()} s.`);
for (const file of failed) console.log(`Failed: ${file}`);
process.exitCode = failed.length > 0 || isStopped ? 1 : 0;

function readArguments(given: string[]) {
  const [options, wanted] = [given.filter(isOption), given.filter((each) => !isOption(each))];
  if (options.includes('--help')) exit(help(), 0);
  const unknownOption = options.find((option) => option !== '--long');
  if (unknownOption) exit(`Unknown option ${unknownOption}. Use --long or --help.`, 1);
  const unknown = wanted.find((name) => !names.includes(name));
  if (unknown) exit(`Unknown file ${unknown}. Use ${names.join(', ')}.`, 1);
  return {
    sizes: options.length > 0 ? LONG : DEFAULT,
    files: all.filter((file) => wanted.length === 0 || wanted.includes(nameOf(file))),
  };
}

function isOption(argument: string): boolean {
  return argument.startsWith('-');
}

function nameOf(file: string): string {
  return basename(file, '.test.ts');
}

function exit(sentence: string, code: number): never {
  console[code === 0 ? 'log' : 'error'](sentence);
  process.exit(code);
}

function help(): string {
  const describe = ({ TEST_FAULT_KILLS: kills, TEST_ROUNDS: rounds, TEST_JOB_POINTS: points }: typeof LONG) =>
    `${kills} kills, ${points} points of each job, ${rounds} rounds`;
  return `Injects faults into a running Gatehouse, and checks that it keeps what it has confirmed.

npm run faults                  ${describe(DEFAULT)} of each race: about 10 minutes on two cores
npm run faults -- --long        ${describe(LONG)} of each race: about half an hour
npm run faults -- kills races   only these files; also with --long: ${names.join(', ')}

TEST_FAULT_KILLS, TEST_JOB_POINTS and TEST_ROUNDS set other sizes. The run fails if the median restart takes
longer than TEST_READY_WITHIN (default: ${READY_LIMIT.TEST_READY_WITHIN} ms).`;
}

/** In its own process group, so that a signal reaches its child processes, too. */
async function run(file: string): Promise<boolean> {
  const env = { ...sizes, ...READY_LIMIT, ...process.env, TMPDIR: folder };
  running = spawn(process.execPath, [file], { cwd: home, env, stdio: 'inherit', detached: true });
  const [code] = await once(running, 'close');
  return code === 0;
}

async function stop(): Promise<void> {
  isStopped = true;
  const group = -(running?.pid ?? 0);
  if (group === 0 || running?.exitCode !== null) return;
  signalGroup(group, 'SIGINT');
  setTimeout(() => signalGroup(group, 'SIGKILL'), STOP_TIMEOUT).unref();
}

function signalGroup(group: number, signal: NodeJS.Signals): void {
  try {
    process.kill(group, signal);
  } catch {
    // All processes of the group have ended.
  }
}

function seconds(): number {
  return Math.round((performance.now() - began) / 1000);
}
