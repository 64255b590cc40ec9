import { type AliasedRawBuilder, sql } from 'kysely';
import { type Database, isSqlite } from './storage.ts';
import type { Row, Tables } from './tables.ts';

/** Rows of a table as a parameter: the statement is the same for any number of them, also for none. */
export function jsonRows<Table extends keyof Tables & string>(
  db: Database,
  table: Table,
  columns: readonly (keyof Row<Table> & string)[],
  rows: Row<Table>[],
): AliasedRawBuilder<Row<Table>, 'input'> {
  const json = JSON.stringify(rows);
  if (!isSqlite(db)) {
    const type = sql`null::${sql.table(table)}`;
    return sql<Row<Table>>`jsonb_populate_recordset(${type}, cast(${json} as jsonb))`.as('input');
  }
  const values = columns.map((column) => sql`value ->> ${sql.lit(column)} as ${sql.id(column)}`);
  return sql<Row<Table>>`(select ${sql.join(values)} from json_each(${json}))`.as('input');
}
