import { type Kysely, sql } from 'kysely';
import type { Migration, Step } from '../migrations/migration.ts';
import type { Database, Storage } from '../storage.ts';
import { findProgress, recordStart, recordStep } from './progress.ts';
import { createIndex, fillRows } from './statements.ts';

/** One transaction for each step: SQLite has one writer, so a batch would delay requests no less. True if this completed it. */
export async function runOnSqlite(storage: Storage, migration: Migration): Promise<boolean> {
  let isCompleted = false;
  for (const [index, step] of migration.steps.entries()) {
    await storage.transaction(async (tx) => {
      await recordStart(tx, migration);
      const progress = await findProgress(tx, migration.name);
      // Another process may have taken it meanwhile.
      if (!progress || progress.step > index) return;
      await run(tx, storage, step);
      await recordStep(tx, migration, index);
      isCompleted = index + 1 === migration.steps.length;
    });
  }
  return isCompleted;
}

async function run(tx: Database, { types }: Storage, step: Step): Promise<void> {
  if (step.kind === 'change') await step.change(tx as unknown as Kysely<unknown>, types);
  if (step.kind === 'index') await createIndex(step, 'at once').execute(tx);
  if (step.kind === 'drop index') await sql`drop index if exists ${sql.ref(step.name)}`.execute(tx);
  if (step.kind === 'backfill') await fillRows(step, undefined).execute(tx);
}
