import type { StatementSync } from 'node:sqlite';

/** From now on it returns arrays, for `toRows`. Gives the names of its columns: none if it returns no rows. */
export function returnArrays(statement: StatementSync): string[] {
  statement.setReturnArrays(true);
  return statement.columns().map(({ name }) => name);
}

/** Quicker than the objects that SQLite's binding makes, to make and to read. */
export function toRows<Row>(found: unknown, columns: string[]): Row[] {
  return (found as unknown[][]).map((values) => {
    const row: Record<string, unknown> = {};
    for (let place = 0; place < columns.length; place += 1) row[columns[place] as string] = values[place];
    return row as Row;
  });
}
