import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { openConnection } from '../../src/storage/sqlite/connection.ts';
import { createGroupCommit, type GroupCommit } from '../../src/storage/sqlite/group-commit.ts';
import { openWal } from '../../src/storage/sqlite/wal-sync.ts';
import { StorageUnavailable } from '../../src/storage/storage.ts';

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-test-'));
const path = join(folder, 'gatehouse.db');
const connection = openConnection(path);
const { file } = connection;
file.exec('create table notes (text)');

/** A disk that finishes a sync when the test says so. */
const busy: (() => void)[] = [];
const finishOne = async () => {
  busy.shift()?.();
  await setImmediate();
};
const wal = openWal(path, (_, done) => busy.push(() => done(null)));
const commits: GroupCommit = createGroupCommit({ ...connection, wal }, () => {});

afterEach(() => {
  commits.commit();
  while (busy.length > 0) busy.shift()?.();
});
after(() => {
  wal.close();
  connection.wal.close();
  file.close();
  rmSync(folder, { recursive: true, force: true });
});

function write(durability: 'durable' | 'relaxed') {
  const result = { isResolved: false };
  commits.join(durability).then(() => {
    result.isResolved = true;
  });
  file.exec(`insert into notes values ('one')`);
  return result;
}

test('a durable write resolves when it is on disk, a relaxed one when it is committed', async () => {
  const [durable, relaxed] = [write('durable'), write('relaxed')];
  await setImmediate();
  assert.deepEqual([durable.isResolved, relaxed.isResolved], [false, false]);

  commits.commit();
  await setImmediate();
  assert.deepEqual([durable.isResolved, relaxed.isResolved], [false, true]);

  await finishOne();
  assert.equal(durable.isResolved, true);
});

test('a commit of relaxed writes is not synced', async () => {
  const relaxed = write('relaxed');
  commits.commit();
  await setImmediate();

  assert.equal(relaxed.isResolved, true);
  assert.equal(busy.length, 0);
});

test('commits that arrive during a sync share the next one', async () => {
  const first = write('durable');
  commits.commit();
  const second = write('durable');
  commits.commit();
  const third = write('durable');
  commits.commit();
  await setImmediate();
  assert.equal(busy.length, 1);

  await finishOne();
  assert.deepEqual([first.isResolved, second.isResolved, third.isResolved], [true, false, false]);
  assert.equal(busy.length, 1);

  await finishOne();
  assert.deepEqual([second.isResolved, third.isResolved], [true, true]);
  assert.equal(busy.length, 0);
});

test('a sync is pending until the commit is on disk', async () => {
  write('durable');
  commits.commit();
  let isFlushed = false;
  const flushed = wal.pendingSync()?.then(() => {
    isFlushed = true;
  });
  await setImmediate();
  assert.equal(isFlushed, false);

  await finishOne();
  await flushed;
  assert.equal(isFlushed, true);
  assert.equal(wal.pendingSync(), undefined);
});

test('a sync that takes too long rejects all writes until the disk has confirmed it', async () => {
  const stalled = openWal(path, (_, done) => busy.push(() => done(null)), 10);
  const stalling = createGroupCommit({ ...connection, wal: stalled }, () => {});
  const first = stalling.join('durable');
  stalling.commit();
  const second = stalling.join('durable');
  stalling.commit();

  await assert.rejects(first, StorageUnavailable);
  await assert.rejects(second, StorageUnavailable);
  await assert.rejects(stalled.sync(), StorageUnavailable);
  await assert.rejects(stalled.pendingSync() ?? Promise.resolve(), StorageUnavailable);
  assert.throws(() => stalling.join('relaxed'), StorageUnavailable);

  // The commit that was rejected meanwhile is synced as well.
  await finishOne();
  const flushed = stalled.pendingSync();
  assert.equal(busy.length, 1);
  await finishOne();
  await flushed;
  stalling.join('relaxed');
  stalling.commit();
  stalled.close();
});

test('a commit that fails rejects all its writes, and is not synced', async () => {
  const errors: unknown[] = [];
  for (const durability of ['durable', 'relaxed'] as const) {
    commits.join(durability).catch((error) => errors.push(error));
  }
  file.exec('rollback');
  commits.commit();
  await setImmediate();

  assert.equal(errors.length, 2);
  assert.match(String(errors[0]), /no transaction is active/);
  assert.equal(busy.length, 0);
});

test('the process ends if a sync fails: what is on disk is unknown then', () => {
  const module = JSON.stringify(new URL('../../src/storage/sqlite/wal-sync.ts', import.meta.url));
  const program = `
    const { openWal } = await import(${module});
    const wal = openWal(${JSON.stringify(path)}, (_, done) => setImmediate(done, new Error('the disk is broken')));
    wal.sync().then(() => console.log('resolved'), () => console.log('rejected'));
    setTimeout(() => console.log('alive'), 1000);`;

  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program]);

  assert.notEqual(status, 0);
  assert.match(String(stderr), /the disk is broken/);
  assert.equal(String(stdout), '');
});
