import { MIGRATIONS } from './migrations/all.ts';
import type { Migration } from './migrations/migration.ts';
import { type Storage, StorageError, StorageUnavailable } from './storage.ts';
import { MISSED_HEARTBEAT_POLLS, type RunningNode } from './upgrade/nodes.ts';
import { runOnSqlite } from './upgrade/sqlite-steps.ts';
import { createUpgradeTables, pendingOf, readState, rejectNewer } from './upgrade/state.ts';

export interface MigrateOptions {
  migrations?: Migration[];
  /** Runs contract migrations even if nodes of an older release are running. */
  ignoresOlderNodes?: boolean;
  /** How often a contract migration polls for older nodes that have missed heartbeats, every quarter of a second. */
  missedHeartbeatPolls?: number;
  onProgress?: (message: string) => void;
}

export interface MigrateResult {
  /** The names of the migrations that this call completed. */
  applied: string[];
  /** Migrations that wait until no node of an older release is running. */
  waiting: string[];
  /** The nodes of an older release. */
  olderNodes: RunningNode[];
}

/** Throws unless this program can work on the schema, after migrating where that is automatic. */
export async function ensureMigrated(storage: Storage): Promise<void> {
  if (storage.migratesOnStart) {
    await migrate(storage);
    return;
  }
  if ((await listPending(storage)).some(({ phase }) => phase !== 'contract')) {
    throw new StorageError('The database that DATABASE_URL names is not up to date. Run: gatehouse migrate');
  }
}

/** Whether the database has been migrated before. */
export async function hasTables({ durable }: Storage): Promise<boolean> {
  return pendingOf(await readState(durable), MIGRATIONS).length < MIGRATIONS.length;
}

/** Migrations that are not complete. Throws if the database is another program's, or a newer one has contracted it. */
export async function listPending({ durable }: Storage, migrations = MIGRATIONS): Promise<Migration[]> {
  const state = await readState(durable);
  rejectNewer(state, migrations);
  return pendingOf(state, migrations);
}

/** Brings the database up to date and returns the names of the migrations that it completed. */
export async function migrate(storage: Storage, options: MigrateOptions = {}): Promise<string[]> {
  return (await upgrade(storage, options)).applied;
}

/**
 * Brings the database up to date. Safe to run concurrently, and again after it was killed. If the database is up to date it only
 * reads, so it does not wait for writers.
 */
export async function upgrade(storage: Storage, options: MigrateOptions = {}): Promise<MigrateResult> {
  const { onProgress = () => {} } = options;
  const nothing: MigrateResult = { applied: [], waiting: [], olderNodes: [] };
  const pending = await listPending(storage, options.migrations);
  if (pending.length === 0) return nothing;
  try {
    await createUpgradeTables(storage);
    if (storage.engine === 'sqlite') return { ...nothing, applied: await upgradeSqlite(storage, pending) };
    // Loaded only where it is used: the driver delays the start.
    const { upgradePostgres } = await import('./upgrade/postgres.ts');
    const defaults = {
      migrations: MIGRATIONS,
      ignoresOlderNodes: false,
      missedHeartbeatPolls: MISSED_HEARTBEAT_POLLS,
      onProgress,
    };
    return await upgradePostgres(storage, { ...defaults, ...options });
  } catch (error) {
    if (error instanceof StorageUnavailable || error instanceof StorageError) throw error;
    throw new StorageError(`The database that DATABASE_URL names cannot be migrated: ${error}.`);
  }
}

async function upgradeSqlite(storage: Storage, pending: Migration[]): Promise<string[]> {
  const applied: string[] = [];
  for (const migration of pending) {
    if (await runOnSqlite(storage, migration)) applied.push(migration.name);
  }
  return applied;
}
