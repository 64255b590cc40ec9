// `npm test`: everything, and what speaks HTTP on both databases.
// `npm test -- test/http/oauth` runs a part of it, on PostgreSQL if TEST_DATABASE_URL names a server and on SQLite if not.
import { spawn } from 'node:child_process';
import { closeSync, globSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { searchLogs } from '../test/support/logs.ts';
import { makeTemplate, startPostgres } from '../test/support/postgres-server.ts';

const HTTP = findTests(['test/http']);
const PART = 25;
/** In parts: what a file has started runs until its process ends, and a hundred servers would be in each other's way. */
const HTTP_PARTS = Array.from({ length: Math.ceil(HTTP.length / PART) }, (_, part) =>
  HTTP.slice(part * PART, (part + 1) * PART),
);
/** What needs no server, or one, and only one database; most of what such a file takes is loading. */
const PLAIN_SUITE = findTests([
  'test/lib',
  'test/apps',
  'test/reference',
  ...['checklist', 'log-lines', 'mutations', 'promises', 'search', 'sign-in-work'].map(
    (name) => `test/security/${name}.test.ts`,
  ),
  'test/config.test.ts',
  'test/architecture.test.ts',
]);
/** What speaks to the token and revoke endpoints runs once more with forms, which must make no difference. */
const BODIES_SUITE = [
  'token-exchange',
  'token-text',
  'refresh',
  'refresh-recovery',
  'revoke',
  'introspect',
  'pkce',
  'app-authentication',
  'dead-grants',
].map((name) => `test/http/oauth/${name}.test.ts`);
const APART = ['--test-concurrency=4'];
/** Most of what such a file takes is loading the server, so all of them share one process. */
const TOGETHER = ['--test-isolation=none'];

const CACHE = fileURLToPath(new URL('../node_modules/.cache/gatehouse', import.meta.url));

const places = process.argv.slice(2);
const { TEST_DATABASE_URL: given, TEST_RESULTS: wanted, ...usual } = process.env;
/** Where a run of everything keeps the secrets that it has seen, and what the servers have logged. */
const kept = places.length > 0 ? undefined : mkdtempSync(join(tmpdir(), 'gatehouse-kept-'));
const env = kept ? { ...usual, TEST_LEAKS: kept } : usual;
const results = wanted ?? kept;
let runs = 0;

process.exitCode = places.length > 0 ? await run('', findTests(places), APART, process.env) : await runAll();

async function runAll() {
  // The longest first, so that the rest fills the time beside them.
  const others = [
    ...new Set([...findTests(['test/faults', 'test/nodes', 'test/storage']), ...findTests(['test'])]),
  ].filter((file) => ![...PLAIN_SUITE, ...HTTP_PARTS.flat()].includes(file));
  const failures = [
    await run('What needs only one database, or several servers:', others, APART, env),
    ...(await Promise.all([runOnSqlite(), runOnPostgres()])),
    searchLogs(kept),
  ];
  for (const { file, name, error } of findFailed()) console.log(`\n✖ ${name} (${file})\n${error}`);
  rmSync(kept, { recursive: true });
  return failures.some((status) => status !== 0) ? 1 : 0;
}

async function runOnSqlite() {
  const plain = await run('What needs no second database:', PLAIN_SUITE, TOGETHER, env);
  const usual = await runParts('What speaks HTTP, on SQLite:', env);
  const forms = { ...env, TEST_BODIES: 'form' };
  const inForms = await run('The token and revoke endpoints, with forms:', BODIES_SUITE, TOGETHER, forms);
  return plain || usual || inForms;
}

async function runOnPostgres() {
  const postgres = given ? { url: given, remove: async () => {} } : await startPostgres();
  try {
    await makeTemplate(postgres.url);
    const variables = { ...env, TEST_DATABASE_URL: postgres.url };
    return await runParts('What speaks HTTP, on PostgreSQL:', variables);
  } finally {
    await postgres.remove();
  }
}

async function runParts(title, variables) {
  let status = 0;
  for (const files of HTTP_PARTS) status = (await run(title, files, TOGETHER, variables)) || status;
  return status;
}

/** So much is printed that what failed is said once more at the end. */
function findFailed() {
  return globSync(join(results, 'results-*.jsonl'))
    .flatMap((file) => readFileSync(file, 'utf8').split('\n').filter(Boolean))
    .map((line) => JSON.parse(line))
    .filter(({ error }) => error);
}

function findTests(folders) {
  return folders.flatMap((place) => (place.endsWith('.ts') ? [place] : globSync(`${place}/**/*.test.ts`).sort()));
}

/** Two may run at once: each says at its end what it has to say. The first one, or a part, is watched as it goes. */
async function run(title, files, options, variables) {
  const isWatched = options === APART;
  if (title && isWatched) console.log(`\n${title}`);
  const name = `${++runs}`;
  const reporting = results ? ['./scripts/test-results.mjs', join(results, `results-${name}.jsonl`)] : undefined;
  const said = isWatched ? undefined : join(kept, `said-${name}`);
  // What one process has compiled, the next need not.
  const cached = { NODE_COMPILE_CACHE: CACHE, ...variables, ...(said && { TEST_LOG_LEVEL: 'trace' }) };
  // Where all share one process, what it writes is what the servers log.
  const log = said ? openSync(join(kept, `log-${name}`), 'w') : 'inherit';
  const child = spawn(
    process.execPath,
    [
      '--test',
      ...options,
      ...reportTo('spec', said ?? 'stdout'),
      ...(reporting ? reportTo(...reporting) : []),
      ...files,
    ],
    { stdio: ['inherit', log, 'inherit'], env: cached },
  );
  const status = await new Promise((resolve) => child.once('close', (code) => resolve(code ?? 1)));
  if (said) {
    closeSync(log);
    console.log(`\n${title}\n${readFileSync(said, 'utf8')}`);
  }
  return status;
}

function reportTo(reporter, destination) {
  return [`--test-reporter=${reporter}`, `--test-reporter-destination=${destination}`];
}
