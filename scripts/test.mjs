// `npm test` runs the unit and HTTP tests on SQLite. The folder of a test decides its lane:
//   a folder in test/lanes.ts   the lane named there: `npm test -- cli` and so on
//   test/http                    `npm test` on SQLite, and once more on PostgreSQL in `npm test -- postgres`
//   all other tests              `npm test`
// `npm test -- all` runs every lane, and searches all logs for the secrets that the tests have seen.
// `npm test -- postgres test/http/oauth` runs these tests of a lane only.
// `npm test -- test/http/oauth` runs files or folders of any lane, on PostgreSQL if TEST_DATABASE_URL names a server.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
} from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { reportLeaks } from '../test/support/leak-report.ts';
import { createPostgresData, createTemplate, startPostgres } from '../test/support/postgres-server.ts';
import { FIRST, LANE_NAMES, LANES, ON_DISK, SHARED_FOLDERS, WITH_BUNDLE, WITH_POSTGRES } from './test/lanes.ts';
import { buildBundle, COMPILE_CACHE, fillCompileCache } from './test/prepare.ts';
import { startProgress } from './test/progress.ts';

/** test/node_modules has packages that come with their own tests. */
const PACKAGES = ['**/node_modules/**'];
/** Many tests wait for processes that they have started, or for time to pass. */
const PROCESSES = availableParallelism() + 3;
/** A disk in memory, if the system has one: most tests would wait for fsync. Programs may not run from it. */
const MEMORY = '/dev/shm';
const ROOM = 2 ** 32;
/** The HTTP tests never kill their PostgreSQL, and their databases are dropped before they need a vacuum. */
const FAST_POSTGRES = ['full_page_writes=off', 'autovacuum=off'];

const { TEST_DATABASE_URL: databaseServer, TEST_RESULTS, ...usualEnv } = process.env;
const disk = tmpdir();
const fastDisk = hasRoom(MEMORY) ? MEMORY : disk;
const folder = mkdtempSync(join(fastDisk, 'gatehouse-tests-'));
const databases = join(folder, 'tmp');
mkdirSync(databases);
const results = TEST_RESULTS ?? folder;
mkdirSync(results, { recursive: true });
let runs = 0;
const children = new Set();
let isStopped = false;
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, stop);

const given = process.argv.slice(2);
const [lane, ...chosen] = given;
if (!existsSync(COMPILE_CACHE)) {
  console.log('Compiling the sources, once in this checkout …');
  await fillCompileCache(usualEnv, folder);
}
process.exitCode = await runGiven();
rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 });

async function runGiven() {
  if (given.length === 0) return runParts(usualParts(usualEnv));
  if (WITH_BUNDLE.includes(lane)) {
    console.log('Building the bundle …');
    usualEnv.TEST_PROGRAM = await buildBundle(usualEnv, folder);
  }
  if (WITH_POSTGRES.includes(lane)) return withPostgresData(runLane);
  if (Object.hasOwn(LANES, lane)) return runLane(usualEnv);
  const files = findTests(given);
  if (files.length > PROCESSES) return runParts(sharedParts('Tests', files, process.env));
  if (files.length > 0) return runFiles(files, process.env);
  console.error(`No lane, folder or file of tests is called ${given.join(' ')}. The lanes: ${LANE_NAMES}.`);
  return 1;
}

/** What is left of the run ends in order, and removes its folders. */
function stop(signal) {
  isStopped = true;
  for (const child of children) child.kill(signal);
}

/** Each PostgreSQL of the run starts with a copy of this folder. */
async function withPostgresData(run) {
  console.log('Creating a PostgreSQL database …');
  const { data, remove } = await createPostgresData();
  const variables = { TEST_POSTGRES_DATA: data, TEST_POSTGRES_FOLDER: fastDisk };
  Object.assign(process.env, variables);
  try {
    return await run({ ...usualEnv, ...variables });
  } finally {
    remove();
  }
}

async function runLane(env) {
  if (lane === 'all') return runAll({ ...env, TEST_LEAKS: folder });
  if (lane === 'postgres') return withPostgres(env, (http) => runParts([...laneParts(lane, env), ...http]));
  return runParts(laneParts(lane, env));
}

async function runAll(env) {
  const lanes = Object.keys(LANES).flatMap((name) => laneParts(name, env));
  const status = await withPostgres(env, (http) => runParts([...lanes, ...http, ...usualParts(env)]));
  return Math.max(status, reportLeaks(folder));
}

function usualParts(env) {
  const inLanes = findTests(Object.values(LANES).flat());
  const files = findTests(['test']).filter((file) => !inLanes.includes(file));
  return sharedParts('Unit and HTTP tests, on SQLite', files, env);
}

/** The HTTP tests send forms here and JSON on SQLite, so that both are tried with all of them. */
async function withPostgres(env, run) {
  const server = databaseServer ? { url: databaseServer, remove: async () => {} } : await startPostgres(FAST_POSTGRES);
  try {
    await createTemplate(server.url);
    const variables = { ...env, TEST_DATABASE_URL: server.url, TEST_BODIES: 'form' };
    return await run(sharedParts('HTTP tests, on PostgreSQL', findInLane(['test/http']), variables));
  } finally {
    await server.remove();
  }
}

