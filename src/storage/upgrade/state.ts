import { type Kysely, sql } from 'kysely';
import { MIGRATIONS } from '../migrations/all.ts';
import type { Migration, Phase } from '../migrations/migration.ts';
import { type Database, OutdatedRelease, type Storage, StorageError, StorageUnavailable } from '../storage.ts';

/** All but `nodes` exist before the first migration. */
export interface UpgradeTables {
  migrations: MigrationsTable;
  migration_progress: MigrationProgressTable;
  migration_lease: MigrationLeaseTable;
  nodes: NodesTable;
}

/**
 * What a release has to know to work on this schema: the first migration, and contract migrations from their start on. A release
 * does not start if it finds a name that it does not know, since 0.1.0; so expand migrations are not in it.
 */
interface MigrationsTable {
  name: string;
  timestamp: string;
}

interface MigrationProgressTable {
  name: string;
  phase: Phase;
  /** How many of its steps are complete. */
  step: number;
  /** The last key that the current step has processed, if it is a backfill. */
  position: string | null;
  started_at: number;
  /** Null while it runs, or after it was interrupted. */
  finished_at: number | null;
}

interface MigrationLeaseTable {
  /** There is one row. */
  id: number;
  holder: string;
  expires_at: number;
}

interface NodesTable {
  id: string;
  name: string;
  release: string;
  /** The last migration that its release has. */
  last_migration: string;
  seen_at: number;
}

export const upgradeTables = (db: Database) => db as unknown as Kysely<UpgradeTables>;

/** The database's clock: those of the nodes differ. */
export const databaseNow = sql<number>`(extract(epoch from clock_timestamp()) * 1000)::bigint`;

/** Any number; every migrator uses the same one. */
const CREATION_LOCK = 7_247_326;

export async function createUpgradeTables({ engine, durable, types: { time, integer } }: Storage): Promise<void> {
  await durable.transaction().execute(async (tx) => {
    // `create table if not exists` fails if another transaction creates the table at the same time.
    if (engine === 'postgres') await sql`select pg_advisory_xact_lock(${CREATION_LOCK})`.execute(tx);
    const create = (table: string) => tx.schema.createTable(table).ifNotExists();
    await create('migrations')
      .addColumn('name', 'text', (column) => column.primaryKey())
      .addColumn('timestamp', 'text', (column) => column.notNull())
      .execute();
    await create('migration_progress')
      .addColumn('name', 'text', (column) => column.primaryKey())
      .addColumn('phase', 'text', (column) => column.notNull())
      .addColumn('step', integer, (column) => column.notNull())
      .addColumn('position', 'text')
      .addColumn('started_at', time, (column) => column.notNull())
      .addColumn('finished_at', time)
      .execute();
    await create('migration_lease')
      .addColumn('id', integer, (column) => column.primaryKey())
      .addColumn('holder', 'text', (column) => column.notNull())
      .addColumn('expires_at', time, (column) => column.notNull())
      .execute();
  });
}

interface SchemaState {
  /** Names in the table `migrations`. */
  required: string[];
  /** Names of complete migrations. */
  complete: string[];
}

/** Throws if the database is another program's. */
export async function readState(db: Database): Promise<SchemaState> {
  const tables = await listTables(db);
  const ours = tables.find(({ name }) => name === 'migrations');
  if (!ours) {
    const taken = tables.find(({ name }) => name === 'grants' || name === 'users');
    if (taken) throw foreign(`it has a table ${taken.name} already`);
    return { required: [], complete: [] };
  }
  if (!ours.columns.some(({ name }) => name === 'name')) throw foreign(`its table migrations is another program's`);
  const required = await readRequired(db);
  // A database of 0.1.0, whose table `migrations` lists complete migrations.
  if (!tables.some(({ name }) => name === 'migration_progress')) return { required, complete: required };
  const progress = await upgradeTables(db).selectFrom('migration_progress').select(['name', 'finished_at']).execute();
  const incomplete = progress.filter(({ finished_at }) => finished_at === null).map(({ name }) => name);
  const names = new Set([...required, ...progress.map(({ name }) => name)]);
  return { required, complete: [...names].filter((name) => !incomplete.includes(name)) };
}

/** The names in the table `migrations`. */
export async function readRequired(db: Database): Promise<string[]> {
  return (await upgradeTables(db).selectFrom('migrations').select('name').execute()).map(({ name }) => name);
}

async function listTables(db: Database) {
  const all = await db.introspection.getTables().catch(rejectUnreadable);
  return all.filter(({ schema }) => schema === undefined || schema === 'public');
}

export async function hasTable(db: Database, table: string): Promise<boolean> {
  return (await listTables(db)).some(({ name }) => name === table);
}

function rejectUnreadable(error: unknown): never {
  if (error instanceof StorageUnavailable) throw error;
  throw new StorageError(`The database that DATABASE_URL names cannot be read: ${error}.`);
}

function foreign(reason: string): StorageError {
  return new StorageError(`DATABASE_URL names a database that is not Gatehouse's: ${reason}.`);
}

/** A release works on a schema that a newer one has expanded, but not on one that it has begun to contract. */
export function rejectNewer({ required }: Pick<SchemaState, 'required'>, migrations = MIGRATIONS): void {
  const unknown = required.find((required) => !migrations.some(({ name }) => name === required));
  if (unknown === undefined) return;
  throw new OutdatedRelease(
    `The database that DATABASE_URL names was changed by a newer Gatehouse (${unknown}). Run that version.`,
  );
}

/** Migrations that are not complete, in order. */
export function pendingOf({ complete }: SchemaState, migrations = MIGRATIONS): Migration[] {
  return migrations.filter(({ name }) => !complete.includes(name));
}
