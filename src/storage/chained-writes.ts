import { type Compilable, type QueryCreator, sql } from 'kysely';
import type { BuildSelect } from './batched-query.ts';
import { type BatchedUpdate, type Changed, runInBatches, type Untyped, withChanged } from './batched-update.ts';
import { collectBatches } from './batches.ts';
import { pipelinesOf, preparedQuery } from './prepared-query.ts';
import { type Database, inTransaction, isSqlite } from './storage.ts';
import type { Tables } from './tables.ts';
import {
  canJoinBatch,
  columnOf,
  inputTable,
  listsOf,
  type Numbered,
  type ValueType,
  type ValueTypes,
  valueReferences,
} from './value-lists.ts';

/** Builds a write that reads the rows of the first write from the table `changed`. */
export type DependentQuery<Row> = QueryCreator<Tables & { changed: Row }>;

interface Chain<Values, Row> {
  /** Returns `columns`, which are ids. */
  change(db: Database, values: Values): Compilable<Row>;
  columns: readonly (keyof Row & string)[];
  /** Writes nothing if `changed` is empty. */
  dependents: readonly ((dependent: DependentQuery<Row>, values: Values, db: Database) => Compilable<unknown>)[];
}

/**
 * A change of one row and the writes that depend on it, all or nothing. One statement on PostgreSQL. SQLite has no writes in
 * a `with` clause, and there a transaction costs little: it runs them one after the other.
 */
function chainedWrites<Values extends object, Row extends object>(
  chain: Chain<Values, Row>,
): (db: Database, values: Values) => Promise<Row[]> {
  const combined = preparedQuery((db, values: Values) => {
    const changed = (db as unknown as Untyped).with('changed', () => chain.change(db, values));
    return combine(db, changed, chain, values);
  });
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

/** An update of one row and the writes that depend on it. On PostgreSQL, those of one event loop iteration are one statement. */
export function chainedUpdate<Values extends object, Row extends object>(
  chain: Chain<Values, Row> & BatchedUpdate<Values, Row>,
): (db: Database, values: Values) => Promise<Row[]> {
  const writeOne = chainedWrites(chain);
  const writeMany = preparedQuery((db, lists: Record<string, string>) => {
    const changed = withChanged(db, lists, chain);
    return combine<Values, Row & Changed>(db, changed, chain, valueReferences(chain.types, 'changed'));
  });
  const writeInBatch = runInBatches(chain.types, writeOne, writeMany, (row) => [row as unknown as Row]);
  return (db, values) =>
    pipelinesOf(db)?.combinesStatements() && canJoinBatch(db, chain.types, values)
      ? writeInBatch(db, values)
      : writeOne(db, values);
}

interface InsertChain<Values, Row> extends Pick<Chain<Values, Row>, 'columns' | 'dependents'> {
  table: keyof Tables;
  /** The types of the columns of the new row. Its values have the same names. */
  types: Record<string, ValueType> & { id: 'uuid' };
  /** Which columns of the row have the names in `columns`. */
  returning: readonly `${string} as ${string}`[];
}

/** A new row and the writes that depend on it, none if the id is taken. */
export function chainedInsert<Values extends object, Row extends object>(
  chain: InsertChain<Values, Row>,
): (db: Database, values: Values) => Promise<Row[]> {
  return chainedWrites({ ...chain, change: (db, values: Values) => insertRow(db, chain, values) });
}

function insertRow<Values, Row>(
  db: Database,
  { table, types, returning }: InsertChain<Values, Row>,
  values: Values,
): Compilable<Row> {
  const row = Object.fromEntries(Object.keys(types).map((name) => [name, values[name as keyof Values]]));
  return (db as unknown as Untyped)
    .insertInto(table)
    .values(row as never)
    .onConflict((conflict) => conflict.column('id' as never).doNothing())
    .returning(returning as never) as unknown as Compilable<Row>;
}

interface ConditionalChain<Values, Row> extends InsertChain<Values, Row> {
  /** The types of the values that the dependents and the condition need. */
  otherTypes: Record<string, ValueType>;
  /** The columns of the new row that the condition finds. */
  found: readonly string[];
  /** Finds a row if the new one may be inserted. Must wait for no lock: all other calls would wait with it. */
  condition: BuildSelect<Values, object>;
}

/**
 * Like `chainedInsert`, if `condition` finds a row: one statement for all calls of one event loop iteration, each with an id of its
 * own. False if it finds none, and on databases that cannot combine statements. A transaction then has to decide.
 */
export function conditionalInsert<Values extends object, Row extends object>(
  chain: ConditionalChain<Values, Row>,
): (db: Database, values: Values) => Promise<boolean> {
  const types = { ...chain.types, ...chain.otherTypes } as ValueTypes<Values>;
  const insertMany = preparedQuery((db, lists: Record<string, string>) => {
    const changed = withInserted(db, inputTable(types, lists), chain, types);
    return combine<Values, Row & Numbered>(db, changed, chain, valueReferences(types, 'changed'));
  });
  const insertInBatch = collectBatches<Values, boolean>(async (db, batch) => {
    const { rows } = await insertMany(db, listsOf(types, batch));
    const inserted = new Set(rows.map(({ call_number }) => call_number));
    for (const [index, { resolve }] of batch.entries()) resolve(inserted.has(index + 1));
  });
  return async (db, values) =>
    pipelinesOf(db)?.combinesStatements() === true && canJoinBatch(db, types, values) && insertInBatch(db, values);
}

/** Begins a statement with the rows of a batch. The rows of `changed` have the values of their calls, too. */
function withInserted<Values, Row>(
  db: Database,
  input: ReturnType<typeof inputTable>,
  { table, types, returning, condition, found }: ConditionalChain<Values, Row>,
  inputTypes: ValueTypes<Values>,
): Untyped {
  const creator = db as unknown as Untyped;
  const names = Object.keys(types);
  const allowed = condition(db, valueReferences(inputTypes, 'input')).as('allowed');
  const rows = creator
    .selectFrom('input')
    .innerJoinLateral(allowed, (join) => join.onTrue())
    .select(
      names.map((name) =>
        sql.ref(found.includes(name) ? `allowed.${name}` : `input.${columnOf(name)}`).as(name),
      ) as never,
    );
  return creator
    .with('input', () => db.selectFrom(input).selectAll())
    .with('inserted', () =>
      creator
        .insertInto(table)
        .columns(names as never)
        .expression(rows)
        .onConflict((conflict) => conflict.column('id' as never).doNothing())
        .returning(['id', ...returning] as never),
    )
    .with('changed', () =>
      creator
        .selectFrom('inserted')
        .innerJoin('input', (join) => join.onRef(`input.${columnOf('id')}` as never, '=', 'inserted.id' as never))
        .selectAll(),
    );
}

/** Adds the dependent writes to the change. */
function combine<Values, Row>(
  db: Database,
  changed: Untyped,
  { dependents }: Pick<Chain<Values, Row>, 'dependents'>,
  values: Values,
): Compilable<Row> {
  const dependent = db as unknown as DependentQuery<Row>;
  const query = dependents.reduce(
    (all, write, index) => all.with(`dependent_${index}`, () => write(dependent, values, db)),
    changed,
  );
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
