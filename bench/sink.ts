import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import pg from 'pg';

export type Row = Record<string, string | number | Buffer | null>;

/** Rows go in here as fast as they can, past everything that would check them. */
export interface Sink {
  insert(table: string, count: number, rowAt: (n: number) => Row): Promise<void>;
  close(): Promise<void>;
}

/** What a statement takes at once. */
const AT_ONCE = 5000;

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

/** But for those that a constraint stands on. */
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
      // While one part is taken in, the next is made.
      let taken = Promise.resolve();
      for (let start = 0; start < count; start += AT_ONCE) {
        const length = Math.min(AT_ONCE, count - start);
        const lines = Array.from({ length }, (_, place) => copyLine(rowAt(start + place)));
        await taken;
        taken = copyIn(client, text, Buffer.from(lines.join('')));
      }
      await taken;
    },
    async close() {
      for (const { sql } of indexes) await client.query(sql);
      // As its own clean-up would, after so much that is new.
      await client.query('vacuum analyze');
      // In one that has been asked for a while, all that is asked about is in memory: it has room for it.
      await client.query('create extension if not exists pg_prewarm');
      await client.query(`select pg_prewarm(oid::regclass) from pg_class
        where relkind in ('r', 'i') and relnamespace = 'public'::regnamespace`);
      // What is still to be written would otherwise be written while something else is measured.
      await client.query('checkpoint');
      await client.end();
    },
  };
}

/** A row as `copy` reads it. */
function copyLine(row: Row): string {
  const cells = Object.values(row).map((value) => {
    if (value === null) return '\\N';
    return Buffer.isBuffer(value) ? `\\\\x${value.toString('hex')}` : String(value).replaceAll('\\', '\\\\');
  });
  return `${cells.join('\t')}\n`;
}

/** What the driver leaves to a package of its own: one message of data where it is asked for. */
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
