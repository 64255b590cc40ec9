import { type AliasedRawBuilder, type RawBuilder, sql } from 'kysely';
import { isId } from '../lib/ids.ts';
import type { Database } from './storage.ts';

/** PostgreSQL's name of the type of a value. */
export type ValueType = 'uuid' | 'bigint' | 'text' | 'bytea';

export type ValueTypes<Values> = Record<keyof Values & string, ValueType>;

/** Which call of a batch a row is for, from 1 on. */
export interface Numbered {
  call_number: number;
}

/** A call in a transaction runs alone, and so does one whose values PostgreSQL rejects: it would fail all others. */
export function canJoinBatch<Values extends object>(db: Database, types: ValueTypes<Values>, values: Values): boolean {
  return !db.isTransaction && isWellFormed(types, values);
}

function isWellFormed<Values extends object>(types: ValueTypes<Values>, values: Values): boolean {
  return Object.entries(types).every(([name, type]) => {
    const value = values[name as keyof Values] as never;
    return value === null || IS_WELL_FORMED[type as keyof typeof IS_WELL_FORMED](value);
  });
}

const IS_WELL_FORMED = {
  uuid: isId,
  bigint: Number.isSafeInteger,
  text: (value: unknown) => typeof value === 'string' && !value.includes('\0'),
  bytea: (value: unknown) => value instanceof Uint8Array,
};

/** The values of a batch, one list for each name, in PostgreSQL's notation of arrays. */
export function listsOf<Values>(types: ValueTypes<Values>, batch: { values: Values }[]): Record<string, string> {
  const names = Object.keys(types) as (keyof Values & string)[];
  return Object.fromEntries(
    names.map((name) => [name, `{${batch.map(({ values }) => formatElement(types[name], values[name]))}}`]),
  );
}

function formatElement(type: string, value: unknown): string {
  if (value === null) return 'NULL';
  if (type === 'text') return `"${String(value).replace(/["\\]/g, '\\$&')}"`;
  if (type === 'bytea') return `"\\\\x${Buffer.from(value as Uint8Array).toString('hex')}"`;
  return String(value);
}

/** The lists as a table named `input`: a row for each call, with its values in columns named `value_…`, and its number. */
export function inputTable<Values>(
  types: ValueTypes<Values>,
  lists: Record<string, string>,
): AliasedRawBuilder<Numbered, 'input'> {
  const names = Object.keys(types) as (keyof Values & string)[];
  // In a subquery, so that PostgreSQL does not know how long they are: else it plans short lists again for each execution.
  const arrays = names.map((name) => sql`(select cast(${lists[name]} as ${sql.raw(types[name])}[]))`);
  const columns = [...names.map(columnOf), 'call_number'].map((name) => sql.id(name));
  return sql<Numbered>`unnest(${sql.join(arrays)}) with ordinality`.as<'input'>(sql`input(${sql.join(columns)})`);
}

/** The column of a value. The prefix tells it from the columns of the tables that it is joined with. */
export function columnOf(name: string): string {
  return `value_${name}`;
}

/** In place of the values of one call: references to the columns of `table`. */
export function valueReferences<Values>(types: ValueTypes<Values>, table: string): Values {
  const names = Object.keys(types);
  const references = names.map((name): [string, RawBuilder<unknown>] => [name, sql.ref(`${table}.${columnOf(name)}`)]);
  return Object.fromEntries(references) as Values;
}
