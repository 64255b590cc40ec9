import { systemClock } from '../../lib/clock.ts';
import type { Migration } from '../migrations/migration.ts';
import { type Database, inTransaction } from '../storage.ts';
import { upgradeTables } from './state.ts';

/** Lists a migration as begun. One that was interrupted stays as it is. */
export async function recordStart(db: Database, { name, phase }: Migration): Promise<void> {
  await inTransaction(db, async (tx) => {
    await upgradeTables(tx)
      .insertInto('migration_progress')
      .values({ name, phase, step: 0, position: null, started_at: systemClock(), finished_at: null })
      .onConflict((conflict) => conflict.column('name').doNothing())
      .execute();
    if (phase === 'contract') await recordRequired(tx, name);
  });
}

/** From now on no release starts that does not know the migration. */
async function recordRequired(db: Database, name: string): Promise<void> {
  await upgradeTables(db)
    .insertInto('migrations')
    .values({ name, timestamp: new Date(systemClock()).toISOString() })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute();
}

/** Only before its first step. */
export async function withdrawStart(db: Database, { name }: Migration): Promise<void> {
  await inTransaction(db, async (tx) => {
    const { numDeletedRows } = await upgradeTables(tx)
      .deleteFrom('migration_progress')
      .where('name', '=', name)
      .where('step', '=', 0)
      .where('position', 'is', null)
      .executeTakeFirstOrThrow();
    if (numDeletedRows > 0n) await upgradeTables(tx).deleteFrom('migrations').where('name', '=', name).execute();
  });
}

export function findProgress(db: Database, name: string) {
  return upgradeTables(db).selectFrom('migration_progress').selectAll().where('name', '=', name).executeTakeFirst();
}

/** The step at `index` is complete. */
export async function recordStep(tx: Database, { name, phase, steps }: Migration, index: number) {
  const isLast = index + 1 === steps.length;
  await upgradeTables(tx)
    .updateTable('migration_progress')
    .set({ step: index + 1, position: null, finished_at: isLast ? systemClock() : null })
    .where('name', '=', name)
    .execute();
  if (isLast && phase === 'initial') await recordRequired(tx, name);
}

/** Nothing if another migrator has completed the step: the position would be taken for one of the next. */
export async function recordPosition(
  db: Database,
  { name, steps }: Migration,
  step: Migration['steps'][number],
  position: string,
): Promise<void> {
  await upgradeTables(db)
    .updateTable('migration_progress')
    .set({ position })
    .where('name', '=', name)
    .where('step', '=', steps.indexOf(step))
    .execute();
}
