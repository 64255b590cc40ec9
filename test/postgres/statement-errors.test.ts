import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { sql } from 'kysely';
import pg from 'pg';
import { openStorage } from '../../src/storage/open.ts';
import { type Database, StorageUnavailable } from '../../src/storage/storage.ts';
import { startPostgres } from '../support/postgres-server.ts';

const server = await startPostgres();
const storage = await openStorage(server.url, 'migrating');
after(async () => {
  await storage.close();
  await server.remove();
});

const REJECTED: [code: string, statement: string][] = [
  ['0A000', 'select 1 group by 1 for update'],
  ['42P01', 'select * from missing'],
  ['22012', 'select 1/0'],
];

for (const [code, statement] of REJECTED) {
  test(`a statement that PostgreSQL rejects with ${code} is not an outage`, async () => {
    for (const run of [
      () => sql.raw(statement).execute(storage.durable),
      () => storage.transaction((tx) => sql.raw(statement).execute(tx)),
    ]) {
      await assert.rejects(run, (error) => error instanceof pg.DatabaseError && error.code === code);
    }
  });
}

test('a statement that PostgreSQL cancels says so', async () => {
  const cancelled = storage.transaction(async (tx) => {
    await sql`set local statement_timeout = 1`.execute(tx);
    await sql`select pg_sleep(10)`.execute(tx);
  });

  await assert.rejects(cancelled, (error) => {
    assert.ok(error instanceof StorageUnavailable);
    assert.match(error.message, /canceling statement due to statement timeout \(57014\)/);
    return true;
  });
});

test('a statement whose plan is outdated is planned again, alone and in a transaction', async () => {
  await sql`create table planned (a integer)`.execute(storage.durable);
  const read = (db: Database) => sql`select * from planned`.execute(db);
  const readInTransactions = () =>
    Promise.all(Array.from({ length: 10 }, () => storage.transaction((tx) => sleepThen(tx, () => read(tx)))));
  await read(storage.durable);
  await readInTransactions();
  await sql`alter table planned add column b integer`.execute(storage.durable);

  assert.deepEqual((await read(storage.durable)).rows, []);
  const results = await readInTransactions();

  assert.deepEqual(
    results.flatMap(({ rows }) => rows),
    [],
  );
});

/** Long enough that the transactions overlap, and need a connection each. */
async function sleepThen<Result>(tx: Database, work: () => Promise<Result>): Promise<Result> {
  await sql`select pg_sleep(0.1)`.execute(tx);
  return work();
}
