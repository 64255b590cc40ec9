import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import { databaseUrl, runAsAdmin } from '../test/support/databases.ts';
import type { BenchEnvironment } from './contender.ts';

/** A database engine that Gatehouse runs on. */
export interface Engine {
  name: 'sqlite' | 'postgres';
  title: string;
  needsBothCores: boolean;
  newUrl(): Promise<string>;
}

let created = 0;

export function createEngines({ folder, postgresUrl }: BenchEnvironment): Engine[] {
  const newFile = async () => {
    created += 1;
    return `sqlite:${join(folder, `grown-${created}.db`)}`;
  };
  return [
    { name: 'sqlite', title: 'SQLite', needsBothCores: false, newUrl: newFile },
    {
      name: 'postgres',
      title: 'PostgreSQL',
      needsBothCores: true,
      newUrl: async () => createDatabase(await postgresUrl()),
    },
  ];
}

export async function createDatabase(server: string): Promise<string> {
  const name = `bench_${randomUUID().replaceAll('-', '')}`;
  await runAsAdmin(server, [`create database ${name}`]);
  return databaseUrl(server, name);
}

/** The pid of PostgreSQL's main process; undefined for SQLite. */
export async function findPostmaster(url: string): Promise<number | undefined> {
  if (url.startsWith('sqlite:')) return undefined;
  return queryNumber(url, "select split_part(pg_read_file('postmaster.pid'), E'\\n', 1)");
}

/** The first column of the first row. */
export async function queryNumber(url: string, text: string): Promise<number> {
  const [row = {}] = await queryRows(url, text);
  return Number(Object.values(row)[0]);
}

export async function queryRows(url: string, text: string): Promise<Record<string, unknown>[]> {
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
  for (const { name } of await queryRows(url, listed)) {
    counts.set(String(name), await queryNumber(url, `select count(*) from ${name}`));
  }
  return counts;
}

/** Bytes of the whole database, after a checkpoint. */
export async function sizeOf(url: string): Promise<number> {
  if (!url.startsWith('sqlite:')) return queryNumber(url, 'select pg_database_size(current_database())');
  await queryRows(url, 'pragma wal_checkpoint(passive)');
  return statSync(url.slice('sqlite:'.length)).size;
}

/** Bytes of a table and all its indexes. */
export async function tableSize(url: string, table: string): Promise<number> {
  if (!url.startsWith('sqlite:')) return queryNumber(url, `select pg_total_relation_size('${table}')`);
  return queryNumber(
    url,
    `select sum(pgsize) from dbstat where name in (select name from sqlite_schema where tbl_name = '${table}')`,
  );
}
