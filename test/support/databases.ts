import { randomUUID } from 'node:crypto';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import pg from 'pg';
import { migrate } from '../../src/storage/migrate.ts';
import { openStorage } from '../../src/storage/open.ts';
import type { Storage } from '../../src/storage/storage.ts';

/** The database of one test server, on either engine. */
interface TestDatabase {
  url: string;
  /** Makes every write fail, as on a read-only disk, until the returned function is called. */
  rejectWrites(storage: Storage): Promise<() => Promise<void>>;
  /** Copies the database. The returned function restores the copy while no server runs. */
  copy(storage: Storage): Promise<() => Promise<void>>;
  remove(): Promise<void>;
}

/** Uses the PostgreSQL server in `TEST_DATABASE_URL`; without it, SQLite. */
export async function createTestDatabase(folder: string): Promise<TestDatabase> {
  const server = process.env.TEST_DATABASE_URL;
  return server ? createPostgresDatabase(server) : createSqliteDatabase(folder);
}

async function createSqliteDatabase(folder: string): Promise<TestDatabase> {
  const file = join(folder, 'gatehouse.db');
  await createMigratedFile(file);
  return {
    url: `sqlite:${file}`,
    async rejectWrites({ durable }) {
      await sql`pragma query_only = on`.execute(durable);
      return async () => {
        await sql`pragma query_only = off`.execute(durable);
      };
    },
    async copy({ durable }) {
      const copy = `${file}.${randomUUID()}`;
      await sql`vacuum into ${copy}`.execute(durable);
      return async () => {
        for (const ending of ['', '-wal', '-shm']) rmSync(file + ending, { force: true });
        copyFileSync(copy, file);
      };
    },
    async remove() {},
  };
}

let migrated: Promise<Uint8Array> | undefined;

/** Migrating takes longer than most tests, so a process migrates one file and copies its bytes. */
export async function createMigratedFile(file: string): Promise<void> {
  migrated ??= migrateFile();
  writeFileSync(file, await migrated, { mode: 0o600 });
}

async function migrateFile(): Promise<Uint8Array> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-template-'));
  const file = join(folder, 'gatehouse.db');
  const storage = await openStorage(`sqlite:${file}`);
  await migrate(storage);
  await storage.close();
  const bytes = readFileSync(file);
  rmSync(folder, { recursive: true });
  return bytes;
}

export const TEMPLATE = 'gatehouse_template';

async function createPostgresDatabase(server: string): Promise<TestDatabase> {
  const name = `gatehouse_${randomUUID().replaceAll('-', '')}`;
  const copies: string[] = [];
  // The default strategy, wal_log, takes three times as long.
  await runAsAdmin(server, [`create database ${name} template ${TEMPLATE} strategy file_copy`]);
  const disconnectAll = `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`;
  const url = withLongConnectTimeout(databaseUrl(server, name));
  return {
    url,
    async rejectWrites(storage) {
      await runAsAdmin(server, [`alter database ${name} set default_transaction_read_only = on`, disconnectAll]);
      await reconnect(storage);
      return async () => {
        await runAsAdmin(server, [`alter database ${name} reset default_transaction_read_only`, disconnectAll]);
        await reconnect(storage);
      };
    },
    async copy() {
      const copy = `${name}_${copies.length}`;
      copies.push(copy);
      await retryInUse(() => runAsAdmin(server, [disconnectAll, `create database ${copy} template ${name}`]));
      return () =>
        runAsAdmin(server, [`drop database ${name} with (force)`, `create database ${name} template ${copy}`]);
    },
    remove: () =>
      runAsAdmin(
        server,
        [name, ...copies].map((each) => `drop database if exists ${each} with (force)`),
      ),
  };
}

/** The running server may connect again before PostgreSQL locks the database that is copied. */
async function retryInUse(work: () => Promise<void>): Promise<void> {
  while (true) {
    try {
      return await work();
    } catch (error) {
      if ((error as { code?: string }).code !== OBJECT_IN_USE) throw error;
    }
  }
}

/** PostgreSQL's SQLSTATE. */
const OBJECT_IN_USE = '55006';

/** Queries until the pool has replaced its closed connections. */
async function reconnect({ durable, relaxed }: Storage): Promise<void> {
  for (const db of [durable, relaxed]) {
    for (let inRow = 0; inRow < 5; ) {
      const isGood = await sql`select 1`.execute(db).then(
        () => true,
        () => false,
      );
      inRow = isGood ? inRow + 1 : 0;
    }
  }
}

export function databaseUrl(server: string, name: string): string {
  return server.replace(/\/[^/?]*(\?|$)/, `/${name}$1`);
}

/** On a busy machine a connection takes seconds to open. A test about an outage sets a shorter time itself. */
export function withLongConnectTimeout(url: string): string {
  if (url.startsWith('sqlite:') || url.includes('connect_timeout=')) return url;
  return `${url}${url.includes('?') ? '&' : '?'}connect_timeout=20`;
}

export async function runAsAdmin(server: string, statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}
