// `npm test`: everything on SQLite, then all that speaks HTTP once more on PostgreSQL.
// `npm test -- test/oauth` runs a part of it, on PostgreSQL if TEST_DATABASE_URL names a server and on SQLite if not.
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { makeTemplate, startPostgres } from '../test/support/postgres-server.ts';

const HTTP_SUITE = ['test/accounting', 'test/accounts', 'test/oauth', 'test/web'];
const places = process.argv.slice(2);
const { TEST_DATABASE_URL: given, ...env } = process.env;

process.exitCode = places.length > 0 ? run(places, process.env) : await runAll();

async function runAll() {
  console.log('On SQLite:');
  const onSqlite = run(['test'], env);
  const postgres = given ? { url: given, remove: async () => {} } : await startPostgres();
  try {
    await makeTemplate(postgres.url);
    console.log('On PostgreSQL:');
    return onSqlite || run(HTTP_SUITE, { ...env, TEST_DATABASE_URL: postgres.url });
  } finally {
    await postgres.remove();
  }
}

function run(where, variables) {
  const files = where.flatMap((place) => (place.endsWith('.ts') ? [place] : globSync(`${place}/**/*.test.ts`)));
  const options = ['--test', '--test-concurrency=3', ...files.sort()];
  return spawnSync(process.execPath, options, { stdio: 'inherit', env: variables }).status ?? 1;
}
