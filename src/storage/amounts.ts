import { sql } from 'kysely';

/** The exact sum of a column of amounts, as text. SQLite's own `sum` knows 64 bits only; both engines get this aggregate. */
export function sumAmounts(column: string) {
  return sql<string>`sum_amounts(${sql.ref(column)})`;
}
