import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { openConnection } from '../../src/storage/sqlite/connection.ts';
import { createGroupCommit } from '../../src/storage/sqlite/group-commit.ts';
import { createConnectionLock, createWriteLock } from '../../src/storage/sqlite/write-lock.ts';

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-test-'));
const path = join(folder, 'gatehouse.db');
const connection = openConnection(path);
const another = new DatabaseSync(path);
after(() => {
  another.close();
  connection.wal.close();
  connection.file.close();
  rmSync(folder, { recursive: true, force: true });
});

const lock = createConnectionLock();
const commits = createGroupCommit(connection, () => {});
const TIMEOUT = 50;
const beginWrite = createWriteLock(lock, commits, TIMEOUT);

async function writeOnce(): Promise<void> {
  await lock.acquire();
  try {
    await beginWrite('relaxed');
  } finally {
    lock.release();
  }
}

test('a write begins at once while no other process writes', async () => {
  await lock.acquire();

  assert.equal(beginWrite('durable'), undefined);
  assert.ok(lock.pendingCommit);

  lock.release();
  commits.commit();
});

test('a write that has to wait releases the connection lock meanwhile, and holds it again afterwards', async () => {
  another.exec('begin immediate');
  await lock.acquire();
  const waiting = beginWrite('relaxed');

  assert.equal(lock.isTaken, false);
  another.exec('rollback');
  await waiting;

  assert.equal(lock.isTaken, true);
  assert.ok(connection.file.isTransaction);
  lock.release();
  commits.commit();
});

test('all waiting writes begin together, in one transaction', async () => {
  another.exec('begin immediate');
  const writing = Array.from({ length: 20 }, writeOnce);
  another.exec('rollback');

  await Promise.all(writing);

  assert.ok(connection.file.isTransaction);
  assert.equal(lock.isTaken, false);
  commits.commit();
  assert.equal(connection.file.isTransaction, false);
});

test('after a timeout writes fail at once, until one succeeds', async () => {
  another.exec('begin immediate');
  const failures = await Promise.allSettled([writeOnce(), writeOnce()]);
  assert.deepEqual(
    failures.map((failure) => failure.status === 'rejected' && String(failure.reason)),
    Array(2).fill('Error: The database file is locked by another process.'),
  );

  await lock.acquire();
  assert.throws(() => beginWrite('relaxed'), /locked/);
  another.exec('rollback');
  assert.equal(beginWrite('relaxed'), undefined);
  lock.release();
  commits.commit();

  another.exec('begin immediate');
  const writing = writeOnce();
  another.exec('rollback');
  await writing;
  commits.commit();
});

test('an error other than a locked database is thrown at once', async () => {
  connection.file.exec('begin');
  await lock.acquire();

  assert.throws(() => beginWrite('relaxed'), /within a transaction/);

  lock.release();
  connection.file.exec('rollback');
});
