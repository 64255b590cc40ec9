import type { ColumnDefinitionBuilder, Kysely, RawBuilder } from 'kysely';
import type { ColumnTypes } from '../storage.ts';

/** One step of the schema, written once for both engines. */
export type SchemaChange = (db: Kysely<unknown>, types: ColumnTypes) => Promise<void>;

/**
 * `initial`: creates the tables of the first release.
 * `expand`: only adds, so every older release that works on the schema keeps working.
 * `contract`: removes or restricts what an older release needs. It runs when no node of such a release is alive.
 */
export type Phase = 'initial' | 'expand' | 'contract';

export interface Migration {
  /** Such as `002-nodes`: the order of the names is the order of the migrations. */
  name: string;
  phase: Phase;
  /** Each is complete, or starts again. A released list of steps is never edited: a database may be in the middle of it. */
  steps: Step[];
}

export type Step = ChangeStep | IndexStep | DropIndexStep | BackfillStep | CheckStep;

/** Statements that need an exclusive lock, but only for a moment: they read no rows. In one transaction. */
interface ChangeStep {
  kind: 'change';
  title: string;
  /** The table that is locked; undefined if the tables are new. */
  table: string | undefined;
  change: SchemaChange;
}

/** On PostgreSQL it is built concurrently: reads and writes continue. */
export interface IndexStep {
  kind: 'index';
  table: string;
  name: string;
  columns: string[];
  isUnique?: boolean;
  where?: RawBuilder<unknown>;
}

export interface DropIndexStep {
  kind: 'drop index';
  table: string;
  name: string;
}

/** `update table set … where …`, in short transactions of some rows each, in the order of the key. */
export interface BackfillStep {
  kind: 'backfill';
  table: string;
  /** A unique column that is never null, and is indexed. */
  key: string;
  set: RawBuilder<unknown>;
  /** Rows that still need it. */
  where: RawBuilder<unknown>;
}

/** A check constraint. SQLite cannot add one to a table, and does without. */
export interface CheckStep {
  kind: 'check';
  table: string;
  name: string;
  check: RawBuilder<unknown>;
}

export const notNull = (column: ColumnDefinitionBuilder) => column.notNull();

export const primaryKey = (column: ColumnDefinitionBuilder) => column.primaryKey();

export const zeroByDefault = (column: ColumnDefinitionBuilder) => column.notNull().defaultTo(0);

export const references = (target: `${string}.${string}`) => (column: ColumnDefinitionBuilder) =>
  column.notNull().references(target);
