import type { Compilable, SelectQueryBuilder } from 'kysely';
import { collectBatches, type PendingCall } from './batches.ts';
import { pipelinesOf, preparedQuery } from './prepared-query.ts';
import type { Database } from './storage.ts';
import { canJoinBatch, inputTable, listsOf, type Numbered, type ValueTypes, valueReferences } from './value-lists.ts';

// biome-ignore lint/suspicious/noExplicitAny: any tables.
export type BuildSelect<Values, Row> = (db: Database, values: Values) => SelectQueryBuilder<any, any, Row>;

interface Found<Row> {
  rows: Row[];
}

/**
 * A prepared read by ids. On PostgreSQL the same reads of one event loop iteration are one statement: to start a statement
 * takes longer than to read a few rows (docs/decisions/0004).
 */
export function batchedQuery<Values extends object, Row extends object>(
  types: ValueTypes<Values>,
  build: BuildSelect<Values, Row>,
): (db: Database, values: Values) => Promise<Found<Row>> {
  const readOne = preparedQuery(build);
  const readMany = preparedQuery((db, lists: Record<string, string>) => combine(db, lists, { types, build }));
  const readInBatch = collectBatches<Values, Found<Row>>(async (db, batch) => {
    const [first] = batch;
    if (first && batch.length === 1) first.resolve(await readOne(db, first.values));
    else distribute((await readMany(db, listsOf(types, batch))).rows, batch);
  });
  return (db, values) =>
    pipelinesOf(db)?.combinesStatements() && canJoinBatch(db, types, values)
      ? readInBatch(db, values)
      : readOne(db, values);
}

/** Runs the query for each row of the lists. PostgreSQL plans it as a join. */
function combine<Values extends object, Row extends object>(
  db: Database,
  lists: Record<string, string>,
  { types, build }: { types: ValueTypes<Values>; build: BuildSelect<Values, Row> },
): Compilable<Row & Numbered> {
  return db
    .selectFrom(inputTable(types, lists))
    .innerJoinLateral(build(db, valueReferences(types, 'input')).as('found'), (join) => join.onTrue())
    .select('input.call_number')
    .selectAll('found') as unknown as Compilable<Row & Numbered>;
}

function distribute<Values, Row>(rows: (Row & Numbered)[], batch: PendingCall<Values, Found<Row>>[]): void {
  const found = batch.map((): Row[] => []);
  for (const row of rows) found[row.call_number - 1]?.push(row);
  for (const [index, { resolve }] of batch.entries()) resolve({ rows: found[index] ?? [] });
}
