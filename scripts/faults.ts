// `npm run faults`: test/faults, one file after the other, with a word now and then on how far it is. `-- --help` says in
// which forms. Ctrl+C ends it all, and leaves nothing behind.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const USUAL = { TEST_FAULT_KILLS: '250', TEST_ROUNDS: '400' };
const LONG = { TEST_FAULT_KILLS: '1000', TEST_ROUNDS: '1000' };
/** Half of all restarts have to be ready within so many milliseconds. */
const PROMISE = { TEST_READY_WITHIN: '2000' };
/** How long a process may take to stop after SIGINT, in milliseconds. */
const STOP_TIMEOUT = 10_000;

const home = fileURLToPath(new URL('..', import.meta.url));
const all = globSync('test/faults/*.test.ts', { cwd: home }).sort();
const names = all.map(nameOf);
const { form, files } = readArguments(process.argv.slice(2));

/** Whatever is left in here goes at the end, also of what was killed. PostgreSQL may run as another user: it may pass. */
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-all-faults-'));
chmodSync(folder, 0o755);
let running: ChildProcess | undefined;
let isStopped = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void stop());

const began = performance.now();
const failed: string[] = [];
for (const [place, file] of files.entries()) {
  if (isStopped) break;
  console.log(`\n${place + 1} of ${files.length}: ${file}, after ${seconds()} s`);
  if (!(await run(file)) && !isStopped) failed.push(file);
}
// PostgreSQL may still be about to end, and write what it has to.
rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 });
if (isStopped) console.log(`\nStopped after ${seconds()} s.`);
else console.log(`\n${files.length - failed.length} of ${files.length} held, in ${seconds()} s.`);
for (const file of failed) console.log(`It did not: ${file}`);
process.exitCode = failed.length > 0 || isStopped ? 1 : 0;

function readArguments(given: string[]) {
  const [options, wanted] = [given.filter(isOption), given.filter((each) => !isOption(each))];
  if (options.includes('--help')) leave(help(), 0);
  const strange = options.find((option) => option !== '--long');
  if (strange) leave(`There is no option ${strange}: there are --long and --help.`, 1);
  const unknown = wanted.find((name) => !names.includes(name));
  if (unknown) leave(`There is no ${unknown} among the faults: there are ${names.join(', ')}.`, 1);
  return {
    form: options.length > 0 ? LONG : USUAL,
    files: all.filter((file) => wanted.length === 0 || wanted.includes(nameOf(file))),
  };
}

function isOption(argument: string): boolean {
  return argument.startsWith('-');
}

function nameOf(file: string): string {
  return basename(file, '.test.ts');
}

function leave(sentence: string, code: number): never {
  console[code === 0 ? 'log' : 'error'](sentence);
  process.exit(code);
}

function help(): string {
  const sizes = ({ TEST_FAULT_KILLS: kills, TEST_ROUNDS: rounds }: typeof LONG) => `${kills} kills, ${rounds} rounds`;
  return `Breaks a running Gatehouse, and holds it to every answer that it gave.

npm run faults                  ${sizes(USUAL)} of each race: about 10 minutes on two cores
npm run faults -- --long        ${sizes(LONG)} of each race: about half an hour
npm run faults -- kills races   only these, in either form; there are ${names.join(', ')}

TEST_FAULT_KILLS and TEST_ROUNDS set other sizes. It fails, too, if half of the restarts take longer than
TEST_READY_WITHIN, which is ${PROMISE.TEST_READY_WITHIN} ms unless set.`;
}

/** In a group of its own, so that a signal reaches everything that it has started. */
async function run(file: string): Promise<boolean> {
  const env = { ...form, ...PROMISE, ...process.env, TMPDIR: folder };
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
    // All of it has ended.
  }
}

function seconds(): number {
  return Math.round((performance.now() - began) / 1000);
}
