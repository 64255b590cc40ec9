import { randomUUID } from 'node:crypto';
import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import pg from 'pg';
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

function createSqliteDatabase(folder: string): TestDatabase {
  const file = join(folder, 'gatehouse.db');
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

export const TEMPLATE = 'gatehouse_template';

async function createPostgresDatabase(server: string): Promise<TestDatabase> {
  const name = `gatehouse_${randomUUID().replaceAll('-', '')}`;
  const copies: string[] = [];
  await runAsAdmin(server, [`create database ${name} template ${TEMPLATE}`]);
  const disconnectAll = `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`;
  return {
    url: databaseUrl(server, name),
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
      await runAsAdmin(server, [disconnectAll, `create database ${copy} template ${name}`]);
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

export async function runAsAdmin(server: string, statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}
