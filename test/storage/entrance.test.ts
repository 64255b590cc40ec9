import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { openConnection } from '../../src/storage/sqlite/connection.ts';
import { newLock } from '../../src/storage/sqlite/file-lock.ts';
import { newCommits } from '../../src/storage/sqlite/group-commit.ts';
import { newEntrance } from '../../src/storage/sqlite/write-lock.ts';

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-test-'));
const path = join(folder, 'gatehouse.db');
const connection = openConnection(path);
const another = new DatabaseSync(path);
after(() => {
  another.close();
  connection.log.close();
  connection.file.close();
  rmSync(folder, { recursive: true, force: true });
});

const lock = newLock();
const commits = newCommits(connection, () => {});
const PATIENCE = 50;
const enter = newEntrance(lock, commits, PATIENCE);

async function writeOnce(): Promise<void> {
  await lock.take();
  try {
    await enter('recoverable');
  } finally {
    lock.release();
  }
}

test('who need not wait enters at once', async () => {
  await lock.take();

  assert.equal(enter('durable'), undefined);
  assert.ok(lock.written);

  lock.release();
  commits.commit();
});

test('who has to wait gives up the lock meanwhile, and has it again afterwards', async () => {
  another.exec('begin immediate');
  await lock.take();
  const entering = enter('recoverable');

  assert.equal(lock.isTaken(), false);
  another.exec('rollback');
  await entering;

  assert.equal(lock.isTaken(), true);
  assert.ok(connection.file.isTransaction);
  lock.release();
  commits.commit();
});

test('all who waited are let in together', async () => {
  another.exec('begin immediate');
  const writing = Array.from({ length: 20 }, writeOnce);
  another.exec('rollback');

  await Promise.all(writing);

  assert.ok(connection.file.isTransaction);
  assert.equal(lock.isTaken(), false);
  commits.commit();
  assert.equal(connection.file.isTransaction, false);
});

test('once a wait was in vain nobody waits any more, until someone is let in', async () => {
  another.exec('begin immediate');
  const refusals = await Promise.allSettled([writeOnce(), writeOnce()]);
  assert.deepEqual(
    refusals.map((refusal) => refusal.status === 'rejected' && String(refusal.reason)),
    Array(2).fill('Error: database is locked'),
  );

  await lock.take();
  assert.throws(() => enter('recoverable'), /locked/);
  another.exec('rollback');
  assert.equal(enter('recoverable'), undefined);
  lock.release();
  commits.commit();

  another.exec('begin immediate');
  const writing = writeOnce();
  another.exec('rollback');
  await writing;
  commits.commit();
});

test('what fails for another reason is not waited for', async () => {
  connection.file.exec('begin');
  await lock.take();

  assert.throws(() => enter('recoverable'), /within a transaction/);

  lock.release();
  connection.file.exec('rollback');
});
