import { type Compilable, type SelectQueryBuilder, sql } from 'kysely';
import { isId } from '../lib/ids.ts';
import { pipelinesOf, preparedQuery } from './prepared-query.ts';
import type { Database } from './storage.ts';

/** A full batch is sent at once, so that the first reads do not wait for many others. */
const MAX_BATCH = 64;

/** PostgreSQL's names of the types of values. */
type Types<Values> = Record<keyof Values & string, 'uuid' | 'bigint' | 'text'>;

// biome-ignore lint/suspicious/noExplicitAny: any tables.
type Build<Values, Row> = (db: Database, values: Values) => SelectQueryBuilder<any, any, Row>;

type Read<Values, Row> = (db: Database, values: Values) => Promise<{ rows: Row[] }>;

/**
 * A prepared read by ids. On PostgreSQL the same reads of one event loop iteration are one statement: to start a statement
 * takes longer than to read a few rows (docs/decisions/0004).
 */
export function batchedQuery<Values extends object, Row extends object>(
  types: Types<Values>,
  build: Build<Values, Row>,
): Read<Values, Row> {
  const readOne = preparedQuery(build);
  const readMany = preparedQuery((db, lists: Record<string, string>) => combine(db, lists, { types, build }));
  const batches = new WeakMap<object, PendingRead<Values, Row>[]>();

  async function flush(db: Database, batch: PendingRead<Values, Row>[]): Promise<void> {
    batches.delete(db.getExecutor().adapter);
    const [first] = batch;
    try {
      if (first && batch.length === 1) first.resolve(await readOne(db, first.values));
      else distribute((await readMany(db, listsOf(types, batch))).rows, batch);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  function join(db: Database, read: PendingRead<Values, Row>): void {
    const { adapter } = db.getExecutor();
    const batch = batches.get(adapter) ?? [];
    batch.push(read);
    if (batch.length === MAX_BATCH) flush(db, batch);
    if (batch.length > 1) return;
    batches.set(adapter, batch);
    setImmediate(() => {
      if (batches.get(adapter) === batch) flush(db, batch);
    });
    pipelinesOf(db)?.scheduleSend();
  }

  return (db, values) =>
    pipelinesOf(db)?.combinesStatements() && !db.isTransaction && isWellFormed(types, values)
      ? new Promise((resolve, reject) => join(db, { values, resolve, reject }))
      : readOne(db, values);
}

/** A value that PostgreSQL rejects, or that contains a comma, would affect the other reads of the batch. It is read alone. */
function isWellFormed<Values extends object>(types: Types<Values>, values: Values): boolean {
  return Object.entries(values).every(([name, value]) => IS_WELL_FORMED[types[name as keyof Types<Values>]](value));
}

/** Of texts, only hashes in base64url. */
const IS_WELL_FORMED = {
  uuid: isId,
  bigint: Number.isSafeInteger,
  text: (value: string) => /^[\w-]{43}$/.test(value),
};

interface PendingRead<Values, Row> {
  values: Values;
  resolve(found: { rows: Row[] }): void;
  reject(reason: unknown): void;
}

/** Which of the reads a row is for, from 1 on. */
interface Numbered {
  read_number: number;
}

/** The same query, for each row of the lists. PostgreSQL plans it as a join. */
function combine<Values extends object, Row extends object>(
  db: Database,
  lists: Record<string, string>,
  { types, build }: { types: Types<Values>; build: Build<Values, Row> },
): Compilable<Row & Numbered> {
  const names = Object.keys(types) as (keyof Values & string)[];
  const columns = [...names, 'read_number'].map((name) => sql.id(name));
  // In a subquery, so that PostgreSQL does not know how long they are: else it plans short lists again for each execution.
  const arrays = names.map((name) => sql`(select cast(${lists[name]} as ${sql.raw(types[name])}[]))`);
  const input = sql<Numbered>`unnest(${sql.join(arrays)}) with ordinality`.as<'input'>(
    sql`input(${sql.join(columns)})`,
  );
  const values = Object.fromEntries(names.map((name) => [name, sql.ref(`input.${name}`)]));
  return db
    .selectFrom(input)
    .innerJoinLateral(build(db, values as Values).as('found'), (join) => join.onTrue())
    .select('input.read_number')
    .selectAll('found') as unknown as Compilable<Row & Numbered>;
}

/** PostgreSQL's notation of arrays. None of the values needs quotes (`isWellFormed`). */
function listsOf<Values>(types: Types<Values>, batch: { values: Values }[]): Record<string, string> {
  const names = Object.keys(types) as (keyof Values & string)[];
  return Object.fromEntries(names.map((name) => [name, `{${batch.map(({ values }) => values[name]).join()}}`]));
}

function distribute<Values, Row>(rows: (Row & Numbered)[], batch: PendingRead<Values, Row>[]): void {
  const found = batch.map((): Row[] => []);
  for (const row of rows) found[row.read_number - 1]?.push(row);
  for (const [index, { resolve }] of batch.entries()) resolve({ rows: found[index] ?? [] });
}
