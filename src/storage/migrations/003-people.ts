import { sql } from 'kysely';
import type { Migration } from './change.ts';

/** People see and control everything: what was done, what apps did, who is invited, and sign-in without a password. */
export const people: Migration = async (db, types) => {
  const changes = [pausing, declining, connections, auditing, activity, members, invitations, passkeys, delivering];
  for (const change of changes) await change(db, types);
};

/** The platform's own switch: an app's owner cannot turn it back. */
const pausing: Migration = async (db, { time }) => {
  await db.schema.alterTable('apps').addColumn('paused_at', time).execute();
};

/** Optional scopes that were left out of a consent. */
const declining: Migration = async (db, { integer }) => {
  await db.schema
    .alterTable('consents')
    .addColumn('declined', integer, (column) => column.notNull().defaultTo(0))
    .execute();
};

/** Both in one order, so that a page of who has connected what is read, and not sorted. None of it changes at a refresh. */
const connections: Migration = async (db) => {
  const order = ['business_id', 'app_id', 'user_id'];
  await db.schema.dropIndex('grants_by_business').execute();
  await db.schema.createIndex('grants_by_business').on('grants').columns(order).execute();
  await db.schema.dropIndex('grants_by_app').execute();
  await db.schema.createIndex('grants_by_app').on('grants').columns(['app_id', 'business_id']).execute();
  await db.schema.createIndex('consents_by_business').on('consents').columns(order).execute();
};