function findTests(paths) {
  return paths.flatMap((path) =>
    path.endsWith('.ts') ? [path] : globSync(`${path}/**/*.test.ts`, { exclude: PACKAGES }).sort(),
  );
}

/** The tests of a lane that are below the given files and folders; without any, all. */
function findInLane(paths) {
  const files = findTests(paths);
  if (chosen.length === 0) return files;
  const wanted = findTests(chosen);
  return files.filter((file) => wanted.includes(file));
}

/** Single files first, so that all cores work until the end. */
function laneParts(name, env) {
  const files = findInLane(LANES[name]);
  const shared = files.filter((file) => SHARED_FOLDERS.some((folder) => file.startsWith(folder)));
  const single = files.filter((file) => !shared.includes(file));
  return [
    ...single.map((file) => ({ title: file, files: [file], env: { ...env, TEST_TAKEN: createTaken() } })),
    ...sharedParts(`Tests of ${name}`, shared, env),
  ];
}

/**
 * Several processes that share these files: each takes the next one until none is left. The output of such a process is
 * the log of its servers. If the logs are searched for secrets, the level is `trace`.
 */
function sharedParts(title, files, env) {
  const count = Math.min(PROCESSES, files.length);
  const bySize = files.toSorted((one, other) => statSync(other).size - statSync(one).size);
  const first = FIRST.flatMap((folder) => bySize.filter((file) => file.startsWith(folder)));
  const sorted = [...new Set([...first, ...bySize])];
  const variables = { ...(env.TEST_LEAKS && { TEST_LOG_LEVEL: 'trace' }), ...env, TEST_TAKEN: createTaken() };
  return Array.from({ length: count }, (_, part) => ({
    title: `${title}, process ${part + 1} of ${count}`,
    files: sorted,
    env: variables,
  }));
}

/** For the marks of the files that have begun and ended. */
function createTaken() {
  const taken = join(folder, `taken-${++runs}`);
  for (const name of ['begun', 'ended']) mkdirSync(join(taken, name), { recursive: true });
  return taken;
}

function listMarked(taken, name, files) {
  return readdirSync(join(taken, name)).map((index) => files[index]);
}

function listRunning(taken, files) {
  const ended = listMarked(taken, 'ended', files);
  return listMarked(taken, 'begun', files).filter((file) => !ended.includes(file));
}

/** Runs several at a time. Prints failed tests at once, and how far the run is. */
async function runParts(parts) {
  const groups = [...new Map(parts.map(({ files, env }) => [env.TEST_TAKEN, files]))];
  const total = groups.flatMap(([, files]) => files).length;
  const files = {
    total,
    countEnded: () => groups.flatMap(([taken, files]) => listMarked(taken, 'ended', files)).length,
    listRunning: () => groups.flatMap(([taken, files]) => listRunning(taken, files)),
  };
  console.log(`Running the tests of ${total} files in ${PROCESSES} processes …`);
  const progress = startProgress({ results, files, output: process.stdout });
  const waiting = [...parts];
  const statuses = [0];
  const work = async () => {
    for (let part = waiting.shift(); part; part = waiting.shift()) statuses.push(await runPart(part, progress));
  };
  await Promise.all(Array.from({ length: PROCESSES }, work));
  progress.end();
  return Math.max(...statuses);
}

/** The report of a process says why it failed if none of its tests did. */
async function runPart({ title, files, env }, progress) {
  if (isStopped) return 1;
  if (listMarked(env.TEST_TAKEN, 'begun', files).length === files.length) return 0;
  const name = ++runs;
  const report = join(folder, `report-${name}`);
  const log = openSync(join(folder, `log-part-${name}`), 'w');
  const result = join(results, `results-${name}.jsonl`);
  const reporters = [...reportTo('spec', report), ...reportTo('./scripts/test/results.mjs', result)];
  const status = await runNode([...reporters, './scripts/test/files.mjs'], files, env, log);
  closeSync(log);
  if (status !== 0 && !isStopped && !readIfThere(result).includes('"error":')) {
    progress.print(`✖ ${title} ended with ${status}:\n${readIfThere(report)}`);
  }
  return status;
}

/** A process for which no file was left writes nothing. */
function readIfThere(path) {
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}

/** Starts a process for each file, and prints its output immediately. */
async function runFiles(files, env) {
  const options = ['--test', `--test-concurrency=${PROCESSES}`, ...reportTo('spec', 'stdout')];
  if (TEST_RESULTS) options.push(...reportTo('./scripts/test/results.mjs', join(results, 'results.jsonl')));
  return runNode(options, files, env, 'inherit');
}

async function runNode(options, files, env, stdout) {
  const child = spawn(process.execPath, [...options, ...files], {
    stdio: ['inherit', stdout, 'inherit'],
    env: { NODE_COMPILE_CACHE: COMPILE_CACHE, ...env, TMPDIR: files.some(needsDisk) ? disk : databases },
  });
  children.add(child);
  const [code] = await once(child, 'close');
  children.delete(child);
  return code ?? 1;
}

function needsDisk(file) {
  return ON_DISK.some((name) => file.startsWith(`test/${name}/`));
}

function hasRoom(path) {
  try {
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize > ROOM;
  } catch {
    return false;
  }
}

function reportTo(reporter, destination) {
  return [`--test-reporter=${reporter}`, `--test-reporter-destination=${destination}`];
}
