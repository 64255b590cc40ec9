import type { ColumnDefinitionBuilder, Kysely } from 'kysely';
import type { ColumnTypes } from '../storage.ts';

/** One step of the schema, written once for both engines. */
export type Migration = (db: Kysely<unknown>, types: ColumnTypes) => Promise<void>;

export const notNull = (column: ColumnDefinitionBuilder) => column.notNull();

export const primaryKey = (column: ColumnDefinitionBuilder) => column.primaryKey();

export const zeroByDefault = (column: ColumnDefinitionBuilder) => column.notNull().defaultTo(0);

export const references = (target: `${string}.${string}`) => (column: ColumnDefinitionBuilder) =>
  column.notNull().references(target);
