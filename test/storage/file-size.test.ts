import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { sql } from 'kysely';
import { migrate } from '../../src/storage/migrate.ts';
import { openStorage } from '../../src/storage/open.ts';
import { startRetention } from '../../src/storage/retention.ts';
import type { Database, Storage } from '../../src/storage/storage.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';

const MB = 1024 * 1024;
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-test-'));
after(() => rmSync(folder, { recursive: true, force: true }));

async function open(path: string): Promise<Storage> {
  const storage = await openStorage(`sqlite:${path}`);
  await migrate(storage);
  return storage;
}

function write(db: Database, bytes: number): Promise<unknown> {
  const name = 'x'.repeat(bytes);
  return sql`insert into businesses (id, name, created_at) values (${randomUUID()}, ${name}, 0)`.execute(db);
}

test('a write-ahead log that grew during a long read is truncated afterwards', async () => {
  const path = join(folder, 'log.db');
  const storage = await open(path);
  const reader = new DatabaseSync(path);
  reader.exec('begin; select count(*) from businesses');
  for (let row = 0; row < 80; row++) await write(storage.relaxed, MB);
  const grown = statSync(`${path}-wal`).size;
  reader.exec('commit');
  reader.close();

  for (let row = 0; row < 20; row++) await write(storage.durable, 10);

  assert.ok(grown > 80 * MB);
  assert.ok(statSync(`${path}-wal`).size <= 64 * MB, `${statSync(`${path}-wal`).size}`);
  await storage.close();
});

test('after most rows were removed, the running server returns the free space to the file system', {
  timeout: 60_000,
}, async ({ signal }) => {
  const path = join(folder, 'rows.db');
  const storage = await open(path);
  for (let row = 0; row < 200; row++) await write(storage.relaxed, 100_000);
  await write(storage.durable, 10);
  const pages = async () => {
    const { rows } = await sql<{ page_count: number }>`pragma page_count`.execute(storage.durable);
    return rows[0]?.page_count ?? 0;
  };
  const before = await pages();
  await sql`delete from businesses where length(name) > 10`.execute(storage.durable);

  const report = (error: unknown) => assert.fail(String(error));
  const options = {
    steps: [],
    notifyExpiring: async () => 0,
    meter: createMetrics().retention,
    report,
    warn: report,
  };
  const stop = startRetention(storage, Date.now, options);
  while ((await pages()) > before / 4) await setTimeout(50, undefined, { signal });
  await stop();
  await storage.close();

  assert.ok(statSync(path).size < 10 * MB);
  const file = new DatabaseSync(path);
  assert.equal(file.prepare('pragma integrity_check').get()?.integrity_check, 'ok');
  assert.equal(file.prepare('select count(*) as rows from businesses').get()?.rows, 1);
  file.close();
});
