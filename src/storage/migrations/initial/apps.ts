import { type ColumnDefinitionBuilder, type SqlBool, sql } from 'kysely';
import { notNull, primaryKey, references, type SchemaChange, zeroByDefault } from '../migration.ts';

/** Apps, and what users have allowed them. */
export const createApps: SchemaChange = async (db, types) => {
  for (const create of [apps, appLogos, grants, consents, revokedAccessTokens, appApprovals]) await create(db, types);
};

const userByDefault = (column: ColumnDefinitionBuilder) => column.notNull().defaultTo('user');

const apps: SchemaChange = async (db, { id, integer, time }) => {
  await db.schema
    .createTable('apps')
    .addColumn('id', id, primaryKey)
    .addColumn('name', 'text', notNull)
    .addColumn('owner_scope', 'text', notNull)
    .addColumn('owner_business_id', id, (column) => column.references('businesses.id'))
    .addColumn('open_to_any_business', integer, notNull)
    .addColumn('requires_pkce', integer, notNull)
    .addColumn('is_public', integer, zeroByDefault)
    .addColumn('external_client_id', 'text', (column) => column.unique())
    .addColumn('allowed_scopes', 'text', notNull)
    .addColumn('redirect_uris', 'text', notNull)
    .addColumn('created_by', id)
    .addColumn('created_at', time, notNull)
    .addColumn('disabled_at', time)
    .addColumn('paused_at', time)
    .addColumn('deleted_at', time)
    .addColumn('removable_at', time)
    .addColumn('publisher_name', 'text')
    .addColumn('homepage_url', 'text')
    .addColumn('support_url', 'text')
    .addColumn('privacy_url', 'text')
    .addColumn('terms_url', 'text')
    .addColumn('logo_hash', 'text')
    .addColumn('verified_at', time)
    .execute();
  await db.schema.createIndex('apps_by_removal').on('apps').column('removable_at').execute();
  await db.schema.createIndex('apps_by_business').on('apps').column('owner_business_id').execute();
  await db.schema
    .createTable('app_secrets')
    .addColumn('id', id, primaryKey)
    .addColumn('app_id', id, references('apps.id'))
    .addColumn('slot', integer, notNull)
    .addColumn('secret_hash', 'text', notNull)
    .addColumn('hint', 'text', notNull)
    .addColumn('created_at', time, notNull)
    .addColumn('last_used_at', time)
    .addUniqueConstraint('app_secrets_slot', ['app_id', 'slot'])
    .execute();
};

/** Apart from the apps, which are read often. */
const appLogos: SchemaChange = async (db, { id, bytes }) => {
  await db.schema
    .createTable('app_logos')
    .addColumn('app_id', id, (column) => column.primaryKey().references('apps.id'))
    .addColumn('hash', 'text', notNull)
    .addColumn('type', 'text', notNull)
    .addColumn('bytes', bytes, notNull)
    .execute();
  await db.schema.createIndex('app_logos_by_hash').on('app_logos').column('hash').execute();
};

/**
 * No foreign keys: a grant is found, and could be moved to another database, by its id alone. A refresh changes no
 * indexed column, except for `removable_on` once a day.
 */
const grants: SchemaChange = async (db, { id, bytes, integer, time, updatedInPlace }) => {
  await db.schema
    .createTable('grants')
    .addColumn('id', id, primaryKey)
    .addColumn('salt', bytes, notNull)
    .addColumn('app_id', id, notNull)
    .addColumn('user_id', id, notNull)
    .addColumn('business_id', id, notNull)
    .addColumn('connected_for', 'text', userByDefault)
    .addColumn('scopes', 'text', notNull)
    .addColumn('withdrawn_scopes', 'text', (column) => column.notNull().defaultTo(''))
    .addColumn('expires_at', time)
    .addColumn('resource', 'text')
    .addColumn('redirect_uri', 'text')
    .addColumn('code_challenge', 'text')
    .addColumn('created_at', time, notNull)
    .addColumn('code_expires_at', time, notNull)
    .addColumn('exchanged_at', time)
    .addColumn('rotation', time, notNull)
    .addColumn('rotated_at', time)
    .addColumn('refresh_expires_at', time)
    .addColumn('revoked_at', time)
    .addColumn('revoked_reason', 'text')
    .addColumn('removable_on', integer, notNull)
    .addColumn('warned_at', time)
    .addColumn('used_rotation', time, zeroByDefault)
    .modifyEnd(updatedInPlace)
    .execute();
  await db.schema.createIndex('grants_by_user').on('grants').column('user_id').execute();
  await db.schema.createIndex('grants_by_removal').on('grants').column('removable_on').execute();
  await db.schema
    .createIndex('grants_by_business')
    .on('grants')
    .columns(['business_id', 'app_id', 'user_id'])
    .execute();
  await db.schema.createIndex('grants_by_app').on('grants').columns(['app_id', 'business_id']).execute();
  await db.schema
    .createIndex('grants_by_end')
    .on('grants')
    .column('expires_at')
    .where(sql<SqlBool>`expires_at is not null and revoked_at is null`)
    .execute();
};

