// `POSTGRES_BIN=FOLDER npx node scripts/citus.ts [FILES]`: runs HTTP tests on a PostgreSQL that has Citus, with `grants` distributed by
// deploy/citus.sql. FOLDER holds the programs of that PostgreSQL, such as /usr/lib/postgresql/17/bin.
// One server is the whole cluster. It has 8 shards, so the planner treats its tables as in a larger one.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, readFileSync } from 'node:fs';
import pg from 'pg';
import { databaseUrl, runAsAdmin, TEMPLATE } from '../test/support/databases.ts';
import { createTemplate, type PostgresServer, startPostgres } from '../test/support/postgres-server.ts';

const USAGE = 'Usage: POSTGRES_BIN=FOLDER_OF_POSTGRESQL_PROGRAMS npx node scripts/citus.ts [TEST_FILES]';
const FLAGS = [
  'shared_preload_libraries=citus',
  'citus.node_conninfo=sslmode=disable',
  'citus.shard_count=8',
  // Citus starts one in every database, and each test has a database.
  'max_worker_processes=200',
  'logging_collector=on',
  'log_line_prefix=%e ',
];
/** Feature not supported, or an internal error: what Citus says to a statement that it cannot run. */
const REJECTED = /^(?:0A000|XX000) (?:ERROR|DETAIL|STATEMENT): .*$/gm;
/** These tests replace the database below a running server, or count what a plain PostgreSQL does. */
const NOT_ON_CITUS = ['test/http/oauth/storage-failure.test.ts'];

const given = process.argv.slice(2);
if (!process.env.POSTGRES_BIN) {
  console.error(USAGE);
  process.exit(2);
}
const all = globSync('test/http/{oauth,web,webhooks,accounts,business,mcp}/**/*.test.ts').sort();
const files = given.length > 0 ? given : all.filter((file) => !NOT_ON_CITUS.includes(file));

const server = await startPostgres(FLAGS);
try {
  await createTemplate(server.url);
  await distribute(server);
  const env = { ...process.env, TEST_DATABASE_URL: server.url };
  const tests = spawn(process.execPath, ['scripts/test.mjs', ...files], { stdio: 'inherit', env });
  const [status] = await once(tests, 'exit');
  const rejected = findRejected(server);
  if (rejected.length > 0) console.error(`Citus rejected:\n${rejected.join('\n')}`);
  process.exitCode = rejected.length > 0 ? 1 : (status ?? 1);
} finally {
  await server.remove();
}

async function distribute({ url, port }: PostgresServer): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl(url, TEMPLATE) });
  await client.connect();
  await client.query('create extension citus');
  await client.query("insert into pg_dist_authinfo values (0, 'gatehouse', 'password=gatehouse')");
  await client.query(`select citus_set_coordinator_host('127.0.0.1', ${port})`);
  await client.query(`select citus_set_node_property('127.0.0.1', ${port}, 'shouldhaveshards', true)`);
  await client.query(readFileSync(new URL('../deploy/citus.sql', import.meta.url), 'utf8'));
  await client.end();
  // A database can be copied only while no client is connected, and a process of Citus is.
  await runAsAdmin(url, [
    `alter database ${TEMPLATE} allow_connections false`,
    `select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = '${TEMPLATE}'`,
  ]);
}

function findRejected({ folder }: PostgresServer): string[] {
  const logs = globSync(`${folder}/data/log/*`).map((file) => readFileSync(file, 'utf8'));
  return [...new Set(logs.flatMap((log) => log.match(REJECTED) ?? []))];
}
