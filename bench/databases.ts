import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import { databaseUrl, runAsAdmin } from '../test/support/databases.ts';
import type { Setting } from './contender.ts';

/** One of the two databases that Gatehouse runs on, and what can be asked of it from outside. */
export interface Engine {
  name: 'sqlite' | 'postgres';
  title: string;
  needsBothCores: boolean;
  newUrl(): Promise<string>;
}

let made = 0;

export function enginesOf({ folder, postgresUrl }: Setting): Engine[] {
  const newFile = async () => {
    made += 1;
    return `sqlite:${join(folder, `grown-${made}.db`)}`;
  };
  return [
    { name: 'sqlite', title: 'SQLite', needsBothCores: false, newUrl: newFile },
    {
      name: 'postgres',
      title: 'PostgreSQL',
      needsBothCores: true,
      newUrl: async () => newDatabase(await postgresUrl()),
    },
  ];
}

export async function newDatabase(server: string): Promise<string> {
  const name = `bench_${randomUUID().replaceAll('-', '')}`;
  await runAsAdmin(server, [`create database ${name}`]);
  return databaseUrl(server, name);
}

/** The process of PostgreSQL that has started all others of it; SQLite has none. */
export async function findPostmaster(url: string): Promise<number | undefined> {
  if (url.startsWith('sqlite:')) return undefined;
  return ask(url, "select split_part(pg_read_file('postmaster.pid'), E'\\n', 1)");
}

/** The first column of the first row. */
export async function ask(url: string, text: string): Promise<number> {
  const [row = {}] = await askAll(url, text);
  return Number(Object.values(row)[0]);
}

export async function askAll(url: string, text: string): Promise<Record<string, unknown>[]> {
  if (url.startsWith('sqlite:')) {
    const file = new DatabaseSync(url.slice('sqlite:'.length), { timeout: 5000 });
    try {
      return file.prepare(text).all();
    } finally {
      file.close();
    }
  }
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

/** Rows in each table. */
export async function countRows(url: string): Promise<Map<string, number>> {
  const listed = url.startsWith('sqlite:')
    ? "select name from sqlite_schema where type = 'table'"
    : "select tablename as name from pg_tables where schemaname = 'public'";
  const counts = new Map<string, number>();
  for (const { name } of await askAll(url, listed)) {
    counts.set(String(name), await ask(url, `select count(*) from ${name}`));
  }
  return counts;
}

/** Bytes of the whole database, once its log has been worked in. */
export async function sizeOf(url: string): Promise<number> {
  if (!url.startsWith('sqlite:')) return ask(url, 'select pg_database_size(current_database())');
  await askAll(url, 'pragma wal_checkpoint(passive)');
  return statSync(url.slice('sqlite:'.length)).size;
}

/** Bytes of one table and all of its indexes. */
export async function tableSize(url: string, table: string): Promise<number> {
  if (!url.startsWith('sqlite:')) return ask(url, `select pg_total_relation_size('${table}')`);
  return ask(
    url,
    `select sum(pgsize) from dbstat where name in (select name from sqlite_schema where tbl_name = '${table}')`,
  );
}
