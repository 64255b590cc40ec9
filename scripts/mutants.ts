// `npm run mutants`: applies each mutation of test/security/mutations to a copy of this checkout, and expects a test with
// the tag of the broken promise to fail. `-- --only T12` or `-- --only T` runs a part. The checkout is never changed.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { applyTo, type Mutation } from '../test/security/mutations/mutation.ts';
import { MUTATIONS } from '../test/security/mutations/mutations.ts';
import { createTemplate, startPostgres } from '../test/support/postgres-server.ts';

const WORKERS = 2;
/** A mutation may make a test wait forever. */
const TEST_TIMEOUT_MS = 60_000;
const RUN_TIMEOUT_MS = 180_000;
const NOT_COPIED = ['node_modules', '.git'];

type Verdict = 'caught' | 'survived' | 'stale' | 'no test ran';

const HOME = fileURLToPath(new URL('..', import.meta.url));
const { values } = parseArgs({ options: { only: { type: 'string' } } });
const chosen = MUTATIONS.filter(({ promise }) => isChosen(promise, values.only));
if (chosen.length === 0) {
  console.error(`No mutation breaks ${values.only}.`);
  process.exit(1);
}

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-mutants-'));
const running = new Set<ChildProcess>();
process.on('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    for (const child of running) killGroup(child);
    void (postgres?.remove() ?? Promise.resolve()).finally(() => process.exit(1));
  });
}

const postgres = chosen.some(({ database }) => database === 'postgres') ? await startPostgres() : undefined;
if (postgres) await createTemplate(postgres.url);
const copies = Array.from({ length: WORKERS }, (_, number) => copyCheckout(join(folder, String(number))));
if (await passesUnmodified()) report(await inParallel(chosen, judge));
else process.exitCode = 1;
await postgres?.remove();

function isChosen(promise: string, only: string | undefined): boolean {
  return only === undefined || promise === only || (/^[A-Z]$/.test(only) && promise.startsWith(only));
}

function copyCheckout(to: string): string {
  const isCopied = (path: string) => !NOT_COPIED.includes(relative(HOME, path));
  cpSync(HOME, to, { recursive: true, filter: isCopied });
  symlinkSync(realpathSync(join(HOME, 'node_modules')), join(to, 'node_modules'));
  mkdirSync(join(to, 'results'));
  return to;
}

/** A test that fails without a mutation shows nothing about the mutation. */
async function passesUnmodified(): Promise<boolean> {
  const keyOf = ({ promise, tests, database }: Mutation) => JSON.stringify([promise, tests, database]);
  const runs = [...new Map(chosen.map((mutation) => [keyOf(mutation), mutation])).values()];
  console.log(`Checking that the tests pass without a mutation: ${runs.length} runs.`);
  const results = await inParallel(runs, async (copy, mutation) => ({
    ...mutation,
    ...(await runTests(copy, mutation)),
  }));
  const bad = results.filter(({ failed, ran }) => failed.length > 0 || ran === 0);
  for (const { promise, failed, ran } of bad) {
    console.error(`${promise}: ${ran === 0 ? 'no test with this tag ran' : `fails unmodified: ${failed.join(', ')}`}`);
  }
  return bad.length === 0;
}

async function judge(copy: string, mutation: Mutation, index: number): Promise<Verdict> {
  const verdict = await tryMutation(copy, mutation);
  console.log(`${index + 1} of ${chosen.length}: ${mutation.promise}, ${mutation.breaks}: ${verdict}`);
  return verdict;
}

async function tryMutation(copy: string, mutation: Mutation): Promise<Verdict> {
  const path = join(copy, mutation.file);
  const original = readFileSync(path, 'utf8');
  try {
    writeFileSync(path, applyTo(copy, mutation));
  } catch (error) {
    console.error((error as Error).message);
    return 'stale';
  }
  try {
    const { ran, failed } = await runTests(copy, mutation);
    if (failed.length > 0) return 'caught';
    return ran === 0 ? 'no test ran' : 'survived';
  } finally {
    writeFileSync(path, original);
  }
}

/** Runs the tests with the tag of the promise, and says which of them failed. */
async function runTests(
  copy: string,
  { promise, tests, database }: Mutation,
): Promise<{ ran: number; failed: string[] }> {
  const results = join(copy, 'results', 'last.jsonl');
  writeFileSync(results, '');
  const options = [
    `--test-name-pattern=\\[${promise}\\]`,
    `--test-timeout=${TEST_TIMEOUT_MS}`,
    '--test-reporter=./scripts/test/results.mjs',
    `--test-reporter-destination=${results}`,
  ];
  const TEST_DATABASE_URL = database === 'postgres' ? postgres?.url : undefined;
  const env = { ...process.env, TEST_DATABASE_URL, NODE_COMPILE_CACHE: join(folder, 'cache') };
  const child = spawn(process.execPath, ['--test', ...options, ...tests], {
    cwd: copy,
    env,
    stdio: 'ignore',
    detached: true,
  });
  running.add(child);
  const timer = setTimeout(() => killGroup(child), RUN_TIMEOUT_MS);
  await once(child, 'close');
  clearTimeout(timer);
  running.delete(child);
  const lines = readFileSync(results, 'utf8').split('\n').filter(Boolean);
  const tagged = lines
    .map((line): { name: string; isPassed: boolean } => JSON.parse(line))
    .filter(({ name }) => name.includes(`[${promise}]`));
  return { ran: tagged.length, failed: tagged.filter(({ isPassed }) => !isPassed).map(({ name }) => name) };
}

/** Each copy takes the next item until there is none left. */
async function inParallel<Item, Result>(
  items: Item[],
  work: (copy: string, item: Item, index: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  await Promise.all(
    copies.map(async (copy) => {
      for (let index = next++; index < items.length; index = next++) {
        results[index] = await work(copy, items[index] as Item, index);
      }
    }),
  );
  return results;
}

function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // All processes of the group have ended.
  }
}

function report(verdicts: Verdict[]): void {
  console.log('\n| promise | mutation | verdict |\n|---|---|---|');
  for (const [index, { promise, breaks }] of chosen.entries()) {
    console.log(`| ${promise} | ${breaks} | ${verdicts[index]} |`);
  }
  const escaped = verdicts.filter((verdict) => verdict !== 'caught').length;
  console.log(`\n${chosen.length - escaped} of ${chosen.length} mutations were caught.`);
  process.exitCode = escaped > 0 ? 1 : 0;
}
