import { setTimeout as sleep } from 'node:timers/promises';
import { type Kysely, sql } from 'kysely';
import { MINUTE, monotonicClock, SECOND } from '../../lib/clock.ts';
import { randomFraction } from '../../lib/secrets.ts';
import type { CheckStep, DropIndexStep, IndexStep, Migration, Step } from '../migrations/migration.ts';
import { isLockTimeout } from '../postgres/pools.ts';
import { type Database, type Storage, StorageError } from '../storage.ts';
import { backfill } from './backfill.ts';
import type { Lease } from './lease.ts';
import { findProgress, recordStep } from './progress.ts';
import { addCheck, createIndex, validateCheck } from './statements.ts';

export interface MigrationRun {
  storage: Storage;
  lease: Lease;
  migration: Migration;
  onProgress(message: string): void;
}

/** Requests that need the table queue behind the statement that waits for its lock, so it waits only briefly. */
const LOCK_TIMEOUT = 50;
const MIN_PAUSE = SECOND / 10;
const MAX_PAUSE = 2 * SECOND;
const GIVE_UP_AFTER = 10 * MINUTE;

export async function runStep(run: MigrationRun, step: Step, index: number): Promise<void> {
  const { storage, lease, migration } = run;
  if (step.kind === 'change') {
    await inShortTransaction(run, step.table, async (tx) => {
      await step.change(tx as unknown as Kysely<unknown>, storage.types);
      await recordStep(tx, migration, index);
    });
    return;
  }
  if (step.kind === 'index') await buildIndex(run, step);
  if (step.kind === 'drop index') await removeIndex(run, step, () => true);
  if (step.kind === 'check') await addCheckConstraint(run, step);
  if (step.kind === 'backfill') {
    const progress = await findProgress(storage.durable, migration.name);
    await backfill(run, step, progress?.position ?? undefined);
  }
  await storage.transaction(async (tx) => {
    await lease.lock(tx);
    await recordStep(tx, migration, index);
  });
}

/** Tries again with pauses while the table is locked by others. */
async function inShortTransaction(
  { storage, lease, onProgress }: MigrationRun,
  table: string | undefined,
  work: (tx: Database) => Promise<void>,
): Promise<void> {
  const began = monotonicClock();
  for (let pause = MIN_PAUSE; ; pause = Math.min(2 * pause, MAX_PAUSE)) {
    try {
      await storage.transaction(async (tx) => {
        await sql`select set_config('lock_timeout', ${`${LOCK_TIMEOUT}ms`}, true)`.execute(tx);
        await lease.lock(tx);
        await work(tx);
      });
      return;
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      const holders = await describeLockHolders(storage.durable, table);
      if (monotonicClock() - began > GIVE_UP_AFTER) {
        throw new StorageError(`${table} could not be locked for ${GIVE_UP_AFTER / MINUTE} minutes: ${holders}.`);
      }
      onProgress(`${table} is in use (${holders}); trying again`);
      await sleep(pause * (0.5 + randomFraction()));
    }
  }
}

async function describeLockHolders(db: Database, table: string | undefined): Promise<string> {
  const { rows } = await sql<{ holder: string }>`
    select format('pid %s, %s, %s s', pid, coalesce(nullif(application_name, ''), backend_type),
      extract(epoch from clock_timestamp() - coalesce(xact_start, backend_start))::int) as holder
    from pg_stat_activity where pid <> pg_backend_pid() and pid in (
      select pid from pg_locks where granted and relation = to_regclass(${table ?? ''}))
    order by xact_start limit 1`.execute(db);
  return rows[0]?.holder ?? 'its locks were released meanwhile';
}

/** Not in a transaction: PostgreSQL waits for transactions that began before, and then validates. */
async function buildIndex(run: MigrationRun, step: IndexStep): Promise<void> {
  const { durable } = run.storage;
  await dropRenamed(durable, step.name);
  for (;;) {
    const state = await findIndex(durable, step.name);
    if (state === 'valid') return;
    if (state === 'missing') await createIndex(step, 'concurrently').execute(durable);
    // PostgreSQL continues after its client was killed.
    if (state === 'building') {
      run.onProgress(`${step.name} is still being built by an interrupted run`);
      await sleep(SECOND);
    }
    if (state === 'invalid') await removeIndex(run, step, (state) => state === 'invalid');
  }
}

type IndexState = 'missing' | 'valid' | 'building' | 'invalid';

async function findIndex(db: Database, name: string): Promise<IndexState> {
  const { rows } = await sql<{ valid: boolean; building: boolean }>`
    select indisvalid as valid,
      exists (select from pg_stat_progress_create_index p where p.index_relid = indexrelid) as building
    from pg_index where indexrelid = to_regclass(${name})`.execute(db);
  const [found] = rows;
  if (!found) return 'missing';
  if (found.valid) return 'valid';
  return found.building ? 'building' : 'invalid';
}

/**
 * PostgreSQL drops an index concurrently only outside of a transaction, where the lease does not protect it: another migrator may
 * have built it again meanwhile. So it is renamed first, in a transaction with the lease, and the other name is dropped.
 */
async function removeIndex(
  run: MigrationRun,
  { table, name }: IndexStep | DropIndexStep,
  shouldRemove: (state: IndexState) => boolean,
): Promise<void> {
  const { durable } = run.storage;
  // Left by a run that was interrupted between the two.
  await dropRenamed(durable, name);
  await inShortTransaction(run, table, async (tx) => {
    const state = await findIndex(tx, name);
    if (state === 'missing' || !shouldRemove(state)) return;
    await sql`alter index ${sql.ref(name)} rename to ${sql.ref(renamed(name))}`.execute(tx);
  });
  await dropRenamed(durable, name);
}

const renamed = (index: string) => `${index}_dropped`;

async function dropRenamed(db: Database, index: string): Promise<void> {
  await sql`drop index concurrently if exists ${sql.ref(renamed(index))}`.execute(db);
}

/** New rows are checked from the first statement on; the second reads the old ones without blocking writes. */
async function addCheckConstraint(run: MigrationRun, step: CheckStep): Promise<void> {
  const { durable } = run.storage;
  const { rows } = await sql<{ valid: boolean }>`select convalidated as valid from pg_constraint
    where conrelid = to_regclass(${step.table}) and conname = ${step.name}`.execute(durable);
  if (rows.length === 0) {
    await inShortTransaction(run, step.table, async (tx) => {
      await addCheck(step).execute(tx);
    });
  }
  if (!rows[0]?.valid) await validateCheck(step).execute(durable);
}
