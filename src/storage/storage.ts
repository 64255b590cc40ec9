import { type Kysely, type RawBuilder, SqliteAdapter } from 'kysely';
import type { SharedCounter } from '../lib/rate-limit.ts';
import { pipelinesOf } from './prepared-query.ts';
import type { Tables } from './tables.ts';

export type Database = Kysely<Tables>;

/** For the few expressions that the engines spell differently. */
export function isSqlite(db: Database): boolean {
  return db.getExecutor().adapter instanceof SqliteAdapter;
}

/**
 * One database in two durability classes. A write to `durable` resolves when it is on disk. A power cut may undo a
 * write to `relaxed`: it is for the rotation of refresh tokens, which apps can repeat, for counters, and for webhook
 * deliveries, which are then sent again.
 */
export interface Storage {
  engine: 'sqlite' | 'postgres';
  durable: Database;
  relaxed: Database;
  types: ColumnTypes;
  /** Whether a start applies migrations. Where many nodes share a database, an operator runs them. */
  migratesOnStart: boolean;
  transaction<Result>(work: (db: Database) => Promise<Result>): Promise<Result>;
  /** Throws if the database is not available. */
  check(): Promise<void>;
  /** Counts across all nodes and workers; undefined if there is only one. */
  createSharedCounter?(limit: CounterLimit): SharedCounter;
  /**
   * For engines whose reads can see commits that are not on disk yet. Resolves when they are, and rejects if that takes
   * too long. Undefined if there are none.
   */
  flushed?(): Promise<void> | undefined;
  /** Returns some free pages of the database file to the file system; false if there are few left. */
  releaseFreePages?(): Promise<boolean>;
  /** Undefined for engines without connection pools. */
  readPools?(): PoolUse[];
  close(): Promise<void>;
}

export interface CounterLimit {
  name: string;
  points: number;
  seconds: number;
}

interface PoolUse {
  name: 'durable' | 'relaxed';
  busy: number;
  idle: number;
  /** Requests that wait for a connection. */
  waiting: number;
}

/** While serving, statements time out within seconds. A migration has no time limit. */
export type TimeoutProfile = 'serving' | 'migrating';

/** The engine's names of column types, and clauses that only one engine has. */
export interface ColumnTypes {
  id: RawBuilder<unknown>;
  bytes: RawBuilder<unknown>;
  integer: RawBuilder<unknown>;
  time: RawBuilder<unknown>;
  /** An integer of any size, which is read as text. */
  amount: RawBuilder<unknown>;
  /** Appended to the definition of a table whose rows are updated often. */
  updatedInPlace: RawBuilder<unknown>;
  /** Statements that make a table reject updates and deletes, except deletes of rows older than the `retention` table says. */
  appendOnly(table: string, retention: string): string[];
}

/** The database is not available, or did not confirm a write. The caller may try again. */
export class StorageUnavailable extends Error {}

/** A statement was planned before an upgrade changed its table. Its transaction was rolled back and can run again. */
export class OutdatedPlan extends StorageUnavailable {}

/** DATABASE_URL is wrong, or its database cannot be used. */
export class StorageError extends Error {}

/** A newer release has removed what this one needs. No process of this one can work on the database again. */
export class OutdatedRelease extends StorageError {}

/** Each statement of an upgrade may outdate a plan. */
const MAX_ATTEMPTS = 3;

/**
 * Runs `work` in a transaction: a new one, or the one that `db` already is. Runs it again if an upgrade changed a table that
 * it reads, so `work` has no effect outside of the transaction.
 */
export async function inTransaction<Result>(db: Database, work: (tx: Database) => Promise<Result>): Promise<Result> {
  if (db.isTransaction) return work(db);
  for (let attempt = 1; ; attempt++) {
    try {
      return await runTransaction(db, work);
    } catch (error) {
      if (!(error instanceof OutdatedPlan) || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

async function runTransaction<Result>(db: Database, work: (tx: Database) => Promise<Result>): Promise<Result> {
  const pending: Promise<unknown>[] = [];
  const result = await db.transaction().execute(async (tx) => {
    await pipelinesOf(tx)?.begin(tx);
    pendingWrites.set(tx, pending);
    return work(tx);
  });
  await Promise.all(pending);
  return result;
}

const pendingWrites = new WeakMap<Database, Promise<unknown>[]>();

/**
 * For prepared writes whose results the transaction does not need. Where statements are pipelined, the next ones and the commit are
 * sent before the results have arrived; if one fails, the transaction is rolled back and throws.
 */
export async function pipelineWrites(tx: Database, writes: Promise<unknown>[]): Promise<void> {
  const [pending, pipelines] = [pendingWrites.get(tx), pipelinesOf(tx)];
  // A write that is several statements would send the later ones after the commit.
  if (!pending || !pipelines?.includes(tx) || !pipelines.combinesStatements()) {
    await Promise.all(writes);
    return;
  }
  for (const write of writes) write.catch(() => {});
  pending.push(...writes);
}

/** Whether a write failed because the row would not be unique. In PostgreSQL its transaction has failed with it. */
export function isUniqueViolation(error: unknown): boolean {
  const { code, errcode } = error as { code?: string; errcode?: number };
  return code === '23505' || errcode === 2067;
}
