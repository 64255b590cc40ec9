import { type Expression, type RawBuilder, sql } from 'kysely';
import { type Database, isSqlite } from './storage.ts';

/** The text of a JSON object whose values are expressions. Strings that are parameters need a cast for PostgreSQL. */
export function jsonObject(db: Database, fields: Record<string, Expression<unknown>>): RawBuilder<string> {
  const pairs = Object.entries(fields).flatMap(([name, value]) => [sql.lit(name), value]);
  const build = isSqlite(db) ? 'json_object' : 'json_build_object';
  return sql`cast(${sql.raw(build)}(${sql.join(pairs)}) as text)`;
}

/** Whether the text of a JSON object has every column of the row, with the same values. Only PostgreSQL has this. */
export function containsRow(json: string, table: string): RawBuilder<boolean> {
  return sql`cast(${json} as jsonb) @> to_jsonb(${sql.table(table)})`;
}
