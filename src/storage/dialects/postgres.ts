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
import { SECOND } from '../../lib/clock.ts';
import { sha256 } from '../../lib/secrets.ts';
import { StorageUnavailable } from '../errors.ts';
import type { Storage } from '../storage.ts';
import type { Tables } from '../tables.ts';
import { type PostgresTarget, readPostgresUrl } from './postgres-target.ts';

/** Short enough that a database in trouble is noticed at once, and nobody queues behind it. */
const CONNECT_WITHIN = 2 * SECOND;
const ANSWER_WITHIN = 4 * SECOND;
const SERVER_LIMITS = [
  `statement_timeout=${3 * SECOND}`,
  `lock_timeout=${2 * SECOND}`,
  `idle_in_transaction_session_timeout=${10 * SECOND}`,
];

/** Two pools, one for each durability class: what differs is whether a commit waits for the disk (and a standby). */
export function openPostgres(url: string): Storage {
  const target = readPostgresUrl(url);
  const durablePools = openPools(target, 'synchronous_commit=on');
  const recoverablePools = openPools(target, 'synchronous_commit=off');
  const durable = new Kysely<Tables>({ dialect: dialect(durablePools) });
  const recoverable = new Kysely<Tables>({ dialect: dialect(recoverablePools) });
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
    async close() {
      await Promise.all([...durablePools.all, ...recoverablePools.all].map((pool) => pool.end()));
    },
  };
}

/** One pool per host. Only the writable one ever hands out connections; which that is may change. */
interface Pools {
  all: pg.Pool[];
  last: number;
}

function openPools({ hosts, user, password, database, poolSize, ssl }: PostgresTarget, commit: string): Pools {
  const options = [commit, ...SERVER_LIMITS].map((setting) => `-c ${setting}`).join(' ');
  const all = hosts.map(({ host, port }) => {
    const pool = new pg.Pool({
      host,
      port,
      user,
      password,
      database,
      ssl,
      options,
      max: poolSize,
      connectionTimeoutMillis: CONNECT_WITHIN,
      query_timeout: ANSWER_WITHIN,
      keepAlive: true,
      application_name: 'gatehouse',
      types: { getTypeParser },
      onConnect: refuseStandby,
    });
    // A connection that breaks while it is idle is simply gone; the next one is opened when it is needed.
    pool.on('error', () => {});
    return pool;
  });
  return { all, last: 0 };
}

/** Decisions about tokens are never read from a replica: it may not have heard of a revocation yet. */
async function refuseStandby(client: pg.ClientBase): Promise<void> {
  client.on('error', () => {});
  const { rows } = await client.query('select pg_is_in_recovery() as standby');
  if (rows[0].standby) throw new StorageUnavailable('This server is a standby.');
}

/** Times and rotations are whole numbers that JavaScript can hold; everything else is as `pg` reads it. */
const getTypeParser: typeof pg.types.getTypeParser = (oid: number, format?: 'text' | 'binary') =>
  oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format as 'text');

async function connect(pools: Pools): Promise<pg.PoolClient> {
  let failure: unknown;
  for (let i = 0; i < pools.all.length; i++) {
    const place = (pools.last + i) % pools.all.length;
    try {
      const client = await pools.all[place]?.connect();
      pools.last = place;
      if (client) return client;
    } catch (error) {
      failure = error;
    }
  }
  const reason = failure instanceof Error ? failure.message : String(failure);
  throw new StorageUnavailable(`No writable PostgreSQL can be reached: ${reason}.`, { cause: failure });
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
      await (connection as HeldConnection).run('begin');
    },
    async commitTransaction(connection) {
      await (connection as HeldConnection).run('commit');
    },
    // A connection that cannot even roll back is thrown away, and the server rolls back by itself.
    async rollbackTransaction(connection) {
      await (connection as HeldConnection).run('rollback').catch(() => {});
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
  run(query: string | pg.QueryConfig): Promise<pg.QueryResult>;
}

function hold(client: pg.PoolClient): HeldConnection {
  const held: HeldConnection = {
    client,
    isBroken: false,
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
      const { rows, rowCount } = await held.run({ name: nameOf(text), text, values: [...parameters] });
      return { rows: rows as Result[], numAffectedRows: BigInt(rowCount ?? 0) };
    },
    streamQuery() {
      throw new Error('Nothing here streams: every list is read page by page.');
    },
  };
  return held;
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

/** SQLSTATE classes that speak of the server and not of the statement: connection, resources, operator, system, locks. */
const UNAVAILABLE = /^(08|53|57|58|40|55P03|25006)/;

function translate(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof StorageUnavailable) return error;
  const code = 'code' in error ? String(error.code) : '';
  const isSqlState = /^[0-9A-Z]{5}$/.test(code);
  // What has no SQLSTATE never came from the server: a refused or broken connection, a time limit.
  if (isSqlState && !UNAVAILABLE.test(code)) return error;
  return new StorageUnavailable('PostgreSQL is not available.', { cause: error });
}
