import type { Kysely, RawBuilder } from 'kysely';
import type { SharedCounter } from '../lib/rate-limit.ts';
import type { Tables } from './tables.ts';

export type Database = Kysely<Tables>;

/**
 * The same database twice, by what a write may lose in a power cut. `durable` answers only once the write is on disk;
 * `recoverable` may answer before: it is for the rotation of a refresh token, which heals itself, for counters that are
 * forgotten within minutes anyway, and for the delivery of webhooks, since what is forgotten of it is done once more.
 */
export interface Storage {
  durable: Database;
  relaxed: Database;
  types: ColumnTypes;
  /** Whether starting brings the tables up to date; where many nodes share a database, an operator decides when. */
  migratesItself: boolean;
  /** Runs its work as one: all of it is kept, or none. */
  transaction<Result>(work: (db: Database) => Promise<Result>): Promise<Result>;
  /** Throws if the database cannot be asked anything just now. */
  check(): Promise<void>;
  /** Counts across all nodes and workers; undefined where there is only one. */
  newSharedCounter?(limit: { name: string; points: number; seconds: number }): SharedCounter;
  /**
   * Where reads can see commits that are not on disk yet: resolves once they are, and rejects if that takes too long.
   * Undefined if there are none.
   */
  flushed?(): Promise<void> | undefined;
  /** Returns some unused space of the file to the disk, where the engine does not do so itself; false if there is little left. */
  releaseFreePages?(): Promise<boolean>;
  /** How its pools of connections are used; undefined where there are none. */
  readPools?(): PoolUse[];
  close(): Promise<void>;
}

interface PoolUse {
  name: 'durable' | 'recoverable';
  busy: number;
  idle: number;
  /** Those who wait for a connection. */
  waiting: number;
}

/** While serving, a database in trouble is given up on within seconds; a migration takes as long as it takes. */
export type TimeoutProfile = 'serving' | 'migrating';

/** What the engines call their column types. */
export interface ColumnTypes {
  id: RawBuilder<unknown>;
  bytes: RawBuilder<unknown>;
  integer: RawBuilder<unknown>;
  time: RawBuilder<unknown>;
  /** An integer of any size, which arrives as text. */
  amount: RawBuilder<unknown>;
  /** What follows the definition of a table whose rows are updated often. */
  updatedInPlace: RawBuilder<unknown>;
  /** Statements that make a table reject updates and deletes, except of rows that a `retention` table lets go. */
  appendOnly(table: string, retention: string): string[];
}
