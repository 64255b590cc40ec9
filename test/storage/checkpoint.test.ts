import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { sql } from 'kysely';
import { migrate } from '../../src/storage/migrate.ts';
import { openStorage } from '../../src/storage/open.ts';
import type { Database, Storage } from '../../src/storage/storage.ts';

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-test-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** A value of one page. */
const NAME = 'x'.repeat(4000);

async function open(path: string): Promise<Storage> {
  const storage = await openStorage(`sqlite:${path}`);
  await migrate(storage);
  return storage;
}

function write(db: Database): Promise<unknown> {
  return sql`insert into businesses (id, name, created_at) values (${randomUUID()}, ${NAME}, 0)`.execute(db);
}

/** How many pages are in the log, and how many of them are checkpointed. */
function readLogSize(file: DatabaseSync) {
  return file.prepare('PRAGMA wal_checkpoint(NOOP)').get() as { log: number; checkpointed: number };
}

test('the log is checkpointed and restarts while it is written to, and nothing is lost', async () => {
  const path = join(folder, 'busy.db');
  const storage = await open(path);
  const file = new DatabaseSync(path);
  let written = 0;
  let longest = 0;
  for (let log = 0; log >= longest; log = readLogSize(file).log) {
    longest = log;
    // First as fast as possible, then with pauses: on a busy machine the thread may start late.
    const [rows, db, pause] = log < 2000 ? [10, storage.relaxed, 0] : [1, storage.durable, 10];
    await Promise.all(Array.from({ length: rows }, () => write(db)));
    written += rows;
    if (pause > 0) await setTimeout(pause);
  }

  assert.ok(longest >= 1000 && longest < 16_000, `it restarted after ${longest} pages`);
  assert.equal(file.prepare('select count(*) as rows from businesses').get()?.rows, written);
  assert.equal(file.prepare('PRAGMA integrity_check').get()?.integrity_check, 'ok');
  file.close();
  await storage.close();
  assert.equal(existsSync(`${path}-wal`), false);
});

test('a reader keeps its snapshot, however much is written meanwhile', async () => {
  const path = join(folder, 'read.db');
  const storage = await open(path);
  const reader = new DatabaseSync(path);
  reader.exec('begin');
  assert.equal(reader.prepare('select count(*) as rows from businesses').get()?.rows, 0);

  for (let batch = 0; batch < 200; batch += 1)
    await Promise.all(Array.from({ length: 10 }, () => write(storage.relaxed)));

  assert.equal(reader.prepare('select count(*) as rows from businesses').get()?.rows, 0);
  reader.exec('commit');
  assert.equal(reader.prepare('select count(*) as rows from businesses').get()?.rows, 2000);
  reader.close();
  await storage.close();
});

test('writes continue after the file was removed, and it is not created again', async () => {
  const path = join(folder, 'gone.db');
  const storage = await open(path);
  for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`);

  for (let row = 0; row < 2000; row += 1) await write(storage.relaxed);

  const { rows } = await sql<{ rows: number }>`select count(*) as rows from businesses`.execute(storage.durable);
  assert.equal(rows[0]?.rows, 2000);
  await storage.close();
  assert.equal(existsSync(path), false);
});

test('the thread loads only itself, so that it starts quickly and takes little memory', () => {
  const source = readFileSync(new URL('../../src/storage/sqlite/checkpoint-thread.ts', import.meta.url), 'utf8');
  const loaded = [...source.matchAll(/^import (?!type ).* from '([^']+)'/gm)].map(([, name = '']) => name);

  assert.deepEqual(
    loaded.filter((name) => !name.startsWith('node:')),
    [],
  );
});
