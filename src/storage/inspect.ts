import { existsSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { type RawBuilder, sql } from 'kysely';
import { maxConnections, readPostgresUrl } from './postgres/url.ts';
import type { Storage } from './storage.ts';

/** For `gatehouse doctor`. */
export type Inspection = SqliteInspection | PostgresInspection;

interface SqliteInspection {
  engine: 'sqlite';
  /** Messages of SQLite's quick_check; empty if the file is intact. */
  damage: string[];
  fileBytes: number;
  walBytes: number;
  freeBytes: number;
  isReadableByOthers: boolean;
}

interface PostgresInspection {
  engine: 'postgres';
  version: string;
  /** The server's clock, in milliseconds since 1970. */
  now: number;
  fsync: boolean;
  fullPageWrites: boolean;
  maxConnections: number;
  /** The open connections of all clients. */
  connections: number;
  /** The most that one node opens. */
  connectionsPerNode: number;
  isUnencrypted: boolean;
}

export const isSqliteUrl = (url: string): boolean => url.startsWith('sqlite:');

export const sqliteFileOf = (url: string): string => url.slice('sqlite:'.length);

export function inspect(storage: Storage, url: string): Promise<Inspection> {
  return isSqliteUrl(url) ? inspectSqlite(storage, sqliteFileOf(url)) : inspectPostgres(storage, url);
}

/** Throws if the database is read-only. Changes nothing. */
export function checkWritable(storage: Storage): Promise<void> {
  return runAndRollBack(storage, sql`update migrations set name = name where 1 = 0`);
}

/**
 * A durable write that changed no row sends this statement, to wait for the synchronous standbys. Throws if the server rejects it, as
 * some services that resemble PostgreSQL do. Changes nothing.
 */
export function checkStandbyWait(storage: Storage): Promise<void> {
  return runAndRollBack(storage, sql`select pg_logical_emit_message(true, 'gatehouse', '')`);
}

async function runAndRollBack({ durable }: Storage, statement: RawBuilder<unknown>): Promise<void> {
  const tx = await durable.startTransaction().execute();
  try {
    await statement.execute(tx);
  } finally {
    await tx.rollback().execute();
  }
}

async function inspectSqlite({ durable }: Storage, file: string): Promise<SqliteInspection> {
  const { rows } = await sql<{ quick_check: string }>`pragma quick_check(10)`.execute(durable);
  const { bavail, bsize } = statfsSync(dirname(file));
  const { size, mode } = statSync(file);
  return {
    engine: 'sqlite',
    damage: rows.map(({ quick_check }) => quick_check).filter((line) => line !== 'ok'),
    fileBytes: size,
    walBytes: existsSync(`${file}-wal`) ? statSync(`${file}-wal`).size : 0,
    freeBytes: bavail * bsize,
    isReadableByOthers: (mode & 0o077) !== 0,
  };
}

async function inspectPostgres({ durable }: Storage, url: string): Promise<PostgresInspection> {
  const target = readPostgresUrl(url);
  const { ssl, hosts } = target;
  const { rows } = await sql<{ name: string; setting: string }>`
    select name, setting from pg_settings
    where name in ('server_version', 'fsync', 'full_page_writes', 'max_connections')`.execute(durable);
  const settings = new Map(rows.map(({ name, setting }) => [name, setting]));
  const { rows: live } = await sql<{ now: number; connections: number }>`
    select (extract(epoch from clock_timestamp()) * 1000)::bigint as now,
      (select count(*) from pg_stat_activity where backend_type = 'client backend') as connections`.execute(durable);
  return {
    engine: 'postgres',
    version: settings.get('server_version') ?? '',
    now: Number(live[0]?.now),
    fsync: settings.get('fsync') === 'on',
    fullPageWrites: settings.get('full_page_writes') === 'on',
    maxConnections: Number(settings.get('max_connections')),
    connections: Number(live[0]?.connections),
    connectionsPerNode: maxConnections(target),
    isUnencrypted: ssl === false && hosts.some(({ host }) => !/^(localhost|127\.|::1$|\/)/.test(host)),
  };
}
