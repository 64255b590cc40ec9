import { type Compilable, type QueryCreator, sql, type UpdateQueryBuilder } from 'kysely';
import { collectBatches } from './batches.ts';
import { pipelinesOf, preparedQuery } from './prepared-query.ts';
import type { Database } from './storage.ts';
import type { Tables } from './tables.ts';
import {
  canJoinBatch,
  columnOf,
  inputTable,
  listsOf,
  type Numbered,
  type ValueTypes,
  valueReferences,
} from './value-lists.ts';

export interface BatchedUpdate<Values, Row> {
  table: keyof Tables;
  /** The value that is the row's id. */
  key: keyof Values & string;
  types: ValueTypes<Values>;
  /** Changes at most the row with this id. */
  // biome-ignore lint/suspicious/noExplicitAny: any tables.
  change(db: Database, values: Values): UpdateQueryBuilder<any, any, any, Row>;
}

interface Updated {
  numAffectedRows?: bigint;
}

/** A prepared update of one row. On PostgreSQL the same updates of one event loop iteration are one statement. */
export function batchedUpdate<Values extends object>(
  update: BatchedUpdate<Values, unknown>,
): (db: Database, values: Values) => Promise<Updated> {
  const updateOne: (db: Database, values: Values) => Promise<Updated> = preparedQuery(update.change);
  const updateMany = preparedQuery((db, lists: Record<string, string>) => selectChanged(db, lists, update));
  const updateInBatch = runInBatches(update.types, updateOne, updateMany, () => ({ numAffectedRows: 1n }));
  return (db, values) =>
    pipelinesOf(db)?.combinesStatements() && canJoinBatch(db, update.types, values)
      ? updateInBatch(db, values)
      : updateOne(db, values);
}

/** What an update has returned. */
export type Changed = Numbered & Record<string, unknown>;

/**
 * A batch waits for no lock: it leaves out rows that are locked. These, and those that the condition excludes, are changed one by
 * one, so that each call gets the result that it would have got alone.
 */
export function runInBatches<Values extends object, Result>(
  types: ValueTypes<Values>,
  runOne: (db: Database, values: Values) => Promise<Result>,
  runMany: (db: Database, lists: Record<string, string>) => Promise<{ rows: Changed[] }>,
  toResult: (row: Changed) => Result,
): (db: Database, values: Values) => Promise<Result> {
  return collectBatches<Values, Result>(async (db, batch) => {
    const unchanged = new Set(batch);
    if (batch.length > 1) {
      for (const row of (await runMany(db, listsOf(types, batch))).rows) {
        const call = batch[row.call_number - 1];
        if (!call) continue;
        unchanged.delete(call);
        call.resolve(toResult(row));
      }
    }
    for (const { values, resolve, reject } of unchanged) runOne(db, values).then(resolve, reject);
  });
}

// Kysely's types cannot express a list of common table expressions.
export type Untyped = { with(name: string, query: () => unknown): Untyped } & QueryCreator<Record<string, object>>;

/** Begins a statement with the updates of a batch. The rows of `changed` have the values of their calls, too. */
export function withChanged<Values, Row>(
  db: Database,
  lists: Record<string, string>,
  { table, key, types, change }: BatchedUpdate<Values, Row>,
): Untyped {
  const columns = [...Object.keys(types).map(columnOf), 'call_number'];
  const free = db
    .selectFrom(inputTable(types, lists))
    .innerJoin(table as 'grants', (join) => join.on(sql.ref(`${table}.id`), '=', sql.ref(`input.${columnOf(key)}`)))
    .selectAll('input')
    .select(sql.ref(`${table}.ctid`).as('location'))
    .forUpdate(table as 'grants')
    .skipLocked();
  return (db as unknown as Untyped)
    .with('free', () => free)
    .with('changed', () =>
      change(db, valueReferences(types, 'free'))
        .from('free')
        // By id, a plan from when the table was small would scan all of it.
        .whereRef(`${table}.ctid`, '=', 'free.location')
        .returning(columns.map((column) => `free.${column}`)),
    );
}

function selectChanged<Values>(
  db: Database,
  lists: Record<string, string>,
  update: BatchedUpdate<Values, unknown>,
): Compilable<Changed> {
  return withChanged(db, lists, update).selectFrom('changed').selectAll() as unknown as Compilable<Changed>;
}
