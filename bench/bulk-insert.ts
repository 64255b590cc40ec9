import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import pg from 'pg';

export type Row = Record<string, string | number | Buffer | null>;

/** Inserts many rows, without constraints and secondary indexes. */
export interface Sink {
  insert(table: string, count: number, rowAt: (n: number) => Row): Promise<void>;
  close(): Promise<void>;
}

/** Rows per COPY statement. */
const BATCH_SIZE = 5000;

export async function openSink(url: string): Promise<Sink> {
  return url.startsWith('sqlite:') ? openSqliteSink(url.slice('sqlite:'.length)) : openPostgresSink(url);
}

function openSqliteSink(path: string): Sink {
  const file = new DatabaseSync(path);
  file.exec('PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF; PRAGMA cache_size = -1000000');
  const indexes = file.prepare(`select name, sql from sqlite_schema where type = 'index' and sql is not null`).all();
  for (const { name } of indexes) file.exec(`drop index ${name}`);
  return {
    async insert(table, count, rowAt) {
      if (count === 0) return;
      const names = Object.keys(rowAt(0));
      const statement = file.prepare(`insert into ${table} (${names}) values (${names.map(() => '?')})`);
      file.exec('begin');
      for (let n = 0; n < count; n += 1) statement.run(...(Object.values(rowAt(n)) as SQLInputValue[]));
      file.exec('commit');
    },
    async close() {
      for (const { sql } of indexes) file.exec(String(sql));
      file.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      file.close();
    },
  };
}

/** Without the indexes of constraints. */
const PLAIN_INDEXES = `select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as sql from pg_index
  where indrelid in (select oid from pg_class where relnamespace = 'public'::regnamespace)
  and not exists (select from pg_constraint where conindid = indexrelid)`;

async function openPostgresSink(url: string): Promise<Sink> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(
    `set synchronous_commit = off; set session_replication_role = replica; set maintenance_work_mem = '512MB'`,
  );
  const { rows: indexes } = await client.query<{ name: string; sql: string }>(PLAIN_INDEXES);
  for (const { name } of indexes) await client.query(`drop index ${name}`);
  return {
    async insert(table, count, rowAt) {
      if (count === 0) return;
      const text = `copy ${table} (${Object.keys(rowAt(0))}) from stdin`;
      // The next batch is built while the previous one is copied.
      let copied = Promise.resolve();
      for (let start = 0; start < count; start += BATCH_SIZE) {
        const length = Math.min(BATCH_SIZE, count - start);
        const lines = Array.from({ length }, (_, index) => copyLine(rowAt(start + index)));
        await copied;
        copied = copyIn(client, text, Buffer.from(lines.join('')));
      }
      await copied;
    },
    async close() {
      for (const { sql } of indexes) await client.query(sql);
      // As autovacuum would.
      await client.query('vacuum analyze');
      // After some time of service the whole database would be in memory.
      await client.query('create extension if not exists pg_prewarm');
      await client.query(`select pg_prewarm(oid::regclass) from pg_class
        where relkind in ('r', 'i') and relnamespace = 'public'::regnamespace`);
      // Otherwise the checkpoint would run during a measurement.
      await client.query('checkpoint');
      await client.end();
    },
  };
}

/** A row in COPY's text format. */
function copyLine(row: Row): string {
  const cells = Object.values(row).map((value) => {
    if (value === null) return '\\N';
    return Buffer.isBuffer(value) ? `\\\\x${value.toString('hex')}` : String(value).replaceAll('\\', '\\\\');
  });
  return `${cells.join('\t')}\n`;
}

/** COPY FROM STDIN, which the driver itself does not support. */
function copyIn(client: pg.Client, text: string, data: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const copying = new pg.Query(text);
    Object.assign(copying, {
      handleCopyInResponse(connection: { sendCopyFromChunk(chunk: Buffer): void; endCopyFrom(): void }) {
        connection.sendCopyFromChunk(data);
        connection.endCopyFrom();
      },
    });
    copying.on('end', () => resolve());
    copying.on('error', reject);
    client.query(copying);
  });
}
