// `npm run faults`: the long form of test/faults, one file after the other, with a word now and then on how far it is.
// `npm run faults -- kills races` runs only what is so called. Ctrl+C ends it all, and leaves nothing behind.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const LONG = { TEST_FAULT_KILLS: '1000', TEST_ROUNDS: '1000' };
/** So long what was told to stop may take to clean up. */
const PATIENCE = 10_000;

const home = fileURLToPath(new URL('..', import.meta.url));
const wanted = process.argv.slice(2);
const files = globSync('test/faults/*.test.ts', { cwd: home })
  .sort()
  .filter((file) => wanted.length === 0 || wanted.includes(basename(file, '.test.ts')));
if (files.length === 0) throw new Error(`There is no ${wanted.join(', ')} among the faults.`);

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

/** In a group of its own, so that a signal reaches everything that it has started. */
async function run(file: string): Promise<boolean> {
  const env = { ...LONG, ...process.env, TMPDIR: folder };
  running = spawn(process.execPath, [file], { cwd: home, env, stdio: 'inherit', detached: true });
  const [code] = await once(running, 'close');
  return code === 0;
}

async function stop(): Promise<void> {
  isStopped = true;
  const group = -(running?.pid ?? 0);
  if (group === 0 || running?.exitCode !== null) return;
  signalGroup(group, 'SIGINT');
  setTimeout(() => signalGroup(group, 'SIGKILL'), PATIENCE).unref();
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
