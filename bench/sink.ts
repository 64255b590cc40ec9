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
      file.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      file.close();
    },
  };
}

async function openPostgresSink(url: string): Promise<Sink> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('set synchronous_commit = off');
  return {
    async insert(table, count, rowAt) {
      const text = `insert into ${table} select * from json_populate_recordset(null::${table}, $1)`;
      for (let start = 0; start < count; start += AT_ONCE) {
        const length = Math.min(AT_ONCE, count - start);
        const rows = Array.from({ length }, (_, place) => rowAt(start + place));
        await client.query(text, [JSON.stringify(rows.map(withHexBytes))]);
      }
    },
    async close() {
      // As its own clean-up would, after so much that is new.
      await client.query('vacuum analyze');
      await client.end();
    },
  };
}

function withHexBytes(row: Row): Row {
  const { salt } = row;
  return Buffer.isBuffer(salt) ? { ...row, salt: `\\x${salt.toString('hex')}` } : row;
}
