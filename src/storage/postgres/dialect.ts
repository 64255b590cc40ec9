import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
  sql,
} from 'kysely';
import type pg from 'pg';
import { RateLimiterPostgres } from 'rate-limiter-flexible';
import { sha256 } from '../../lib/secrets.ts';
import { StorageUnavailable } from '../errors.ts';
import { addShortcut } from '../prepared.ts';
import { statementLog } from '../statements.ts';
import type { Storage, TimeoutProfile } from '../storage.ts';
import type { Tables } from '../tables.ts';
import { isOutdatedPlan, translate } from './errors.ts';
import { newShared, retryLocked, SHARED_LOCK_TIMEOUT, type Shared } from './pipeline.ts';
import { connect, openPools, type Pools, usageOf } from './pools.ts';
import { readPostgresUrl } from './target.ts';

/**
 * Two pools, one for each durability class: what differs is whether a commit waits for the disk (and a standby). Two
 * connections more are shared by statements that stand alone and are quickly done.
 */
export function openPostgres(url: string, haste: TimeoutProfile): Storage {
  const target = readPostgresUrl(url);
  const durablePools = openPools(target, haste, { commit: 'on' });
  const recoverablePools = openPools(target, haste, { commit: 'off' });
  const shared = { commit: 'off', pipeline: true } as const;
  const readPools = openPools({ ...target, poolSize: 1 }, haste, shared);
  const writePools = openPools({ ...target, poolSize: 1 }, haste, { ...shared, lockTimeout: SHARED_LOCK_TIMEOUT });
  const [reads, writes] = [newShared(readPools), retryLocked(newShared(writePools))];
  const durable = new Kysely<Tables>({ dialect: dialect(durablePools), ...statementLog() });
  const recoverable = new Kysely<Tables>({ dialect: dialect(recoverablePools), ...statementLog() });
  const write: Execute = (text, values) => holding(durablePools, (held) => held.execute(text, values));
  addShortcut(durable, executeAlone(reads, write));
  addShortcut(
    recoverable,
    executeAlone(reads, (text, values) => execute(writes, text, values)),
  );
  return {
    durable,
    relaxed: recoverable,
    migratesItself: false,
    types: {
      id: sql`uuid`,
      bytes: sql`bytea`,
      integer: sql`integer`,
      time: sql`bigint`,
      amount: sql`numeric`,
      // Room on each page, so that a refresh updates its row in place and touches no index.
      updatedInPlace: sql`with (fillfactor = 80)`,
      appendOnly: (table, retention) => [
        `create function ${table}_append_only() returns trigger language plpgsql as $$ begin
          if tg_op = 'DELETE' then
            if old.at < (select removable_before from ${retention}) then return old; end if;
          end if;
          raise exception '${table} is append-only'; end $$`,
        `create trigger ${table}_append_only before update or delete on ${table} for each row execute function ${table}_append_only()`,
        `create trigger ${table}_no_truncate before truncate on ${table} for each statement execute function ${table}_append_only()`,
      ],
    },
    transaction: (work) => durable.transaction().execute(work),
    async check() {
      await sql`select 1`.execute(durable);
    },
    newSharedCounter: ({ name, points, seconds }) =>
      new RateLimiterPostgres({
        storeClient: { query: (query: pg.QueryConfig) => holding(recoverablePools, ({ run }) => run(query)) },
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
      await Promise.all([reads.close(), writes.close()]);
      const pools = [durablePools, recoverablePools, readPools, writePools].flatMap(({ all }) => all);
      await Promise.all(pools.map((pool) => pool.end()));
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
  execute: Execute;
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
    async execute(text, values) {
      const result = await held.run({ name: nameOf(text), text, values }).catch((error) => {
        if (!isOutdatedPlan(error) || held.isInTransaction) throw error;
        return held.run({ text, values });
      });
      return toResult(result);
    },
    executeQuery: <Row>({ sql: text, parameters }: CompiledQuery) =>
      held.execute(text, [...parameters]) as Promise<QueryResult<Row>>,
    streamQuery() {
      throw new Error('Nothing here streams: every list is read page by page.');
    },
  };
  return held;
}

type Execute = (text: string, values: unknown[]) => Promise<QueryResult<unknown>>;

/** One statement by itself, as Kysely would have it. */
function executeAlone(reads: Shared, write: Execute) {
  return <Row>(text: string, values: unknown[]) => {
    const isRead = text.startsWith('select ');
    return (isRead ? execute(reads, text, values) : write(text, values)) as Promise<QueryResult<Row>>;
  };
}

async function execute(shared: Shared, text: string, values: unknown[]): Promise<QueryResult<unknown>> {
  return toResult(await shared.run({ name: nameOf(text), text, values }));
}

async function holding<Result>(pools: Pools, work: (held: HeldConnection) => Promise<Result>): Promise<Result> {
  const held = hold(await connect(pools));
  try {
    return await work(held);
  } finally {
    held.client.release(held.isBroken);
  }
}

function toResult({ rows, rowCount }: pg.QueryResult): QueryResult<unknown> {
  return { rows, numAffectedRows: BigInt(rowCount ?? 0) };
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
