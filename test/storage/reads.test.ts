import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, beforeEach, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { openConnection } from '../../src/storage/sqlite/connection.ts';
import { newLock } from '../../src/storage/sqlite/file-lock.ts';
import { newCommits } from '../../src/storage/sqlite/group-commit.ts';
import { newReads } from '../../src/storage/sqlite/reads.ts';

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

const lock = newLock();
const commits = newCommits(connection, () => {});
const readInTurn = newReads(connection, lock, commits);
const count = () => file.prepare('select count(*) as notes from notes').get()?.notes;
const addElsewhere = () => another.exec(`insert into notes values ('from another process')`);

test('what is asked in one turn is read in one state, whatever another process commits meanwhile', async () => {
  const first = readInTurn(() => {
    const found = count();
    addElsewhere();
    return found;
  });
  const second = readInTurn(count);

  assert.deepEqual(await Promise.all([first, second]), [0, 0]);
  assert.equal(await readInTurn(count), 1);
});

test('what was written in the same turn is committed first, and then seen', async () => {
  const found = Promise.all([readInTurn(count), readInTurn(count)]);
  const committed = commits.join('recoverable');
  file.exec(`insert into notes values ('ours')`);

  assert.deepEqual(await found, [1, 1]);
  assert.equal(file.isTransaction, false);
  await committed;
});

test('what a failed commit takes back is never seen', async () => {
  file.exec('create table parents (id integer primary key)');
  file.exec('create table children (parent references parents deferrable initially deferred)');
  const found = Promise.all([readInTurn(count), readInTurn(count)]);
  const committed = commits.join('recoverable');
  file.exec(`insert into notes values ('ours'); insert into children values (17)`);

  await assert.rejects(committed);
  assert.deepEqual(await found, [0, 0]);
  assert.equal(file.isTransaction, false);
});

test('one that cannot be read fails alone', async () => {
  const wrong = readInTurn(() => file.prepare('select * from nowhere'));
  const right = readInTurn(count);

  await assert.rejects(wrong, /nowhere/);
  assert.equal(await right, 0);
  assert.equal(file.isTransaction, false);
});

test('while someone has a transaction open nothing is read, and afterwards everything', async () => {
  await lock.take();
  file.exec(`begin; insert into notes values ('half of it')`);
  let isRead = false;
  const found = readInTurn(() => {
    isRead = true;
    return count();
  });
  await setImmediate();
  await setImmediate();
  assert.equal(isRead, false);

  file.exec('rollback');
  lock.release();

  assert.equal(await found, 0);
  assert.equal(lock.isTaken(), false);
});

test('however many are asked in one turn, each is given its own answer', async () => {
  const asked = Array.from({ length: 1000 }, (_, number) => number);
  const statement = file.prepare('select ? as number');

  const answers = await Promise.all(asked.map((number) => readInTurn(() => statement.get(number)?.number)));

  assert.deepEqual(answers, asked);
});

test('one alone is read as well, and leaves no transaction open', async () => {
  addElsewhere();

  assert.equal(await readInTurn(count), 1);
  assert.equal(file.isTransaction, false);
});

test('once the file is closed, all who had asked are refused, and none waits', async () => {
  const asked = [readInTurn(count), readInTurn(count)];
  file.close();

  for (const answer of asked) await assert.rejects(answer, /not open|finalized/);
});
