import type { Compilable, CompiledQuery } from 'kysely';
import { areStatementsWatched } from './statements.ts';
import type { Database } from './storage.ts';

interface Answer<Row> {
  rows: Row[];
  numAffectedRows?: bigint;
}

/**
 * A statement that is put together once and then only asked again, with other values: for what nearly every request
 * needs. `build` is given stand-ins for the values, so it must take each by its name and decide nothing by it.
 */
export function preparedQuery<Values extends object, Row>(
  build: (db: Database, values: Values) => Compilable<Row>,
): (db: Database, values: Values) => Promise<Answer<Row>> {
  const statements = new WeakMap<object, Statement<Values, Row>>();
  const compileFor = (db: Database, adapter: object) => {
    const statement = compile(db, build);
    statements.set(adapter, statement);
    return statement;
  };
  return (db, values) => {
    // Each database speaks its own dialect, inside a transaction and outside.
    const { adapter } = db.getExecutor();
    const { query, fill } = statements.get(adapter) ?? compileFor(db, adapter);
    const parameters = fill(values);
    return shortcuts.get(db)?.(query.sql, parameters) ?? db.executeQuery({ ...query, parameters });
  };
}

type Execute = <Row>(text: string, values: unknown[]) => Promise<Answer<Row>>;

/**
 * What a query builder does around each statement that is not part of a transaction is worth leaving out for these,
 * unless someone wants to see every one.
 */
const shortcuts = new WeakMap<Database, Execute>();

export function addShortcut(db: Database, execute: Execute): void {
  if (!areStatementsWatched()) shortcuts.set(db, execute);
}

interface Statement<Values, Row> {
  query: CompiledQuery<Row>;
  fill(values: Values): unknown[];
}

function compile<Values extends object, Row>(
  db: Database,
  build: (db: Database, values: Values) => Compilable<Row>,
): Statement<Values, Row> {
  const names = new Map<unknown, keyof Values>();
  const standIns = new Proxy({} as Values, {
    get(_, name) {
      const standIn = {};
      names.set(standIn, name as keyof Values);
      return standIn;
    },
  });
  const query = build(db, standIns).compile();
  const slots = query.parameters.map((value) => ({ value, name: names.get(value) }));
  return {
    query,
    fill: (values) => slots.map(({ value, name }) => (name === undefined ? value : values[name])),
  };
}
