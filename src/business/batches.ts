import { setImmediate } from 'node:timers/promises';
import type { Database } from '../storage/storage.ts';
import { type Row, recordsIn } from './rows.ts';

/** SQLite reads a batch in a few milliseconds, during which no other request runs. */
const BATCH_SIZE = 2000;

interface Selection {
  table: string;
  businessId: string;
  columns: string[];
  /** A range of days: all if left out. There must be an index of the business, this column and the id. */
  days?: { column: string; from: string; to: string };
}

/**
 * Reads any number of records in batches, in the order of an index, and lets other requests run in between. It is not a
 * snapshot: a record that changes meanwhile is read as it was before or after, and only a change of its day can make it
 * appear twice or not at all.
 */
export async function* readBatches(db: Database, selection: Selection): AsyncGenerator<Row[]> {
  for (let last: Row | undefined, isEnd = false; !isEnd; await setImmediate()) {
    const rows: Row[] = await selectBatch(db, selection, last).execute();
    isEnd = rows.length < BATCH_SIZE;
    last = rows.at(-1);
    if (rows.length > 0) yield rows;
  }
}

function selectBatch(db: Database, selection: Selection, last: Row | undefined) {
  const { table, businessId, columns, days } = selection;
  const order = days ? ([days.column, 'id'] as const) : (['id'] as const);
  let query = recordsIn(db)
    .selectFrom(table)
    .select([...columns, ...order])
    .where('business_id', '=', businessId);
  if (days) query = query.where(days.column, '<=', days.to);
  if (!last && days) query = query.where(days.column, '>=', days.from);
  // With another lower bound, SQLite would start each batch there.
  if (last && days)
    query = query.where(({ eb, refTuple, tuple }) =>
      eb(refTuple(days.column, 'id'), '>', tuple(last[days.column], last.id) as never),
    );
  if (last && !days) query = query.where('id', '>', String(last.id));
  for (const column of order) query = query.orderBy(column);
  return query.limit(BATCH_SIZE);
}
