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

export interface KeyRange {
  /** Undefined: from the first row. */
  after: string | undefined;
  /** Inclusive. Undefined: to the last row. */
  to: string | undefined;
}

export function fillRows({ table, key, set, where }: BackfillStep, { after, to }: KeyRange): RawBuilder<unknown> {
  const above = after === undefined ? sql`` : sql` and ${sql.ref(key)} > ${after}`;
  const below = to === undefined ? sql`` : sql` and ${sql.ref(key)} <= ${to}`;
  return sql`update ${sql.table(table)} set ${set} where (${where})${above}${below}`;
}

/** The key of the row that is `count` rows further on. */
export function keyAfter(
  { table, key }: BackfillStep,
  after: string | undefined,
  count: number,
): RawBuilder<{ key: string }> {
  const above = after === undefined ? sql`` : sql` where ${sql.ref(key)} > ${after}`;
  return sql<{ key: string }>`select ${sql.ref(key)} as key from ${sql.table(table)}${above}
    order by ${sql.ref(key)} limit 1 offset ${count - 1}`;
}
