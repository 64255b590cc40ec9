import type { Kysely } from 'kysely';
import { Migrator } from 'kysely/migration';
import { initial } from './migrations/001-initial.ts';
import type { Migration } from './migrations/migration.ts';
import { type Database, type Storage, StorageError, StorageUnavailable } from './storage.ts';

/** In order, forwards only. A migration that has been released is never edited. */
const MIGRATIONS: Record<string, Migration> = { '001-initial': initial };
const TABLE = 'migrations';

/** Throws unless the schema is the one that this program needs, after migrating where that is automatic. */
export async function ensureMigrated(storage: Storage): Promise<void> {
  if (storage.migratesOnStart) {
    await migrate(storage);
    return;
  }
  if ((await listPending(storage.durable)).length > 0) {
    throw new StorageError(
      'The database that DATABASE_URL names is not up to date. Run: npm run --silent gatehouse -- migrate',
    );
  }
}

/** Migrations that are not applied yet. Throws if the database is another program's, or newer than this program. */
export async function listPending(db: Database): Promise<string[]> {
  const applied = await listApplied(db);
  return Object.keys(MIGRATIONS).filter((name) => !applied.includes(name));
}

/**
 * Brings the database up to date and returns the names of the migrations it applied. Safe to run concurrently. If the
 * database is up to date it only reads, so it does not wait for writers.
 */
export async function migrate(storage: Storage): Promise<string[]> {
  if ((await listPending(storage.durable)).length === 0) return [];
  const migrator = new Migrator({
    db: storage.durable,
    migrationTableName: TABLE,
    migrationLockTableName: `${TABLE}_lock`,
    provider: {
      getMigrations: async () =>
        Object.fromEntries(
          Object.entries(MIGRATIONS).map(([name, migration]) => [
            name,
            { up: (db: Kysely<unknown>) => migration(db, storage.types) },
          ]),
        ),
    },
  });
  const { error, results } = await migrator.migrateToLatest();
  if (error instanceof StorageUnavailable) throw error;
  if (error) throw new StorageError(`The database that DATABASE_URL names cannot be migrated: ${error}.`);
  return results?.map(({ migrationName }) => migrationName) ?? [];
}

async function listApplied(db: Database): Promise<string[]> {
  const all = await db.introspection.getTables().catch(rejectUnreadable);
  const tables = all.filter(({ schema }) => schema === undefined || schema === 'public');
  const ours = tables.find(({ name }) => name === TABLE);
  if (!ours) {
    const taken = tables.find(({ name }) => name === 'grants' || name === 'users');
    if (taken) throw foreign(`it has a table ${taken.name} already`);
    return [];
  }
  if (!ours.columns.some(({ name }) => name === 'name')) throw foreign(`its table ${TABLE} is another program's`);
  const rows = await (db as unknown as Kysely<Record<string, { name: string }>>)
    .selectFrom(TABLE)
    .select('name')
    .execute();
  const unknown = rows.find(({ name }) => !Object.hasOwn(MIGRATIONS, name));
  if (unknown) {
    throw new StorageError(
      `The database that DATABASE_URL names was changed by a newer Gatehouse (${unknown.name}). Run that version.`,
    );
  }
  return rows.map(({ name }) => name);
}

function rejectUnreadable(error: unknown): never {
  if (error instanceof StorageUnavailable) throw error;
  throw new StorageError(`The database that DATABASE_URL names cannot be read: ${error}.`);
}

function foreign(reason: string): StorageError {
  return new StorageError(`DATABASE_URL names a database that is not Gatehouse's: ${reason}.`);
}
