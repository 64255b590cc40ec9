import type { Kysely, RawBuilder } from 'kysely';
import { openSqlite } from './dialects/sqlite.ts';
import { StorageRefused } from './errors.ts';
import type { Tables } from './tables.ts';

export type Database = Kysely<Tables>;

/**
 * The same database twice, by what a write may lose in a power cut. `durable` answers only once the write is on disk;
 * `recoverable` may answer before, and is for the rotation of a refresh token alone, which heals itself.
 */
export interface Storage {
  durable: Database;
  recoverable: Database;
  types: ColumnTypes;
  /** Runs its work as one: all of it is kept, or none. */
  atomically<Result>(work: (db: Database) => Promise<Result>): Promise<Result>;
  /** Throws if the database cannot be asked anything just now. */
  check(): Promise<void>;
  close(): Promise<void>;
}

/** What the engines call their column types. */
export interface ColumnTypes {
  id: RawBuilder<unknown>;
  bytes: RawBuilder<unknown>;
  integer: RawBuilder<unknown>;
  time: RawBuilder<unknown>;
  /** An integer of any size, which arrives as text. */
  amount: RawBuilder<unknown>;
}

export function openStorage(url: string): Storage {
  if (url.startsWith('sqlite:')) return openSqlite(url.slice('sqlite:'.length));
  throw new StorageRefused(`DATABASE_URL must start with sqlite: (it is ${url.split(':')[0]}:…).`);
}
