import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { upgrade } from '../../src/storage/migrate.ts';
import { MIGRATIONS } from '../../src/storage/migrations/all.ts';
import { openStorage } from '../../src/storage/open.ts';
import { databaseUrl, TEMPLATE, withLongConnectTimeout } from '../support/databases.ts';
import { findPgBouncer, startPgBouncer } from '../support/pgbouncer.ts';
import { createTemplate, startPostgres } from '../support/postgres-server.ts';
import { SAMPLE_CONTRACT, SAMPLE_EXPAND } from '../support/sample-migrations.ts';

const bouncer = findPgBouncer();

test('a schema is migrated through PgBouncer in transaction mode, by one migrator at a time', {
  skip: bouncer ? false : 'PgBouncer is not installed',
}, async () => {
  const postgres = await startPostgres();
  after(() => postgres.remove());
  await createTemplate(postgres.url);
  const url = await startPgBouncer(bouncer?.program ?? '', databaseUrl(postgres.url, TEMPLATE));
  const storage = await openStorage(withLongConnectTimeout(`${url}?pooler=transaction`), 'migrating');
  after(() => storage.close());
  const migrations = [...MIGRATIONS, SAMPLE_EXPAND, SAMPLE_CONTRACT];

  const results = await Promise.all([upgrade(storage, { migrations }), upgrade(storage, { migrations })]);

  assert.deepEqual(
    results.flatMap(({ applied }) => applied),
    [SAMPLE_EXPAND.name, SAMPLE_CONTRACT.name],
  );
});
