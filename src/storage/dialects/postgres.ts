import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  sql,
} from 'kysely';
import pg from 'pg';
import { RateLimiterPostgres } from 'rate-limiter-flexible';
import { sha256 } from '../../lib/secrets.ts';
import { StorageUnavailable } from '../errors.ts';
import { statementLog } from '../statements.ts';
import type { Haste, Storage } from '../storage.ts';
import type { Tables } from '../tables.ts';
import { connect, openPools, type Pools, usageOf } from './postgres-pools.ts';
import { readPostgresUrl } from './postgres-target.ts';

/** Two pools, one for each durability class: what differs is whether a commit waits for the disk (and a standby). */
export function openPostgres(url: string, haste: Haste): Storage {
  const target = readPostgresUrl(url);
  const durablePools = openPools(target, 'on', haste);
  const recoverablePools = openPools(target, 'off', haste);
  const durable = new Kysely<Tables>({ dialect: dialect(durablePools), ...statementLog() });
  const recoverable = new Kysely<Tables>({ dialect: dialect(recoverablePools), ...statementLog() });
  return {
    durable,
    recoverable,
    migratesItself: false,
    types: {
      id: sql`uuid`,
      bytes: sql`bytea`,
      integer: sql`integer`,
      time: sql`bigint`,
      amount: sql`numeric`,
      // Room on each page, so that a refresh updates its row in place and touches no index.
      updatedInPlace: sql`with (fillfactor = 80)`,
      appendOnly: (table) => [
        `create function ${table}_append_only() returns trigger language plpgsql as $$ begin raise exception '${table} is append-only'; end $$`,
        `create trigger ${table}_append_only before update or delete or truncate on ${table} for each statement execute function ${table}_append_only()`,
      ],
    },
    atomically: (work) => durable.transaction().execute(work),
    async check() {
      await sql`select 1`.execute(durable);
    },
    newSharedCounter: ({ name, points, seconds }) =>
      new RateLimiterPostgres({
        storeClient: { query: (query: pg.QueryConfig) => queryOnce(recoverablePools, query) },
        storeType: 'pool',
        tableName: 'rate_limits',
        tableCreated: true,
        clearExpiredByTimeout: false,
        keyPrefix: name,
        points,
        duration: seconds,
      }),
    readPools: () => [
      { name: 'durable', ...usageOf(durablePools) },
      { name: 'recoverable', ...usageOf(recoverablePools) },
    ],
    async close() {
      await Promise.all([...durablePools.all, ...recoverablePools.all].map((pool) => pool.end()));
    },
  };
}

function dialect(pools: Pools): Dialect {
  const driver: Driver = {
    async init() {},
    async acquireConnection() {
      return hold(await connect(pools));
    },
    async releaseConnection(connection) {
      const { client, isBroken } = connection as HeldConnection;
      client.release(isBroken);
    },
    async beginTransaction(connection) {
      const held = connection as HeldConnection;
      held.isInTransaction = true;
      await held.run('begin');
    },
    async commitTransaction(connection) {
      await (connection as HeldConnection).run('commit');
    },
    // A broken connection is thrown away, and the server rolls back by itself.
    async rollbackTransaction(connection) {
      const held = connection as HeldConnection;
      if (!held.isBroken) await held.run('rollback');
    },
    async destroy() {},
  };
  return {
    createDriver: () => driver,
    createAdapter: () => new PostgresAdapter(),
    createQueryCompiler: () => new PostgresQueryCompiler(),
    createIntrospector: (db) => new PostgresIntrospector(db),
  };
}

interface HeldConnection extends DatabaseConnection {
  client: pg.PoolClient;
  /** Its last statement met trouble of the server's: nobody else should be given it. */
  isBroken: boolean;
  isInTransaction: boolean;
  run(query: string | pg.QueryConfig): Promise<pg.QueryResult>;
}

function hold(client: pg.PoolClient): HeldConnection {
  const held: HeldConnection = {
    client,
    isBroken: false,
    isInTransaction: false,
    async run(query) {
      try {
        return await client.query(query);
      } catch (error) {
        const translated = translate(error);
        if (translated instanceof StorageUnavailable) held.isBroken = true;
        throw translated;
      }
    },
    async executeQuery<Result>({ sql: text, parameters }: CompiledQuery) {
      const query = { text, values: [...parameters] };
      const { rows, rowCount } = await held.run({ ...query, name: nameOf(text) }).catch((error) => {
        // The plan is older than a column that an upgrade has added: asked without its name, it is made anew.
        if (!isOutdatedPlan(error) || held.isInTransaction) throw error;
        return held.run(query);
      });
      return { rows: rows as Result[], numAffectedRows: BigInt(rowCount ?? 0) };
    },
    streamQuery() {
      throw new Error('Nothing here streams: every list is read page by page.');
    },
  };
  return held;
}

function isOutdatedPlan(error: unknown): boolean {
  const { cause } = error as { cause?: unknown };
  return cause instanceof pg.DatabaseError && cause.code === '0A000';
}

async function queryOnce(pools: Pools, query: pg.QueryConfig): Promise<pg.QueryResult> {
  const held = hold(await connect(pools));
  try {
    return await held.run(query);
  } finally {
    held.client.release(held.isBroken);
  }
}

/** A statement has the same name wherever it is sent, so that the server parses and plans it once per connection. */
const names = new Map<string, string>();

function nameOf(text: string): string {
  const known = names.get(text);
  if (known) return known;
  const name = sha256(text).slice(0, 24);
  names.set(text, name);
  return name;
}

/** SQLSTATEs that speak of the server and not of the statement: connection, resources, operator, system, locks, plans. */
const UNAVAILABLE = /^(08|53|57|58|40|55P03|25006|0A000)/;

/** What the server did not say itself never reached it, or never came back: a broken connection, a time limit. */
function translate(error: unknown): unknown {
  if (error instanceof StorageUnavailable) return error;
  if (error instanceof pg.DatabaseError && !UNAVAILABLE.test(error.code ?? '')) return error;
  return new StorageUnavailable('PostgreSQL is not available.', { cause: error });
}
