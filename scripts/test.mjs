// `npm test` runs the unit and HTTP tests on SQLite. The folder of a test decides its lane:
//   test/postgres, test/nodes, test/faults, test/browser, test/sdk, test/guides   `npm run test:nodes` and so on
//   test/http        on SQLite in `npm test`, and once more on PostgreSQL in `npm run test:postgres`
//   all other tests  `npm test`
// `npm run test:all` runs every lane, and searches all logs for the secrets that the tests have seen.
// `npm test -- test/http/oauth` runs files or folders of any lane, on PostgreSQL if TEST_DATABASE_URL names a server.
import { spawn } from 'node:child_process';
import { closeSync, globSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { reportLeaks } from '../test/support/leak-report.ts';
import { createTemplate, startPostgres } from '../test/support/postgres-server.ts';

/** Their tests start processes of their own and mostly wait for them: a process for each file, and many at once. */
const PROCESS_LANES = ['faults', 'nodes', 'browser', 'guides', 'sdk'];
const LANES = ['postgres', ...PROCESS_LANES];
const FILES_AT_ONCE = 4;
/** Loading the server takes longer than most of these files, so they share processes. Their servers run until a process ends. */
const SHARED = ['http', 'lib', 'reference', 'security'];
const FILES_PER_PROCESS = 25;
const COMPILE_CACHE = fileURLToPath(new URL('../node_modules/.cache/gatehouse', import.meta.url));

const { TEST_DATABASE_URL: databaseServer, TEST_RESULTS, ...usualEnv } = process.env;
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-tests-'));
const results = TEST_RESULTS ?? folder;
let runs = 0;

const given = process.argv.slice(2);
const [lane] = given;
process.exitCode = await runGiven();
rmSync(folder, { recursive: true });

async function runGiven() {
  if (given.length === 0) return runUsual(usualEnv);
  if (lane === 'all') return runAll();
  if (lane === 'postgres') return runOnPostgres(usualEnv);
  if (PROCESS_LANES.includes(lane)) return runApart(findTests([`test/${lane}`]), usualEnv);
  return runApart(findTests(given), process.env);
}

async function runAll() {
  const env = { ...usualEnv, TEST_LEAKS: folder };
  const statuses = [
    await runUsual(env),
    await runOnPostgres(env),
    await runApart(findTests(PROCESS_LANES.map((name) => `test/${name}`)), env),
    reportLeaks(folder),
  ];
  for (const { file, name, error } of findFailed()) console.log(`\n✖ ${name} (${file})\n${error}`);
  return Math.max(...statuses);
}

async function runUsual(env) {
  const [shared, lanes] = [SHARED, LANES].map((names) => findTests(names.map((name) => `test/${name}`)));
  const others = findTests(['test']).filter((file) => !shared.includes(file) && !lanes.includes(file));
  const together = await runTogether('Unit and HTTP tests, on SQLite', shared, env);
  return Math.max(together, await runApart(others, env));
}

/** The HTTP tests send forms here and JSON on SQLite, so that both are tried with all of them. */
async function runOnPostgres(env) {
  const server = databaseServer ? { url: databaseServer, remove: async () => {} } : await startPostgres();
  try {
    await createTemplate(server.url);
    const variables = { ...env, TEST_DATABASE_URL: server.url, TEST_BODIES: 'form' };
    const http = await runTogether('HTTP tests, on PostgreSQL', findTests(['test/http']), variables);
    return Math.max(http, await runApart(findTests(['test/postgres']), env));
  } finally {
    await server.remove();
  }
}

function findTests(places) {
  return places.flatMap((place) => (place.endsWith('.ts') ? [place] : globSync(`${place}/**/*.test.ts`).sort()));
}

/** A process for each file, with its output as it comes. */
async function runApart(files, env) {
  const options = [`--test-concurrency=${FILES_AT_ONCE}`, ...reportTo('spec', 'stdout')];
  return runNode(options, files, env, 'inherit');
}

/** A process for many files, as many at once as there are cores. Each prints its report when it has ended. */
async function runTogether(title, files, env) {
  const parts = Math.ceil(files.length / FILES_PER_PROCESS);
  const waiting = Array.from({ length: parts }, (_, part) => files.filter((_, place) => place % parts === part));
  const statuses = [0];
  const work = async () => {
    for (let part = waiting.shift(); part; part = waiting.shift()) {
      statuses.push(await runPart(`${title}, part ${parts - waiting.length} of ${parts}`, part, env));
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  return Math.max(...statuses);
}

/** All that such a process writes is what its servers log; where logs are searched, they log everything. */
async function runPart(title, files, env) {
  const name = ++runs;
  const report = join(folder, `report-${name}`);
  const log = openSync(join(folder, `log-part-${name}`), 'w');
  const variables = env.TEST_LEAKS ? { TEST_LOG_LEVEL: 'trace', ...env } : env;
  const status = await runNode(['--test-isolation=none', ...reportTo('spec', report)], files, variables, log);
  closeSync(log);
  console.log(`\n${title}:\n${readFileSync(report, 'utf8')}`);
  return status;
}

async function runNode(options, files, env, stdout) {
  const reporters = reportTo('./scripts/test-results.mjs', join(results, `results-${++runs}.jsonl`));
  const child = spawn(process.execPath, ['--test', ...options, ...reporters, ...files], {
    stdio: ['inherit', stdout, 'inherit'],
    env: { NODE_COMPILE_CACHE: COMPILE_CACHE, ...env },
  });
  return new Promise((resolve) => child.once('close', (code) => resolve(code ?? 1)));
}

function reportTo(reporter, destination) {
  return [`--test-reporter=${reporter}`, `--test-reporter-destination=${destination}`];
}

/** So much is printed that the failures are listed once more at the end. */
function findFailed() {
  return globSync(join(results, 'results-*.jsonl'))
    .flatMap((file) => readFileSync(file, 'utf8').split('\n').filter(Boolean))
    .map((line) => JSON.parse(line))
    .filter(({ error }) => error);
}
