import { sql } from 'kysely';
import { type Migration, notNull, primaryKey } from '../migration.ts';

/** Triggers reject changes to entries. Only the retention job can remove them, by the row of `audit_retention`. */
export const createAudit: Migration = async (db, types) => {
  for (const create of [entries, retention, repeats]) await create(db, types);
};

const entries: Migration = async (db, { id, time }) => {
  await db.schema
    .createTable('audit_entries')
    .addColumn('id', id, primaryKey)
    .addColumn('at', time, notNull)
    .addColumn('action', 'text', notNull)
    .addColumn('actor_kind', 'text', notNull)
    .addColumn('actor_id', id)
    .addColumn('actor_name', 'text', notNull)
    .addColumn('actor_email', 'text')
    .addColumn('address', 'text')
    .addColumn('business_id', id)
    .addColumn('subject_kind', 'text', notNull)
    .addColumn('subject_id', 'text', notNull)
    .addColumn('subject_name', 'text', notNull)
    .addColumn('detail', 'text', notNull)
    .execute();
  const index = (name: string, column: string) =>
    db.schema.createIndex(`audit_entries_by_${name}`).on('audit_entries').columns([column, 'id']).execute();
  await index('business', 'business_id');
  await index('subject', 'subject_id');
  await index('actor', 'actor_id');
};

/** One row: entries older than `removable_before` may be removed. It is 0 except inside the retention job. */
const retention: Migration = async (db, { time, appendOnly }) => {
  await db.schema.createTable('audit_retention').addColumn('removable_before', time, notNull).execute();
  await sql`insert into audit_retention (removable_before) values (0)`.execute(db);
  for (const statement of appendOnly('audit_entries', 'audit_retention')) await sql.raw(statement).execute(db);
};

/** Counts what is repeated within a window, and recorded as one entry. */
const repeats: Migration = async (db, { integer, time }) => {
  await db.schema
    .createTable('audit_repeats')
    .addColumn('key', 'text', primaryKey)
    .addColumn('window_start', time, notNull)
    .addColumn('count', integer, notNull)
    .execute();
  await db.schema.createIndex('audit_repeats_by_age').on('audit_repeats').column('window_start').execute();
};
