import type { Migration } from './change.ts';

/** One row: the last plausible reading of the clock, by which retention judges what the clock says next. */
export const clock: Migration = async (db, { integer, time }) => {
  await db.schema
    .createTable('clock')
    .addColumn('id', integer, (column) => column.primaryKey())
    .addColumn('reading', time, (column) => column.notNull())
    .execute();
};
