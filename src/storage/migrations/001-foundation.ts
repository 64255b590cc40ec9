import type { Migration } from './change.ts';

export const foundation: Migration = async (db, types) => {
  const tables: Migration[] = [accounts, sessions, apps, grants, consents, events, invoices, rateLimits];
  for (const create of tables) await create(db, types);
};

const accounts: Migration = async (db, { id, integer, time }) => {
  await db.schema
    .createTable('users')
    .addColumn('id', id, (column) => column.primaryKey())
    .addColumn('email', 'text', (column) => column.notNull().unique())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('password_hash', 'text', (column) => column.notNull())
    .addColumn('platform_admin', integer, (column) => column.notNull())
    .addColumn('current_business_id', id)
    .addColumn('last_signed_in_at', time)
    .addColumn('created_at', time, (column) => column.notNull())
    .addColumn('disabled_at', time)
    .execute();
  await db.schema
    .createTable('businesses')
    .addColumn('id', id, (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('created_at', time, (column) => column.notNull())
    .execute();
  await db.schema
    .createTable('memberships')
    .addColumn('user_id', id, (column) => column.notNull().references('users.id'))
    .addColumn('business_id', id, (column) => column.notNull().references('businesses.id'))
    .addColumn('role', 'text', (column) => column.notNull())
    .addColumn('created_at', time, (column) => column.notNull())
    .addPrimaryKeyConstraint('memberships_key', ['user_id', 'business_id'])
    .execute();
  await db.schema.createIndex('memberships_by_business').on('memberships').column('business_id').execute();
};

const sessions: Migration = async (db, { id, time }) => {
  await db.schema
    .createTable('sessions')
    .addColumn('id_hash', 'text', (column) => column.primaryKey())
    .addColumn('user_id', id, (column) => column.notNull().references('users.id'))
    .addColumn('browser', 'text', (column) => column.notNull())
    .addColumn('address', 'text', (column) => column.notNull())
    .addColumn('signed_in_at', time, (column) => column.notNull())
    .addColumn('last_seen_at', time, (column) => column.notNull())
    .addColumn('expires_at', time, (column) => column.notNull())
    .execute();
  await db.schema.createIndex('sessions_by_user').on('sessions').column('user_id').execute();
  await db.schema.createIndex('sessions_by_expiry').on('sessions').column('expires_at').execute();
};

const apps: Migration = async (db, { id, integer, time }) => {
  await db.schema
    .createTable('apps')
    .addColumn('id', id, (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('owner_scope', 'text', (column) => column.notNull())
    .addColumn('owner_business_id', id, (column) => column.references('businesses.id'))
    .addColumn('open_to_any_business', integer, (column) => column.notNull())
    .addColumn('requires_pkce', integer, (column) => column.notNull())
    .addColumn('allowed_scopes', integer, (column) => column.notNull())
    .addColumn('redirect_uris', 'text', (column) => column.notNull())
    .addColumn('created_by', id)
    .addColumn('created_at', time, (column) => column.notNull())
    .addColumn('disabled_at', time)
    .addColumn('deleted_at', time)
    .execute();
  await db.schema.createIndex('apps_by_business').on('apps').column('owner_business_id').execute();
  await db.schema
    .createTable('app_secrets')
    .addColumn('id', id, (column) => column.primaryKey())
    .addColumn('app_id', id, (column) => column.notNull().references('apps.id'))
    .addColumn('slot', integer, (column) => column.notNull())
    .addColumn('secret_hash', 'text', (column) => column.notNull())
    .addColumn('hint', 'text', (column) => column.notNull())
    .addColumn('created_at', time, (column) => column.notNull())
    .addColumn('last_used_at', time)
    .addUniqueConstraint('app_secrets_slot', ['app_id', 'slot'])
    .execute();
};

/** No foreign keys here: a grant is found, and could be moved to another database, by its id alone. */
const grants: Migration = async (db, { id, bytes, integer, time, updatedInPlace }) => {
  await db.schema
    .createTable('grants')
    .addColumn('id', id, (column) => column.primaryKey())
    .addColumn('salt', bytes, (column) => column.notNull())
    .addColumn('app_id', id, (column) => column.notNull())
    .addColumn('user_id', id, (column) => column.notNull())
    .addColumn('business_id', id, (column) => column.notNull())
    .addColumn('scopes', integer, (column) => column.notNull())
    .addColumn('redirect_uri', 'text')
    .addColumn('code_challenge', 'text')
    .addColumn('created_at', time, (column) => column.notNull())
    .addColumn('code_expires_at', time, (column) => column.notNull())
    .addColumn('exchanged_at', time)
    .addColumn('rotation', time, (column) => column.notNull())
    .addColumn('rotated_at', time)
    .addColumn('refresh_expires_at', time)
    .addColumn('revoked_at', time)
    .addColumn('revoked_reason', 'text')
    .addColumn('removable_on', integer, (column) => column.notNull())
    .modifyEnd(updatedInPlace)
    .execute();
  await db.schema.createIndex('grants_by_user').on('grants').column('user_id').execute();
  await db.schema.createIndex('grants_by_removal').on('grants').column('removable_on').execute();
};

const consents: Migration = async (db, { id, integer, time }) => {
  await db.schema
    .createTable('consents')
    .addColumn('user_id', id, (column) => column.notNull())
    .addColumn('app_id', id, (column) => column.notNull())
    .addColumn('business_id', id, (column) => column.notNull())
    .addColumn('scopes', integer, (column) => column.notNull())
    .addColumn('allowed_at', time, (column) => column.notNull())
    .addPrimaryKeyConstraint('consents_key', ['user_id', 'app_id', 'business_id'])
    .execute();
  await db.schema
    .createTable('revoked_access_tokens')
    .addColumn('grant_id', id, (column) => column.notNull())
    .addColumn('rotation', time, (column) => column.notNull())
    .addColumn('expires_at', time, (column) => column.notNull())
    .addPrimaryKeyConstraint('revoked_access_tokens_key', ['grant_id', 'rotation'])
    .execute();
  await db.schema
    .createIndex('revoked_access_tokens_by_expiry')
    .on('revoked_access_tokens')
    .column('expires_at')
    .execute();
};

const events: Migration = async (db, { id, time }) => {
  await db.schema
    .createTable('events')
    .addColumn('id', id, (column) => column.primaryKey())
    .addColumn('type', 'text', (column) => column.notNull())
    .addColumn('app_id', id, (column) => column.notNull())
    .addColumn('business_id', id, (column) => column.notNull())
    .addColumn('data', 'text', (column) => column.notNull())
    .addColumn('created_at', time, (column) => column.notNull())
    .execute();
  await db.schema.createIndex('events_by_time').on('events').column('created_at').execute();
};

const invoices: Migration = async (db, { id, time, amount }) => {
  await db.schema
    .createTable('invoices')
    .addColumn('id', id, (column) => column.primaryKey())
    .addColumn('business_id', id, (column) => column.notNull().references('businesses.id'))
    .addColumn('number', 'text', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('total', amount, (column) => column.notNull())
    .addColumn('currency', 'text', (column) => column.notNull())
    .addColumn('customer_id', 'text', (column) => column.notNull())
    .addColumn('created_at', time, (column) => column.notNull())
    .addUniqueConstraint('invoices_number', ['business_id', 'number'])
    .execute();
  await db.schema.createIndex('invoices_by_age').on('invoices').columns(['business_id', 'id']).execute();
  await db.schema.createIndex('invoices_by_status').on('invoices').columns(['business_id', 'status', 'id']).execute();
};

/** Its columns are those of the library that counts in it. */
const rateLimits: Migration = async (db, { integer, time }) => {
  await db.schema
    .createTable('rate_limits')
    .addColumn('key', 'text', (column) => column.primaryKey())
    .addColumn('points', integer, (column) => column.notNull())
    .addColumn('expire', time)
    .execute();
  await db.schema.createIndex('rate_limits_by_expiry').on('rate_limits').column('expire').execute();
};
