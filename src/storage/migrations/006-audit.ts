import { sql } from 'kysely';
import type { Migration } from './change.ts';

/** The audit log has bounds: repeats are merged, and entries may be removed once they are old enough. */
export const audit: Migration = async (db, types) => {
  for (const change of [actors, repeats, retention]) await change(db, types);
};

const actors: Migration = async (db) => {
  await db.schema.createIndex('acts_by_actor').on('acts').columns(['actor_id', 'id']).execute();
};

/** How often something was repeated since its last entry in the log. */
const repeats: Migration = async (db, { integer, time }) => {
  await db.schema
    .createTable('act_repeats')
    .addColumn('key', 'text', (column) => column.primaryKey())
    .addColumn('since', time, (column) => column.notNull())
    .addColumn('times', integer, (column) => column.notNull())
    .execute();
  await db.schema.createIndex('act_repeats_by_age').on('act_repeats').column('since').execute();
};

/** One row. The triggers let entries be removed that are older than it says; outside of the retention job that is none. */
const retention: Migration = async (db, { time, removableByRetention }) => {
  await db.schema
    .createTable('acts_retention')
    .addColumn('removable_before', time, (column) => column.notNull())
    .execute();
  await sql`insert into acts_retention (removable_before) values (0)`.execute(db);
  for (const statement of removableByRetention('acts')) await sql.raw(statement).execute(db);
};
