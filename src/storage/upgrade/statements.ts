import { type RawBuilder, sql } from 'kysely';
import type { BackfillStep, CheckStep, IndexStep, Step } from '../migrations/migration.ts';

/** For people. */
export function titleOf(step: Step): string {
  if (step.kind === 'change') return step.title;
  if (step.kind === 'index') return `build index ${step.name}`;
  if (step.kind === 'drop index') return `drop index ${step.name}`;
  return step.kind === 'backfill' ? `fill rows of ${step.table}` : `check ${step.name}`;
}

export function createIndex(step: IndexStep, how: 'concurrently' | 'at once'): RawBuilder<unknown> {
  const columns = sql.join(step.columns.map((column) => sql.ref(column)));
  const [unique, concurrently] = [step.isUnique ? sql`unique ` : sql``, how === 'at once' ? sql`` : sql`concurrently `];
  const where = step.where ? sql` where ${step.where}` : sql``;
  return sql`create ${unique}index ${concurrently}${sql.ref(step.name)} on ${sql.table(step.table)} (${columns})${where}`;
}

export function addCheck({ table, name, check }: CheckStep): RawBuilder<unknown> {
  return sql`alter table ${sql.table(table)} add constraint ${sql.ref(name)} check (${check}) not valid`;
}

export function validateCheck({ table, name }: CheckStep): RawBuilder<unknown> {
  return sql`alter table ${sql.table(table)} validate constraint ${sql.ref(name)}`;
}

/** From the row after a key to the last one. */
export function fillRows({ table, key, set, where }: BackfillStep, after: string | undefined): RawBuilder<unknown> {
  const above = after === undefined ? sql`` : sql` and ${sql.ref(key)} > ${after}`;
  return sql`update ${sql.table(table)} set ${set} where (${where})${above}`;
}

/** From the row after a key to the nth, whose key it returns. If there are fewer rows, it fills and returns none. */
export function fillToNthRow(step: BackfillStep, after: string | undefined, n: number): RawBuilder<{ key: string }> {
  const [table, key] = [sql.table(step.table), sql.ref(step.key)];
  const above = after === undefined ? sql`true` : sql`${key} > ${after}`;
  return sql<{ key: string }>`with nth as (
      select ${key} as key from ${table} where ${above} order by ${key} limit 1 offset ${n - 1}
    ), filled as (
      update ${table} set ${step.set} where (${step.where}) and ${above} and ${key} <= (select key from nth)
    ) select key from nth`;
}
