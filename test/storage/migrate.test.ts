import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { sql } from 'kysely';
import { insertBusiness, listBusinesses } from '../../src/accounts/businesses.ts';
import { migrate } from '../../src/storage/migrate.ts';
import { MIGRATIONS } from '../../src/storage/migrations/all.ts';
import { openStorage } from '../../src/storage/open.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { createCommandLine } from '../support/command-line.ts';
import { listMigrations } from '../support/migrations.ts';
import { SAMPLE_CONTRACT, SAMPLE_EXPAND } from '../support/sample-migrations.ts';

const ALL = listMigrations();
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-test-'));
after(() => rmSync(folder, { recursive: true, force: true }));

test('a new database is migrated once, and keeps its rows', async () => {
  const storage = await openStorage(`sqlite:${join(folder, 'deep', 'down', 'gatehouse.db')}`);

  const first = await migrate(storage);
  await insertBusiness(storage.durable, { name: 'Acme' }, 0);
  const second = await migrate(storage);

  assert.deepEqual(first, ALL);
  assert.deepEqual(second, []);
  assert.equal((await listBusinesses(storage.durable)).length, 1);
  await storage.close();
});

test('a migration that fails half-way is rolled back', async () => {
  const storage = await openStorage(`sqlite:${join(folder, 'half.db')}`);
  await storage.durable.schema.createTable('invoices').addColumn('id', 'text').execute();

  await assert.rejects(migrate(storage));
  const tables = (await storage.durable.introspection.getTables()).map(({ name }) => name);
  await storage.durable.schema.dropTable('invoices').execute();

  assert.ok(!tables.includes('users'), tables.join(' '));
  assert.deepEqual(await migrate(storage), ALL);
  await storage.close();
});

test('several processes that migrate a new database at the same time migrate it once', async () => {
  for (let round = 0; round < 3; round++) {
    const env = { DATABASE_URL: `sqlite:${join(folder, `shared-${round}.db`)}` };
    const cli = createCommandLine();

    const results = await Promise.all(Array.from({ length: 3 }, () => cli.json(['migrate'], { env })));

    assert.deepEqual(results.flatMap(({ applied }) => applied).sort(), ALL);
  }
});

test('migrating an up-to-date database does not wait for a writer', async () => {
  const path = join(folder, 'busy.db');
  const storage = await openStorage(`sqlite:${path}`);
  await migrate(storage);
  const writer = new DatabaseSync(path);
  writer.exec('begin immediate');

  assert.deepEqual(await migrate(storage), []);

  writer.close();
  await storage.close();
});

/** A database of 0.1.0, whose table of migrations has another form. */
async function asOf010(storage: Storage): Promise<void> {
  await migrate(storage, { migrations: MIGRATIONS.filter(({ phase }) => phase === 'initial') });
  for (const table of ['migration_progress', 'migration_lease'])
    await storage.durable.schema.dropTable(table).execute();
}

test('a database of 0.1.0 is migrated from its first migration on, and 0.1.0 still finds its own list', async () => {
  const storage = await openStorage(`sqlite:${join(folder, 'released.db')}`);
  await asOf010(storage);

  const applied = await migrate(storage);

  assert.deepEqual(applied, ALL.slice(1));
  const { rows } = await sql`select name from migrations`.execute(storage.durable);
  // It does not know expand migrations, and does not start after a contract.
  const known = MIGRATIONS.filter(({ phase }) => phase !== 'expand').map(({ name }) => ({ name }));
  assert.deepEqual(rows, known);
  await storage.close();
});

test('on SQLite all steps of both phases run, each in one transaction', async () => {
  const storage = await openStorage(`sqlite:${join(folder, 'steps.db')}`);
  const next = [...MIGRATIONS, SAMPLE_EXPAND, SAMPLE_CONTRACT];

  const applied = await migrate(storage, { migrations: next });

  assert.deepEqual(applied, [...ALL, SAMPLE_EXPAND.name, SAMPLE_CONTRACT.name]);
  const tables = await storage.durable.introspection.getTables();
  const columns = tables.find(({ name }) => name === 'grants')?.columns.map(({ name }) => name) ?? [];
  assert.ok(columns.includes('sample_day') && !columns.includes('sample_region'));
  await assert.rejects(migrate(storage), /changed by a newer Gatehouse \(901-sample-contract\)/);
  await storage.close();
});
