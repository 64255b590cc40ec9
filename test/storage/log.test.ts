import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { StorageUnavailable } from '../../src/storage/errors.ts';
import { openConnection } from '../../src/storage/sqlite/connection.ts';
import { type Commits, newCommits } from '../../src/storage/sqlite/group-commit.ts';
import { openLog } from '../../src/storage/sqlite/wal-sync.ts';

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-test-'));
const path = join(folder, 'gatehouse.db');
const connection = openConnection(path);
const { file } = connection;
file.exec('create table notes (text)');

/** A disk that is done when it is told so. */
const busy: (() => void)[] = [];
const finishOne = async () => {
  busy.shift()?.();
  await setImmediate();
};
const log = openLog(path, (_, done) => busy.push(() => done(null)));
const commits: Commits = newCommits({ ...connection, log }, () => {});

afterEach(() => {
  commits.commit();
  while (busy.length > 0) busy.shift()?.();
});
after(() => {
  log.close();
  connection.log.close();
  file.close();
  rmSync(folder, { recursive: true, force: true });
});

function write(durability: 'durable' | 'recoverable') {
  const answer = { isGiven: false };
  commits.join(durability).then(() => {
    answer.isGiven = true;
  });
  file.exec(`insert into notes values ('one')`);
  return answer;
}

test('what is durable is answered once it is on disk, what is recoverable once it is committed', async () => {
  const [durable, recoverable] = [write('durable'), write('recoverable')];
  await setImmediate();
  assert.deepEqual([durable.isGiven, recoverable.isGiven], [false, false]);

  commits.commit();
  await setImmediate();
  assert.deepEqual([durable.isGiven, recoverable.isGiven], [false, true]);

  await finishOne();
  assert.equal(durable.isGiven, true);
});

test('where nothing is durable the disk is left alone', async () => {
  const recoverable = write('recoverable');
  commits.commit();
  await setImmediate();

  assert.equal(recoverable.isGiven, true);
  assert.equal(busy.length, 0);
});

test('what is committed while the disk is busy goes there next, all of it at once', async () => {
  const first = write('durable');
  commits.commit();
  const second = write('durable');
  commits.commit();
  const third = write('durable');
  commits.commit();
  await setImmediate();
  assert.equal(busy.length, 1);

  await finishOne();
  assert.deepEqual([first.isGiven, second.isGiven, third.isGiven], [true, false, false]);
  assert.equal(busy.length, 1);

  await finishOne();
  assert.deepEqual([second.isGiven, third.isGiven], [true, true]);
  assert.equal(busy.length, 0);
});

test('a flush is under way until the commit is on disk, for those who only read it, too', async () => {
  write('durable');
  commits.commit();
  let isFlushed = false;
  const flushed = log.syncing()?.then(() => {
    isFlushed = true;
  });
  await setImmediate();
  assert.equal(isFlushed, false);

  await finishOne();
  await flushed;
  assert.equal(isFlushed, true);
  assert.equal(log.syncing(), undefined);
});

test('a flush that takes too long is given up, nothing is written meanwhile, and the next one counts again', async () => {
  const file = openLog(path, (_, done) => busy.push(() => done(null)), 10);
  const stalling = newCommits({ ...connection, log: file }, () => {});
  const first = stalling.join('durable');
  stalling.commit();
  const second = stalling.join('durable');
  stalling.commit();

  await assert.rejects(first, StorageUnavailable);
  await assert.rejects(second, StorageUnavailable);
  await assert.rejects(file.sync(), StorageUnavailable);
  await assert.rejects(file.syncing() ?? Promise.resolve(), StorageUnavailable);
  assert.throws(() => stalling.join('recoverable'), StorageUnavailable);

  // What was committed meanwhile is flushed after all.
  await finishOne();
  const flushed = file.syncing();
  assert.equal(busy.length, 1);
  await finishOne();
  await flushed;
  stalling.join('recoverable');
  stalling.commit();
  file.close();
});

test('a commit that fails is told to everyone in it, and brings nothing to the disk', async () => {
  const told: unknown[] = [];
  for (const durability of ['durable', 'recoverable'] as const) {
    commits.join(durability).catch((error) => told.push(error));
  }
  file.exec('rollback');
  commits.commit();
  await setImmediate();

  assert.equal(told.length, 2);
  assert.match(String(told[0]), /no transaction is active/);
  assert.equal(busy.length, 0);
});

test('should the disk fail, the process ends: nobody knows then what is kept', () => {
  const module = JSON.stringify(new URL('../../src/storage/sqlite/wal-sync.ts', import.meta.url));
  const program = `
    const { openLog } = await import(${module});
    const log = openLog(${JSON.stringify(path)}, (_, done) => setImmediate(done, new Error('the disk is broken')));
    log.sync().then(() => console.log('kept'), () => console.log('refused'));
    setTimeout(() => console.log('alive'), 1000);`;

  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program]);

  assert.notEqual(status, 0);
  assert.match(String(stderr), /the disk is broken/);
  assert.equal(String(stdout), '');
});
