import { sql } from 'kysely';
import { notNull, primaryKey, type SchemaChange, zeroByDefault } from '../migration.ts';

/** The request log, rate limits, and the clock of the retention job. */
export const createOperations: SchemaChange = async (db, types) => {
  for (const create of [loggedRequests, requestCounts, scopeUses, rateLimits, clock]) await create(db, types);
};

const loggedRequests: SchemaChange = async (db, { id, integer, time }) => {
  await db.schema
    .createTable('logged_requests')
    .addColumn('id', id, primaryKey)
    .addColumn('app_id', id, notNull)
    .addColumn('at', time, notNull)
    .addColumn('method', 'text', notNull)
    .addColumn('route', 'text', notNull)
    .addColumn('grant_type', 'text')
    .addColumn('status', integer, notNull)
    .addColumn('reason', 'text')
    .addColumn('request_id', id, notNull)
    .addColumn('business_id', id)
    .addColumn('took', integer, notNull)
    .execute();
  await db.schema.createIndex('logged_requests_by_app').on('logged_requests').columns(['app_id', 'id']).execute();
  await db.schema.createIndex('logged_requests_by_age').on('logged_requests').column('at').execute();
};

const requestCounts: SchemaChange = async (db, { id, integer, updatedInPlace }) => {
  await db.schema
    .createTable('request_counts')
    .addColumn('app_id', id, notNull)
    .addColumn('hour', integer, notNull)
    .addColumn('requests', integer, notNull)
    .addColumn('errors', integer, notNull)
    .addColumn('refreshes', integer, notNull)
    .addColumn('exchanges', integer, zeroByDefault)
    .addColumn('pkce_exchanges', integer, zeroByDefault)
    .addPrimaryKeyConstraint('request_counts_once', ['app_id', 'hour'])
    .modifyEnd(updatedInPlace)
    .execute();
  await db.schema.createIndex('request_counts_by_age').on('request_counts').column('hour').execute();
};

const scopeUses: SchemaChange = async (db, { id, integer, time, updatedInPlace }) => {
  await db.schema
    .createTable('scope_uses')
    .addColumn('business_id', id, notNull)
    .addColumn('app_id', id, notNull)
    .addColumn('user_id', id, notNull)
    .addColumn('scope', 'text', notNull)
    .addColumn('day', integer, notNull)
    .addColumn('uses', integer, notNull)
    .addColumn('last_at', time, notNull)
    .addPrimaryKeyConstraint('scope_uses_once', ['business_id', 'app_id', 'user_id', 'scope', 'day'])
    .modifyEnd(updatedInPlace)
    .execute();
  await db.schema.createIndex('scope_uses_by_age').on('scope_uses').column('day').execute();
};

/** The columns that `rate-limiter-flexible` expects. */
const rateLimits: SchemaChange = async (db, { integer, time }) => {
  await db.schema
    .createTable('rate_limits')
    .addColumn('key', 'text', primaryKey)
    .addColumn('points', integer, notNull)
    .addColumn('expire', time)
    .execute();
  await db.schema.createIndex('rate_limits_by_expiry').on('rate_limits').column('expire').execute();
};

/** One row: the last plausible reading of the clock, with which the retention job compares the clock. */
const clock: SchemaChange = async (db, { integer, time }) => {
  await db.schema
    .createTable('clock')
    .addColumn('id', integer, primaryKey)
    .addColumn('reading', time, notNull)
    .execute();
};

/** Triggers reject changes to entries. Only the retention job can remove them, by the row of `audit_retention`. */
export const createAudit: SchemaChange = async (db, types) => {
  for (const create of [entries, retention, repeats]) await create(db, types);
};

const entries: SchemaChange = async (db, { id, time }) => {
  await db.schema
    .createTable('audit_entries')
    .addColumn('id', id, primaryKey)
    .addColumn('at', time, notNull)
    .addColumn('action', 'text', notNull)
    .addColumn('actor_kind', 'text', notNull)
    .addColumn('actor_id', id)
    .addColumn('person_id', id)
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
  await index('person', 'person_id');
};

/** One row: entries older than `removable_before` may be removed. It is 0 except inside the retention job. */
const retention: SchemaChange = async (db, { time, appendOnly }) => {
  await db.schema.createTable('audit_retention').addColumn('removable_before', time, notNull).execute();
  await sql`insert into audit_retention (removable_before) values (0)`.execute(db);
  for (const statement of appendOnly('audit_entries', 'audit_retention')) await sql.raw(statement).execute(db);
};

/** Counts what is repeated within a window, and recorded as one entry. */
const repeats: SchemaChange = async (db, { integer, time }) => {
  await db.schema
    .createTable('audit_repeats')
    .addColumn('key', 'text', primaryKey)
    .addColumn('window_start', time, notNull)
    .addColumn('count', integer, notNull)
    .execute();
  await db.schema.createIndex('audit_repeats_by_age').on('audit_repeats').column('window_start').execute();
};
