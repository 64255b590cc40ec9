import type { Kysely } from 'kysely';
import type { ColumnTypes } from '../storage.ts';

/** One step of the schema, written once for every engine. */
export type Migration = (db: Kysely<unknown>, types: ColumnTypes) => Promise<void>;
