import { type Kysely, sql } from 'kysely';
import { MIGRATIONS } from '../migrations/all.ts';
import type { DeclaredMigration, Phase } from '../migrations/migration.ts';
import { type Database, type Storage, StorageError, StorageUnavailable } from '../storage.ts';

/** They exist before the first migration. */
export interface UpgradeTables {
  migrations: AppliedMigration;
  migration_lease: MigrationLeaseTable;
  nodes: NodesTable;
}

export interface AppliedMigration {
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
  knows: string;
  seen_at: number;
}

export const upgradeTables = (db: Database) => db as unknown as Kysely<UpgradeTables>;

/** Any number; every migrator uses the same one. */
const CREATION_LOCK = 7_247_326;

export async function createUpgradeTables({ engine, durable, types: { time, integer } }: Storage): Promise<void> {
  await durable.transaction().execute(async (tx) => {
    // `create table if not exists` fails if another transaction creates the table at the same time.
    if (engine === 'postgres') await sql`select pg_advisory_xact_lock(${CREATION_LOCK})`.execute(tx);
    await tx.schema
      .createTable('migrations')
      .ifNotExists()
      .addColumn('name', 'text', (column) => column.primaryKey())
      .addColumn('phase', 'text', (column) => column.notNull())
      .addColumn('step', integer, (column) => column.notNull())
      .addColumn('position', 'text')
      .addColumn('started_at', time, (column) => column.notNull())
      .addColumn('finished_at', time)
      .execute();
    await tx.schema
      .createTable('migration_lease')
      .ifNotExists()
      .addColumn('id', integer, (column) => column.primaryKey())
      .addColumn('holder', 'text', (column) => column.notNull())
      .addColumn('expires_at', time, (column) => column.notNull())
      .execute();
    await tx.schema
      .createTable('nodes')
      .ifNotExists()
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('release', 'text', (column) => column.notNull())
      .addColumn('knows', 'text', (column) => column.notNull())
      .addColumn('seen_at', time, (column) => column.notNull())
      .execute();
  });
}

/** Empty for an empty database. Throws if the database is another program's. */
export async function readApplied(db: Database): Promise<AppliedMigration[]> {
  const all = await db.introspection.getTables().catch(rejectUnreadable);
  const tables = all.filter(({ schema }) => schema === undefined || schema === 'public');
  const ours = tables.find(({ name }) => name === 'migrations');
  if (!ours) {
    const taken = tables.find(({ name }) => name === 'grants' || name === 'users');
    if (taken) throw foreign(`it has a table ${taken.name} already`);
    return [];
  }
  if (!ours.columns.some(({ name }) => name === 'phase')) throw foreign(`its table migrations is another program's`);
  return upgradeTables(db).selectFrom('migrations').selectAll().orderBy('name').execute();
}

function rejectUnreadable(error: unknown): never {
  if (error instanceof StorageUnavailable) throw error;
  throw new StorageError(`The database that DATABASE_URL names cannot be read: ${error}.`);
}

function foreign(reason: string): StorageError {
  return new StorageError(`DATABASE_URL names a database that is not Gatehouse's: ${reason}.`);
}

/** A release works on a schema that a newer one has expanded, but not on one that it has begun to contract. */
export function rejectNewer(applied: AppliedMigration[], migrations = MIGRATIONS): void {
  const unknown = applied.find(({ name, phase }) => phase === 'contract' && !isKnown(name, migrations));
  if (!unknown) return;
  throw new StorageError(
    `The database that DATABASE_URL names was changed by a newer Gatehouse (${unknown.name}). Run that version.`,
  );
}

export function isKnown(name: string, migrations = MIGRATIONS): boolean {
  return migrations.some((migration) => migration.name === name);
}

/** Those that are not complete, in order. */
export function pendingOf(applied: AppliedMigration[], migrations = MIGRATIONS): DeclaredMigration[] {
  const complete = applied.filter(({ finished_at }) => finished_at !== null).map(({ name }) => name);
  return migrations.filter(({ name }) => !complete.includes(name));
}
