import { type CompiledQuery, Kysely, sql } from 'kysely';
import type pg from 'pg';
import { RateLimiterPostgres } from 'rate-limiter-flexible';
import type { SharedCounter } from '../../lib/rate-limit.ts';
import { type RunQuery, setRunner } from '../prepared-query.ts';
import { statementLog } from '../statement-log.ts';
import { type ColumnTypes, type CounterLimit, inTransaction, type Storage, type TimeoutProfile } from '../storage.ts';
import type { Tables } from '../tables.ts';
import { scheduleSend } from './corked-writes.ts';
import {
  createDialect,
  type Execute,
  isPipelined,
  pipelineTransaction,
  runInTransaction,
  runNamed,
  withConnection,
} from './dialect.ts';
import { createPipeline, PIPELINE_LOCK_TIMEOUT, type Pipeline, retryLocked } from './pipeline.ts';
import { describeServers, openPools, type Pools, poolUse } from './pools.ts';
import { trackPrimary } from './primary.ts';
import { readPostgresUrl } from './url.ts';

/** One pool per durability class, which sets `synchronous_commit`; and two pipelined connections for short statements. */
export function openPostgres(url: string, timeouts: TimeoutProfile): Storage {
  const target = readPostgresUrl(url);
  const primary = trackPrimary(describeServers(target, timeouts));
  if (timeouts === 'serving') primary.watch();
  const durablePools = openPools(target, timeouts, { commit: 'on', primary });
  const relaxedPools = openPools(target, timeouts, { commit: 'off', primary });
  const pipelined = { commit: 'off', primary } as const;
  const single = { ...target, poolSize: 1 };
  const readPools = openPools(single, timeouts, { ...pipelined, readsOnly: true });
  const writePools = openPools(single, timeouts, { ...pipelined, lockTimeout: PIPELINE_LOCK_TIMEOUT });
  const [reads, writes] = [createPipeline(readPools), retryLocked(createPipeline(writePools))];
  const durable = new Kysely<Tables>({ dialect: createDialect(durablePools), ...statementLog() });
  const relaxed = new Kysely<Tables>({ dialect: createDialect(relaxedPools), ...statementLog() });
  const write: Execute = (text, values) => withConnection(durablePools, ({ execute }) => execute(text, values));
  const writeRelaxed: Execute = (text, values) => runNamed(writes.run, text, values);
  for (const [db, run] of [[durable, write] as const, [relaxed, writeRelaxed] as const]) {
    const combinesStatements = () => readPools.isSharded === false;
    const pipelines = { begin: pipelineTransaction, includes: isPipelined, combinesStatements, scheduleSend };
    setRunner(db, { alone: runAlone(reads, run), inTransaction: runInTransaction, pipelines });
  }
  return {
    engine: 'postgres',
    durable,
    relaxed,
    migratesOnStart: false,
    types: COLUMN_TYPES,
    transaction: (work) => inTransaction(durable, work),
    async check() {
      await sql`select 1`.execute(durable);
    },
    createSharedCounter: (limit) => createCounter(relaxedPools, limit),
    readPools: () => [
      { name: 'durable', ...poolUse(durablePools) },
      { name: 'relaxed', ...poolUse(relaxedPools) },
    ],
    async close() {
      await Promise.all([reads.close(), writes.close(), primary.close()]);
      const pools = [durablePools, relaxedPools, readPools, writePools].flatMap(({ all }) => all);
      await Promise.all(pools.map((pool) => pool.end()));
    },
  };
}

function runAlone(reads: Pipeline, write: Execute): RunQuery {
  return (async ({ sql: text, query }: CompiledQuery, values: unknown[]) =>
    isPlainRead(query) ? runNamed(reads.run, text, values) : write(text, values)) as RunQuery;
}

/** Neither writes nor waits for a lock (`for share`): all reads of the node would wait with it. */
function isPlainRead(query: CompiledQuery['query']): boolean {
  return query.kind === 'SelectQueryNode' && !query.with && !query.endModifiers;
}

function createCounter(pools: Pools, { name, points, seconds }: CounterLimit): SharedCounter {
  return new RateLimiterPostgres({
    storeClient: { query: (query: pg.QueryConfig) => withConnection(pools, ({ runAlone }) => runAlone(query)) },
    storeType: 'pool',
    tableName: 'rate_limits',
    tableCreated: true,
    clearExpiredByTimeout: false,
    keyPrefix: name,
    points,
    duration: seconds,
  });
}

const COLUMN_TYPES: ColumnTypes = {
  id: sql`uuid`,
  bytes: sql`bytea`,
  integer: sql`integer`,
  time: sql`bigint`,
  amount: sql`numeric`,
  // Leaves free space on each page for HOT updates: a refresh then touches no index.
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
};
