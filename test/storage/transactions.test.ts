import assert from 'node:assert/strict';
import fs, { mkdtempSync, rmSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { sql } from 'kysely';
import { insertBusiness, listBusinesses } from '../../src/accounts/businesses.ts';
import { migrate } from '../../src/storage/migrate.ts';
import { openStorage } from '../../src/storage/open.ts';
import { type Database, StorageUnavailable } from '../../src/storage/storage.ts';

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-test-'));
const url = `sqlite:${join(folder, 'gatehouse.db')}`;

/** How often the log was synced. */
let flushes = 0;
const { fdatasync } = fs;
fs.fdatasync = ((file, done) => {
  assert.equal(fs.fstatSync(file).ino, fs.statSync(join(folder, 'gatehouse.db-wal')).ino);
  fdatasync(file, (error) => {
    flushes += 1;
    done(error);
  });
}) as typeof fdatasync;
syncBuiltinESMExports();
after(() => {
  fs.fdatasync = fdatasync;
  syncBuiltinESMExports();
});

const storage = await openStorage(url);
await migrate(storage);
after(async () => {
  await storage.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Whether the log was synced before the write resolved. */
async function isKept(write: () => Promise<unknown>): Promise<boolean> {
  const before = flushes;
  await write();
  return flushes > before;
}

const names = async (db: Database) => (await listBusinesses(db)).map(({ name }) => name);
const add = (db: Database, name: string) => insertBusiness(db, { name }, 0);
const pause = () => new Promise((resolve) => setImmediate(resolve));

test('a durable write is on disk before it resolves', async () => {
  assert.ok(await isKept(() => add(storage.durable, 'Kept')));
  assert.ok(await isKept(() => storage.transaction((db) => add(db, 'Kept'))));
});

test('a relaxed write may resolve before it is on disk', async () => {
  assert.equal(await isKept(() => add(storage.relaxed, 'Perhaps')), false);
});

test('a durable write stays durable among relaxed ones', async () => {
  const mixed = Array.from({ length: 40 }, (_, i) => (i % 3 === 0 ? storage.durable : storage.relaxed));

  const seen = await Promise.all(mixed.map(async (db) => ({ db, kept: await isKept(() => add(db, 'Mixed')) })));

  const durable = seen.filter(({ db }) => db === storage.durable).map(({ kept }) => kept);
  assert.deepEqual(durable, Array(14).fill(true));
});

test('a column that another process adds does not shift the values of a row', async () => {
  const joined = sql<{ name: string; number: number }>`select * from early, (select 7 as number) as late`;
  await sql`create table early (name text)`.execute(storage.durable);
  await sql`insert into early values ('Acme')`.execute(storage.durable);
  await joined.execute(storage.durable);

  const other = new DatabaseSync(join(folder, 'gatehouse.db'));
  other.exec('alter table early add column since integer');
  other.close();

  const { rows } = await joined.execute(storage.durable);
  assert.deepEqual([rows[0]?.name, rows[0]?.number], ['Acme', 7]);
});

test('a durable transaction stays durable while relaxed statements wait for it', async () => {
  const work = async (db: Database) => {
    for (let i = 0; i < 5; i++) {
      await pause();
      await add(db, 'Slowly');
    }
  };

  const [kept] = await Promise.all([isKept(() => storage.transaction(work)), add(storage.relaxed, 'Waiting')]);

  assert.ok(kept);
});

test('SQLite runs in WAL mode', async () => {
  const { rows } = await sql<{ journal_mode: string }>`PRAGMA journal_mode`.execute(storage.durable);

  assert.equal(rows[0]?.journal_mode, 'wal');
});

test('a transaction that fails half-way is rolled back', async () => {
  const before = await names(storage.durable);

  const failing = storage.transaction(async (db) => {
    await add(db, 'First half');
    await add(db, 'Second half');
    throw new Error('something went wrong');
  });

  await assert.rejects(failing, /something went wrong/);
  assert.deepEqual(await names(storage.durable), before);
});

test('a transaction succeeds after another one failed', async () => {
  await assert.rejects(storage.transaction((db) => sql`nonsense`.execute(db)));

  await storage.transaction((db) => add(db, 'Afterwards'));

  assert.ok((await names(storage.durable)).includes('Afterwards'));
});

test('a statement outside of a transaction waits for an open transaction', async () => {
  const failing = storage.transaction(async (db) => {
    await add(db, 'Inside');
    for (let i = 0; i < 5; i++) await pause();
    throw new Error('rolled back');
  });
  await pause();

  const outside = add(storage.durable, 'Outside');

  await assert.rejects(failing, /rolled back/);
  await outside;
  const found = await names(storage.relaxed);
  assert.ok(found.includes('Outside'));
  assert.ok(!found.includes('Inside'));
});

test('transactions run one after the other', async () => {
  const seen: number[] = [];
  const work = async (db: Database) => {
    const before = (await names(db)).length;
    await pause();
    await add(db, 'Queue');
    await pause();
    await add(db, 'Queue');
    seen.push((await names(db)).length - before);
  };

  await Promise.all(Array.from({ length: 8 }, () => storage.transaction(work)));

  assert.deepEqual(seen, [2, 2, 2, 2, 2, 2, 2, 2]);
});

test('a write waits while another process writes, and a read does not', async () => {
  const other = await openStorage(url);
  await sql`begin immediate`.execute(other.durable);

  const writing = add(storage.durable, 'Accepted');
  await pause();
  assert.ok(!(await names(storage.durable)).includes('Accepted'));
  await sql`rollback`.execute(other.durable);
  await writing;

  await other.close();
  assert.ok((await names(storage.durable)).includes('Accepted'));
});

test('a write fails as unavailable if another process does not release the write lock', async () => {
  const other = await openStorage(url);
  await sql`begin immediate`.execute(other.durable);

  await assert.rejects(add(storage.durable, 'Refused'), StorageUnavailable);
  await assert.rejects(
    storage.transaction((db) => add(db, 'Refused')),
    StorageUnavailable,
  );

  await sql`rollback`.execute(other.durable);
  await other.close();
  await add(storage.durable, 'Afterwards');
  assert.ok(!(await names(storage.durable)).includes('Refused'));
});

test('two storages of one process can write to the same file', async () => {
  const other = await openStorage(url);
  const before = (await names(storage.durable)).length;
  const write = async (db: Database) => {
    for (let i = 0; i < 20; i++) await add(db, 'Business');
  };

  await Promise.all([storage, other].flatMap(({ durable, relaxed }) => [write(durable), write(relaxed)]));

  await other.close();
  assert.equal((await names(storage.durable)).length - before, 80);
});

test('writes of one event loop iteration share a commit, and none resolves before it', async () => {
  const other = await openStorage(url);
  const writes = Array.from({ length: 5 }, (_, i) => add(storage.durable, `Together ${i}`));
  const resolved = Promise.all(writes).then(() => true);
  const together = async () => (await names(other.durable)).filter((name) => name.startsWith('Together')).length;

  // All microtasks have run by now, and another process sees none of the writes yet.
  assert.equal(await Promise.race([resolved, together()]), 0);
  assert.equal(await resolved, true);
  assert.equal(await together(), 5);
  await other.close();
});

test('a write that fails does not affect the others of its commit', async () => {
  const results = await Promise.allSettled([
    add(storage.durable, 'Before'),
    sql`insert into businesses (id) values ('incomplete')`.execute(storage.durable),
    storage.transaction(async (db) => {
      await add(db, 'Undone');
      throw new Error('changed my mind');
    }),
    add(storage.relaxed, 'After'),
  ]);

  const found = await names(storage.durable);
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'rejected', 'fulfilled'],
  );
  assert.ok(found.includes('Before') && found.includes('After') && !found.includes('Undone'));
});

test('a commit that fails rejects all its writes', async () => {
  const [full, one] = [await openStorage(url), { name: 'x'.repeat(100_000) }];
  const { rows } = await sql<{ page_count: number }>`pragma page_count`.execute(full.durable);
  await sql.raw(`pragma max_page_count = ${rows[0]?.page_count}`).execute(full.durable);

  const results = await Promise.allSettled([
    add(full.durable, 'Small'),
    sql`insert into businesses (id, name, created_at) values ('large', ${one.name}, 0)`.execute(full.durable),
  ]);
  const failures = results.map((result) => result.status === 'rejected' && result.reason instanceof StorageUnavailable);
  await sql`pragma max_page_count = 1073741823`.execute(full.durable);
  await add(full.durable, 'There is room again');
  await full.close();

  const found = await names(storage.durable);
  assert.deepEqual(failures, [true, true]);
  assert.ok(!found.includes('Small') && found.includes('There is room again'));
});

test('a read never sees what a failed commit rolls back', async () => {
  await sql`create table parents (id integer primary key)`.execute(storage.durable);
  await sql`create table children (parent references parents deferrable initially deferred)`.execute(storage.durable);

  const writing = Promise.allSettled([
    add(storage.durable, 'Taken back'),
    storage.transaction((db) => add(db, 'Taken back')),
    sql`insert into children values (17)`.execute(storage.durable),
  ]);
  const found = await names(storage.durable);

  assert.deepEqual(
    (await writing).map(({ status }) => status),
    ['rejected', 'rejected', 'rejected'],
  );
  assert.ok(!found.includes('Taken back'));
});

test('a write is kept if the storage is closed in the same event loop iteration', async () => {
  const brief = await openStorage(url);
  let closing: Promise<void> | undefined;
  const writing = brief.transaction(async (db) => {
    await add(db, 'In passing');
    closing = brief.close();
  });

  await Promise.all([writing, closing]);

  assert.ok((await names(storage.durable)).includes('In passing'));
});

test('a closed storage rejects at once', async () => {
  const closed = await openStorage('sqlite::memory:');
  await closed.close();
  await closed.close();

  await assert.rejects(closed.check());
});
