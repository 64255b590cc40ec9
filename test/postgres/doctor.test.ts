import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { checkContracts } from '../../src/cli/doctor/contracts.ts';
import { newId } from '../../src/lib/ids.ts';
import { migrate } from '../../src/storage/migrate.ts';
import { MIGRATIONS } from '../../src/storage/migrations/all.ts';
import { openStorage } from '../../src/storage/open.ts';
import { registerNode } from '../../src/storage/upgrade/nodes.ts';
import { createCommandLine } from '../support/command-line.ts';
import { databaseUrl, runAsAdmin, TEMPLATE, withLongConnectTimeout } from '../support/databases.ts';
import { assertFinding, type Finding, runDoctor } from '../support/doctor.ts';
import { createTemplate, startPostgres } from '../support/postgres-server.ts';
import { SAMPLE_CONTRACT, SAMPLE_EXPAND } from '../support/sample-migrations.ts';

test('a PostgreSQL that is not migrated, or may lose commits, is a problem', async () => {
  const postgres = await startPostgres(['max_connections=27']);
  after(() => postgres.remove());
  const cli = createCommandLine();
  const url = withLongConnectTimeout(postgres.url);
  const env = { DATABASE_URL: url, SECRET_KEYS: 'Vw0k4XGn1q8sT7mZc3yB5rJ6uH9eLdPf' };

  const outdated = await runDoctor(cli, env);
  const storage = await openStorage(url, 'migrating');
  await migrate(storage);
  await storage.close();
  const began = Date.now();
  const unsafe = await runDoctor(cli, env);
  const took = Date.now() - began;
  const crowded = await runDoctor(cli, { ...env, DATABASE_URL: `${url}&pool_size=50` });

  assertFinding(outdated.findings, 'problem', /older than this version: 001-initial/);
  assertFinding(unsafe.findings, 'problem', /^fsync is off/);
  assertSameClock(unsafe.findings, took);
  assertFinding(unsafe.findings, 'ok', /^There are enough connections for 1 node at this pool_size/);
  assertFinding(crowded.findings, 'problem', /One node opens up to 102 connections, and the server allows 27/);
  assert.equal(JSON.stringify(crowded.findings).includes('gatehouse:gatehouse'), false);
});

/** The server reads the same clock, so the readings differ by no more than the time that the command took. */
function assertSameClock(findings: Finding[], took: number): void {
  const pattern = /^The clocks of this machine and of PostgreSQL differ by (\d+\.\d) s/;
  const { level, message } = findings.find(({ message }) => pattern.test(message)) ?? assert.fail('no such finding');
  const difference = 1000 * Number(pattern.exec(message)?.[1]);
  // The message has one decimal.
  assert.ok(difference <= took + 50, `${message} The command took ${took} ms.`);
  if (took <= 2000) assert.equal(level, 'ok');
}

test('a contract migration that has not run is a warning, with the nodes that it waits for', async () => {
  const postgres = await startPostgres();
  after(() => postgres.remove());
  const storage = await openStorage(withLongConnectTimeout(postgres.url), 'migrating');
  after(() => storage.close());
  const expanded = [...MIGRATIONS, SAMPLE_EXPAND];
  await migrate(storage, { migrations: expanded });

  const none = await checkContracts(storage, expanded);
  const leave = await registerNode(storage);
  const waiting = await checkContracts(storage, [...expanded, SAMPLE_CONTRACT]);
  await leave();
  const free = await checkContracts(storage, [...expanded, SAMPLE_CONTRACT]);

  assert.deepEqual(none, []);
  assertFinding(waiting, 'warning', /^901-sample-contract waits for 1 node of an older release: \S+:\d+ \(\S+\)\.$/);
  assert.match(waiting[0]?.fix ?? '', /gatehouse migrate/);
  assertFinding(
    free,
    'warning',
    /^901-sample-contract has not been applied, although no node of an older release is running\.$/,
  );
});

test('a PostgreSQL without pg_logical_emit_message is a problem, because a repeated change fails there', async () => {
  const postgres = await startPostgres();
  after(() => postgres.remove());
  await createTemplate(postgres.url);
  await runAsAdmin(postgres.url, [
    "create role limited login password 'limited'",
    `create database limited template ${TEMPLATE} owner limited`,
  ]);
  const limited = withLongConnectTimeout(databaseUrl(postgres.url, 'limited'));
  await runAsAdmin(limited, [
    'revoke execute on function pg_logical_emit_message(boolean, text, text, boolean) from public',
    'grant all on all tables in schema public to limited',
  ]);
  const cli = createCommandLine();
  const keys = { SECRET_KEYS: 'Vw0k4XGn1q8sT7mZc3yB5rJ6uH9eLdPf' };

  const findings = await runDoctor(cli, { ...keys, DATABASE_URL: limited });
  const asLimited = limited.replace('gatehouse:gatehouse@', 'limited:limited@');
  const without = await runDoctor(cli, { ...keys, DATABASE_URL: asLimited });

  const storage = await openStorage(asLimited);
  after(() => storage.close());
  const repeated = storage.durable.deleteFrom('users').where('id', '=', newId(0)).execute();

  const message = /^pg_logical_emit_message cannot be used \(permission denied .*\): a repeated change, .* fails\.$/;
  assert.ok(!findings.findings.some((finding) => /emit_message/.test(finding.message)));
  assertFinding(without.findings, 'problem', message);
  assertFinding(without.findings, 'ok', /^It is writable\.$/);
  await assert.rejects(repeated, /permission denied for function pg_logical_emit_message/);
});