/** The table itself refuses to have a row changed or removed. */
const auditing: Migration = async (db, { id, time, appendOnly }) => {
  await db.schema
    .createTable('acts')
    .addColumn('id', id, (column) => column.primaryKey())
    .addColumn('at', time, (column) => column.notNull())
    .addColumn('action', 'text', (column) => column.notNull())
    .addColumn('actor_kind', 'text', (column) => column.notNull())
    .addColumn('actor_id', id)
    .addColumn('actor_name', 'text', (column) => column.notNull())
    .addColumn('actor_email', 'text')
    .addColumn('address', 'text')
    .addColumn('business_id', id)
    .addColumn('subject_kind', 'text', (column) => column.notNull())
    .addColumn('subject_id', 'text', (column) => column.notNull())
    .addColumn('subject_name', 'text', (column) => column.notNull())
    .addColumn('detail', 'text', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('acts_by_business').on('acts').columns(['business_id', 'id']).execute();
  await db.schema.createIndex('acts_by_subject').on('acts').columns(['subject_id', 'id']).execute();
  for (const statement of appendOnly('acts')) await sql.raw(statement).execute(db);
};

const activity: Migration = async (db, { id, integer, time, updatedInPlace }) => {
  await db.schema
    .createTable('logged_requests')
    .addColumn('id', id, (column) => column.primaryKey())
    .addColumn('app_id', id, (column) => column.notNull())
    .addColumn('at', time, (column) => column.notNull())
    .addColumn('method', 'text', (column) => column.notNull())
    .addColumn('route', 'text', (column) => column.notNull())
    .addColumn('grant_type', 'text')
    .addColumn('status', integer, (column) => column.notNull())
    .addColumn('reason', 'text')
    .addColumn('request_id', id, (column) => column.notNull())
    .addColumn('business_id', id)
    .addColumn('took', integer, (column) => column.notNull())
    .execute();
  await db.schema.createIndex('logged_requests_by_app').on('logged_requests').columns(['app_id', 'id']).execute();
  await db.schema.createIndex('logged_requests_by_age').on('logged_requests').column('at').execute();
  await db.schema
    .createTable('request_counts')
    .addColumn('app_id', id, (column) => column.notNull())
    .addColumn('hour', integer, (column) => column.notNull())
    .addColumn('requests', integer, (column) => column.notNull())
    .addColumn('errors', integer, (column) => column.notNull())
    .addColumn('refreshes', integer, (column) => column.notNull())
    .addPrimaryKeyConstraint('request_counts_once', ['app_id', 'hour'])
    .modifyEnd(updatedInPlace)
    .execute();
  await db.schema.createIndex('request_counts_by_age').on('request_counts').column('hour').execute();
  await db.schema
    .createTable('scope_uses')
    .addColumn('business_id', id, (column) => column.notNull())
    .addColumn('app_id', id, (column) => column.notNull())
    .addColumn('user_id', id, (column) => column.notNull())
    .addColumn('scope', 'text', (column) => column.notNull())
    .addColumn('day', integer, (column) => column.notNull())
    .addColumn('uses', integer, (column) => column.notNull())
    .addColumn('last_at', time, (column) => column.notNull())
    .addPrimaryKeyConstraint('scope_uses_once', ['business_id', 'app_id', 'user_id', 'scope', 'day'])
    .modifyEnd(updatedInPlace)
    .execute();
  await db.schema.createIndex('scope_uses_by_age').on('scope_uses').column('day').execute();
};

/** The members of a business are listed in order, a page at a time. */
const members: Migration = async (db) => {
  await db.schema.createIndex('memberships_in_order').on('memberships').columns(['business_id', 'user_id']).execute();
  await db.schema.dropIndex('memberships_by_business').execute();
};

const invitations: Migration = async (db, { id, time }) => {
  await db.schema
    .createTable('invitations')
    .addColumn('id', id, (column) => column.primaryKey())
    .addColumn('business_id', id, (column) => column.notNull().references('businesses.id'))
    .addColumn('role', 'text', (column) => column.notNull())
    .addColumn('note', 'text', (column) => column.notNull())
    .addColumn('token_hash', 'text', (column) => column.notNull().unique())
    .addColumn('invited_by', id, (column) => column.notNull())
    .addColumn('created_at', time, (column) => column.notNull())
    .addColumn('expires_at', time, (column) => column.notNull())
    .addColumn('accepted_by', id)
    .addColumn('accepted_at', time)
    .addColumn('withdrawn_at', time)
    .execute();
  await db.schema.createIndex('invitations_by_business').on('invitations').columns(['business_id', 'id']).execute();
  await db.schema.createIndex('invitations_by_expiry').on('invitations').column('expires_at').execute();
};

const passkeys: Migration = async (db, { id, bytes, time }) => {
  await db.schema
    .createTable('passkeys')
    .addColumn('id', id, (column) => column.primaryKey())
    .addColumn('credential_id', 'text', (column) => column.notNull().unique())
    .addColumn('user_id', id, (column) => column.notNull().references('users.id'))
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('public_key', bytes, (column) => column.notNull())
    // As wide as a time: a counter has 32 bits, and none of them is a sign.
    .addColumn('counter', time, (column) => column.notNull())
    .addColumn('transports', 'text', (column) => column.notNull())
    .addColumn('created_at', time, (column) => column.notNull())
    .addColumn('last_used_at', time)
    .execute();
  await db.schema.createIndex('passkeys_by_user').on('passkeys').column('user_id').execute();
  await db.schema
    .createTable('spent_challenges')
    .addColumn('id', id, (column) => column.primaryKey())
    .addColumn('expires_at', time, (column) => column.notNull())
    .execute();
  await db.schema.createIndex('spent_challenges_by_expiry').on('spent_challenges').column('expires_at').execute();
};

/** A failing endpoint rests, whatever comes in; and what waits for one is read in its order, and not sorted. */
const delivering: Migration = async (db, { time }) => {
  await db.schema
    .alterTable('endpoints')
    .addColumn('rests_until', time, (column) => column.notNull().defaultTo(0))
    .execute();
  await db.schema.dropIndex('endpoints_by_due').execute();
  await db.schema
    .createIndex('endpoints_by_due')
    .on('endpoints')
    .column('due_at')
    .where('disabled_at' as never, 'is', null)
    .execute();
  await db.schema
    .createIndex('deliveries_in_order')
    .on('deliveries')
    .columns(['endpoint_id', 'event_id'])
    .where('due_at' as never, 'is not', null)
    .execute();
};
