import { systemClock } from '../../lib/clock.ts';
import type { DeclaredMigration } from '../migrations/migration.ts';
import type { Database } from '../storage.ts';
import { upgradeTables } from './state.ts';

/** Lists a migration as begun. One that was interrupted stays as it is. */
export async function recordStart(db: Database, { name, phase }: DeclaredMigration): Promise<void> {
  await upgradeTables(db)
    .insertInto('migrations')
    .values({ name, phase, step: 0, position: null, started_at: systemClock(), finished_at: null })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute();
}

/** Only before its first step. */
export async function withdrawStart(db: Database, { name }: DeclaredMigration): Promise<void> {
  await upgradeTables(db)
    .deleteFrom('migrations')
    .where('name', '=', name)
    .where('step', '=', 0)
    .where('position', 'is', null)
    .execute();
}

export function findApplied(db: Database, name: string) {
  return upgradeTables(db).selectFrom('migrations').selectAll().where('name', '=', name).executeTakeFirst();
}

/** The step at `index` is complete. */
export async function recordStep(db: Database, { name, steps }: DeclaredMigration, index: number): Promise<void> {
  const finished_at = index + 1 === steps.length ? systemClock() : null;
  await upgradeTables(db)
    .updateTable('migrations')
    .set({ step: index + 1, position: null, finished_at })
    .where('name', '=', name)
    .execute();
}

export async function recordPosition(db: Database, { name }: DeclaredMigration, position: string): Promise<void> {
  await upgradeTables(db).updateTable('migrations').set({ position }).where('name', '=', name).execute();
}
