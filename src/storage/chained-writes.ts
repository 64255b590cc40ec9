import type { Compilable, QueryCreator } from 'kysely';
import { pipelinesOf, preparedQuery } from './prepared-query.ts';
import { type Database, inTransaction, isSqlite } from './storage.ts';
import type { Tables } from './tables.ts';

/** Builds a write that reads the rows of the first write from the table `changed`. */
export type DependentQuery<Row> = QueryCreator<Tables & { changed: Row }>;

interface Chain<Values, Row> {
  /** Returns `columns`, which are ids. */
  change(db: Database, values: Values): Compilable<Row>;
  columns: readonly (keyof Row & string)[];
  /** Writes nothing if `changed` is empty. */
  dependents: ((dependent: DependentQuery<Row>, values: Values, db: Database) => Compilable<unknown>)[];
}

/**
 * A change of one row and the writes that depend on it, all or nothing. One statement on PostgreSQL. SQLite has no writes in
 * a `with` clause, and there a transaction costs little: it runs them one after the other.
 */
export function chainedWrites<Values extends object, Row extends object>(
  chain: Chain<Values, Row>,
): (db: Database, values: Values) => Promise<Row[]> {
  const combined = preparedQuery((db, values: Values) => combine(db, chain, values));
  const change = preparedQuery(chain.change);
  const dependents = chain.dependents.map((each) =>
    preparedQuery((db, values: Values & Row) => each(withRow(db, chain.columns, values), values, db)),
  );
  return async (db, values) => {
    if (pipelinesOf(db)?.combinesStatements()) return (await combined(db, values)).rows;
    return inTransaction(db, async (tx) => {
      const { rows } = await change(tx, values);
      for (const row of rows) for (const write of dependents) await write(tx, { ...values, ...row });
      return rows;
    });
  };
}

// Kysely's types cannot express a list of common table expressions.
type Untyped = { with(name: string, query: () => unknown): Untyped } & QueryCreator<Record<string, object>>;

function combine<Values, Row>(
  db: Database,
  { change, dependents }: Chain<Values, Row>,
  values: Values,
): Compilable<Row> {
  let query = (db as unknown as Untyped).with('changed', () => change(db, values));
  const dependent = db as unknown as DependentQuery<Row>;
  for (const [index, write] of dependents.entries()) {
    query = query.with(`dependent_${index}`, () => write(dependent, values, db));
  }
  return query.selectFrom('changed').selectAll() as unknown as Compilable<Row>;
}

function withRow<Row extends object>(
  db: Database,
  columns: readonly (keyof Row & string)[],
  row: Row,
): DependentQuery<Row> {
  const changed = db.with('changed', (creator) =>
    creator.selectNoFrom(({ val, cast }) =>
      columns.map((column) => {
        const id = val(row[column] as string);
        // PostgreSQL would infer text.
        return (isSqlite(db) ? id : cast<string>(id, 'uuid')).as(column);
      }),
    ),
  );
  return changed as unknown as DependentQuery<Row>;
}
