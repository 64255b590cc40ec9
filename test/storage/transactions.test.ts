import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { sql } from 'kysely';
import { addBusiness, listBusinesses } from '../../src/accounts/businesses.ts';
import { openStorage } from '../../src/storage/database.ts';
import { StorageUnavailable } from '../../src/storage/errors.ts';
import { migrate } from '../../src/storage/migrate.ts';
import type { Database } from '../../src/storage/storage.ts';

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-test-'));
const url = `sqlite:${join(folder, 'gatehouse.db')}`;
const storage = openStorage(url);
await migrate(storage);
after(async () => {
  await storage.close();
  rmSync(folder, { recursive: true, force: true });
});

const FULL = 2;
const NORMAL = 1;

async function synchronous(db: Database): Promise<number | undefined> {
  const { rows } = await sql<{ synchronous: number }>`PRAGMA synchronous`.execute(db);
  return rows[0]?.synchronous;
}

const names = async (db: Database) => (await listBusinesses(db)).map(({ name }) => name);
const add = (db: Database, name: string) => addBusiness(db, { name }, 0);
const pause = () => new Promise((resolve) => setImmediate(resolve));

test('a durable write is on disk before it is answered: SQLite is told FULL', async () => {
  assert.equal(await synchronous(storage.durable), FULL);
  assert.equal(await storage.atomically(synchronous), FULL);
});

test('a recoverable write may be answered before: SQLite is told NORMAL', async () => {
  assert.equal(await synchronous(storage.recoverable), NORMAL);
});

test('each statement has the durability of its own class, however the two are mixed', async () => {
  const mixed = Array.from({ length: 40 }, (_, i) => i % 3 === 0);

  const seen = await Promise.all(
    mixed.map((recoverable) => synchronous(recoverable ? storage.recoverable : storage.durable)),
  );

  assert.deepEqual(
    seen,
    mixed.map((recoverable) => (recoverable ? NORMAL : FULL)),
  );
});

test('a durable transaction stays durable while recoverable statements wait for it', async () => {
  const seen: (number | undefined)[] = [];

  await Promise.all([
    storage.atomically(async (db) => {
      for (let i = 0; i < 5; i++) {
        await pause();
        seen.push(await synchronous(db));
      }
    }),
    synchronous(storage.recoverable),
  ]);

  assert.deepEqual(seen, [FULL, FULL, FULL, FULL, FULL]);
});

test('SQLite keeps a write-ahead log, which is what makes both classes safe', async () => {
  const { rows } = await sql<{ journal_mode: string }>`PRAGMA journal_mode`.execute(storage.durable);

  assert.equal(rows[0]?.journal_mode, 'wal');
});

test('work that fails half-way leaves nothing behind', async () => {
  const before = await names(storage.durable);

  const failing = storage.atomically(async (db) => {
    await add(db, 'First half');
    await add(db, 'Second half');
    throw new Error('something went wrong');
  });

  await assert.rejects(failing, /something went wrong/);
  assert.deepEqual(await names(storage.durable), before);
});

test('after work that failed, the next works', async () => {
  await assert.rejects(storage.atomically((db) => sql`nonsense`.execute(db)));

  await storage.atomically((db) => add(db, 'Afterwards'));

  assert.ok((await names(storage.durable)).includes('Afterwards'));
});

test('a plain statement never slips into a transaction that someone else has open', async () => {
  const failing = storage.atomically(async (db) => {
    await add(db, 'Inside');
    for (let i = 0; i < 5; i++) await pause();
    throw new Error('rolled back');
  });
  await pause();

  const outside = add(storage.durable, 'Outside');

  await assert.rejects(failing, /rolled back/);
  await outside;
  const found = await names(storage.recoverable);
  assert.ok(found.includes('Outside'));
  assert.ok(!found.includes('Inside'));
});

test('transactions run one after the other, so that none sees half of another', async () => {
  const seen: number[] = [];
  const work = async (db: Database) => {
    const before = (await names(db)).length;
    await pause();
    await add(db, 'Queue');
    await pause();
    await add(db, 'Queue');
    seen.push((await names(db)).length - before);
  };

  await Promise.all(Array.from({ length: 8 }, () => storage.atomically(work)));

  assert.deepEqual(seen, [2, 2, 2, 2, 2, 2, 2, 2]);
});

test('a write that another process keeps out fails as unavailable, and goes through once it can', async () => {
  const other = openStorage(url);
  await sql`begin immediate`.execute(other.durable);
  await sql`PRAGMA busy_timeout = 0`.execute(storage.durable);

  await assert.rejects(add(storage.durable, 'Refused'), StorageUnavailable);
  await sql`rollback`.execute(other.durable);
  await sql`PRAGMA busy_timeout = 5000`.execute(storage.durable);
  await add(storage.durable, 'Accepted');

  await other.close();
  const found = await names(storage.durable);
  assert.ok(found.includes('Accepted') && !found.includes('Refused'));
});

test('a failure to change the durability class lets the next caller go on', async () => {
  await sql`begin`.execute(storage.durable);

  await assert.rejects(sql`delete from users`.execute(storage.recoverable), /inside a transaction/);

  await sql`rollback`.execute(storage.durable);
  assert.equal(await synchronous(storage.recoverable), NORMAL);
});

test('after it was closed, the storage refuses at once and does not hang', async () => {
  const closed = openStorage('sqlite::memory:');
  await closed.close();
  await closed.close();

  await assert.rejects(closed.check());
});
