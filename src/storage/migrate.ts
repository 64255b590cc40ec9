import type { Kysely } from 'kysely';
import { Migrator } from 'kysely/migration';
import type { ColumnTypes, Storage } from './database.ts';
import { StorageRefused, StorageUnavailable } from './errors.ts';
import { foundation } from './migrations/001-foundation.ts';

export type Change = (db: Kysely<unknown>, types: ColumnTypes) => Promise<void>;

/** In order, forwards only. A change that has been released is never edited. */
const CHANGES: Record<string, Change> = { '001-foundation': foundation };

/** Brings the database up to date and returns the names of what it changed. */
export async function migrate(storage: Storage): Promise<string[]> {
  const migrator = new Migrator({
    db: storage.durable,
    migrationTableName: 'migrations',
    migrationLockTableName: 'migrations_lock',
    provider: {
      getMigrations: async () =>
        Object.fromEntries(
          Object.entries(CHANGES).map(([name, change]) => [
            name,
            { up: (db: Kysely<unknown>) => change(db, storage.types) },
          ]),
        ),
    },
  });
  const { error, results } = await migrator.migrateToLatest();
  if (error instanceof StorageUnavailable) throw error;
  if (error) throw new StorageRefused(`DATABASE_URL points at a database that is not Gatehouse's: ${error}.`);
  return results?.map(({ migrationName }) => migrationName) ?? [];
}
