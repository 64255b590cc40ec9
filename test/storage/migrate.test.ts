import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { insertBusiness, listBusinesses } from '../../src/accounts/businesses.ts';
import { migrate } from '../../src/storage/migrate.ts';
import { openStorage } from '../../src/storage/open.ts';
import { createCommandLine } from '../support/command-line.ts';
import { listMigrations } from '../support/migrations.ts';

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

    assert.deepEqual(
      results.flatMap(({ applied }) => applied),
      ALL,
    );
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
