import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, beforeEach, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { openConnection } from '../../src/storage/sqlite/connection.ts';
import { createGroupCommit } from '../../src/storage/sqlite/group-commit.ts';
import { createReadBatch } from '../../src/storage/sqlite/read-batch.ts';
import { createConnectionLock } from '../../src/storage/sqlite/write-lock.ts';

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-test-'));
const path = join(folder, 'gatehouse.db');
const connection = openConnection(path);
const { file } = connection;
file.exec('create table notes (text)');
const another = new DatabaseSync(path);
after(() => {
  another.close();
  if (file.isOpen) file.close();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => file.exec('delete from notes'));

const lock = createConnectionLock();
const commits = createGroupCommit(connection, () => {});
const batchRead = createReadBatch(connection, lock, commits);
const count = () => file.prepare('select count(*) as notes from notes').get()?.notes;
const addElsewhere = () => another.exec(`insert into notes values ('from another process')`);

test('reads of one event loop iteration see one snapshot, whatever another process commits meanwhile', async () => {
  const first = batchRead(() => {
    const found = count();
    addElsewhere();
    return found;
  });
  const second = batchRead(count);

  assert.deepEqual(await Promise.all([first, second]), [0, 0]);
  assert.equal(await batchRead(count), 1);
});

test('writes of the same iteration are committed first, and the reads see them', async () => {
  const found = Promise.all([batchRead(count), batchRead(count)]);
  const committed = commits.join('relaxed');
  file.exec(`insert into notes values ('ours')`);

  assert.deepEqual(await found, [1, 1]);
  assert.equal(file.isTransaction, false);
  await committed;
});

test('reads never see what a failed commit rolls back', async () => {
  file.exec('create table parents (id integer primary key)');
  file.exec('create table children (parent references parents deferrable initially deferred)');
  const found = Promise.all([batchRead(count), batchRead(count)]);
  const committed = commits.join('relaxed');
  file.exec(`insert into notes values ('ours'); insert into children values (17)`);

  await assert.rejects(committed);
  assert.deepEqual(await found, [0, 0]);
  assert.equal(file.isTransaction, false);
});

test('a read that fails does not affect the others', async () => {
  const wrong = batchRead(() => file.prepare('select * from nowhere'));
  const right = batchRead(count);

  await assert.rejects(wrong, /nowhere/);
  assert.equal(await right, 0);
  assert.equal(file.isTransaction, false);
});

test('reads wait until an open transaction has ended', async () => {
  await lock.acquire();
  file.exec(`begin; insert into notes values ('half of it')`);
  let isRead = false;
  const found = batchRead(() => {
    isRead = true;
    return count();
  });
  await setImmediate();
  await setImmediate();
  assert.equal(isRead, false);

  file.exec('rollback');
  lock.release();

  assert.equal(await found, 0);
  assert.equal(lock.isTaken, false);
});

test('a thousand reads of one iteration each return their own result', async () => {
  const numbers = Array.from({ length: 1000 }, (_, number) => number);
  const statement = file.prepare('select ? as number');

  const results = await Promise.all(numbers.map((number) => batchRead(() => statement.get(number)?.number)));

  assert.deepEqual(results, numbers);
});

test('a single read leaves no transaction open', async () => {
  addElsewhere();

  assert.equal(await batchRead(count), 1);
  assert.equal(file.isTransaction, false);
});

test('when the file is closed, pending reads are rejected', async () => {
  const pending = [batchRead(count), batchRead(count)];
  file.close();

  for (const read of pending) await assert.rejects(read, /not open|finalized/);
});
