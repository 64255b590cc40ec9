// `npm test`: everything, and what speaks HTTP on both databases.
// `npm test -- test/oauth` runs a part of it, on PostgreSQL if TEST_DATABASE_URL names a server and on SQLite if not.
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { makeTemplate, startPostgres } from '../test/support/postgres-server.ts';

const HTTP_SUITE = findTests(['test/accounting', 'test/accounts', 'test/clients', 'test/oauth', 'test/web']);
/** What speaks to the token and revoke endpoints runs once more with forms, which must make no difference. */
const BODIES_SUITE = ['token-exchange', 'refresh', 'revoke', 'pkce', 'app-authentication', 'dead-grants'].map(
  (name) => `test/oauth/${name}.test.ts`,
);
const places = process.argv.slice(2);
const { TEST_DATABASE_URL: given, ...env } = process.env;

process.exitCode = places.length > 0 ? run('', findTests(places), process.env) : await runAll();

async function runAll() {
  // The longest first, so that the rest fills the time beside them.
  const others = [...new Set([...findTests(['test/nodes', 'test/storage']), ...findTests(['test'])])].filter(
    (file) => !HTTP_SUITE.includes(file),
  );
  const failures = [
    run('What needs only one database, or several servers:', others, env),
    run('What speaks HTTP, on SQLite:', HTTP_SUITE, env),
    run('The token and revoke endpoints, with forms:', BODIES_SUITE, { ...env, TEST_BODIES: 'form' }),
    await runOnPostgres(),
  ];
  return failures.some((status) => status !== 0) ? 1 : 0;
}

async function runOnPostgres() {
  const postgres = given ? { url: given, remove: async () => {} } : await startPostgres();
  try {
    await makeTemplate(postgres.url);
    return run('What speaks HTTP, on PostgreSQL:', HTTP_SUITE, { ...env, TEST_DATABASE_URL: postgres.url });
  } finally {
    await postgres.remove();
  }
}

function findTests(folders) {
  return folders.flatMap((place) => (place.endsWith('.ts') ? [place] : globSync(`${place}/**/*.test.ts`).sort()));
}

function run(title, files, variables) {
  if (title) console.log(`\n${title}`);
  const options = ['--test', '--test-concurrency=4', ...files];
  // Each file is a process of its own; what one has compiled, the next need not.
  const env = { NODE_COMPILE_CACHE: 'node_modules/.cache/gatehouse', ...variables };
  return spawnSync(process.execPath, options, { stdio: 'inherit', env }).status ?? 1;
}