const consents: SchemaChange = async (db, { id, time }) => {
  await db.schema
    .createTable('consents')
    .addColumn('user_id', id, notNull)
    .addColumn('app_id', id, notNull)
    .addColumn('business_id', id, notNull)
    .addColumn('connected_for', 'text', userByDefault)
    .addColumn('scopes', 'text', notNull)
    .addColumn('declined', 'text', notNull)
    .addColumn('allowed_at', time, notNull)
    .addColumn('expires_at', time)
    .addPrimaryKeyConstraint('consents_key', ['user_id', 'app_id', 'business_id'])
    .execute();
  await db.schema
    .createIndex('consents_by_business')
    .on('consents')
    .columns(['business_id', 'app_id', 'user_id'])
    .execute();
  await db.schema.createIndex('consents_by_app').on('consents').column('app_id').execute();
  await db.schema
    .createIndex('consents_by_end')
    .on('consents')
    .column('expires_at')
    .where(sql<SqlBool>`expires_at is not null`)
    .execute();
};

const revokedAccessTokens: SchemaChange = async (db, { id, time }) => {
  await db.schema
    .createTable('revoked_access_tokens')
    .addColumn('grant_id', id, notNull)
    .addColumn('rotation', time, notNull)
    .addColumn('expires_at', time, notNull)
    .addPrimaryKeyConstraint('revoked_access_tokens_key', ['grant_id', 'rotation'])
    .execute();
  await db.schema
    .createIndex('revoked_access_tokens_by_expiry')
    .on('revoked_access_tokens')
    .column('expires_at')
    .execute();
};

const appApprovals: SchemaChange = async (db, { id, integer, time }) => {
  await db.schema
    .createTable('app_policies')
    .addColumn('business_id', id, (column) => column.primaryKey().references('businesses.id'))
    .addColumn('who', 'text', notNull)
    .addColumn('reserves_sensitive', integer, notNull)
    .execute();
  await db.schema
    .createTable('platform_app_policy')
    .addColumn('id', integer, primaryKey)
    .addColumn('who', 'text', notNull)
    .addColumn('reserves_sensitive', integer, notNull)
    .addColumn('is_binding', integer, notNull)
    .addColumn('ends', 'text', (column) => column.notNull().defaultTo('free'))
    .execute();
  await db.schema
    .createTable('app_approvals')
    .addColumn('business_id', id, references('businesses.id'))
    .addColumn('app_id', id, references('apps.id'))
    .addColumn('status', 'text', notNull)
    .addColumn('scopes', 'text', notNull)
    .addColumn('reason', 'text', notNull)
    .addColumn('decided_by', id)
    .addColumn('decided_at', time, notNull)
    .addPrimaryKeyConstraint('app_approvals_key', ['business_id', 'app_id'])
    .execute();
  await db.schema.createIndex('app_approvals_by_app').on('app_approvals').column('app_id').execute();
  await db.schema
    .createTable('app_requests')
    .addColumn('business_id', id, references('businesses.id'))
    .addColumn('app_id', id, references('apps.id'))
    .addColumn('user_id', id, notNull)
    .addColumn('status', 'text', notNull)
    .addColumn('scopes', 'text', notNull)
    .addColumn('approved_scopes', 'text', notNull)
    .addColumn('note', 'text', notNull)
    .addColumn('requested_at', time, notNull)
    .addColumn('reason', 'text', notNull)
    .addColumn('decided_by', id)
    .addColumn('decided_at', time)
    .addPrimaryKeyConstraint('app_requests_key', ['business_id', 'app_id', 'user_id'])
    .execute();
  await db.schema.createIndex('app_requests_by_app').on('app_requests').column('app_id').execute();
  await db.schema.createIndex('app_requests_by_age').on('app_requests').columns(['status', 'requested_at']).execute();
  await db.schema.createIndex('app_requests_by_user').on('app_requests').column('user_id').execute();
};
