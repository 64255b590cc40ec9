import { notNull, primaryKey, references, type SchemaChange, zeroByDefault } from '../migration.ts';

export const createAccounts: SchemaChange = async (db, types) => {
  for (const create of [users, memberships, sessions, invitations, passkeys, secondFactors, notices, passwordLinks]) {
    await create(db, types);
  }
};

const users: SchemaChange = async (db, { id, integer, time }) => {
  await db.schema
    .createTable('users')
    .addColumn('id', id, primaryKey)
    .addColumn('email', 'text', (column) => column.notNull().unique())
    .addColumn('email_skeleton', 'text', notNull)
    .addColumn('email_verified_at', time)
    .addColumn('origin_business_id', id)
    .addColumn('name', 'text', notNull)
    .addColumn('language', 'text')
    .addColumn('password_hash', 'text', notNull)
    .addColumn('platform_admin', integer, notNull)
    .addColumn('current_business_id', id)
    .addColumn('last_signed_in_at', time)
    .addColumn('created_at', time, notNull)
    .addColumn('disabled_at', time)
    .execute();
  await db.schema.createIndex('users_by_skeleton').on('users').column('email_skeleton').unique().execute();
  // Every token check asks whether its user is disabled. This index holds only disabled users, so it stays in memory.
  // Unless it is unique, SQLite prefers the primary key.
  await db.schema
    .createIndex('users_disabled')
    .on('users')
    .column('id')
    .unique()
    .where('disabled_at' as never, 'is not', null)
    .execute();
};

const memberships: SchemaChange = async (db, { id, integer, time }) => {
  await db.schema
    .createTable('businesses')
    .addColumn('id', id, primaryKey)
    .addColumn('name', 'text', notNull)
    .addColumn('created_at', time, notNull)
    .addColumn('requires_second_factor', integer, zeroByDefault)
    .execute();
  await db.schema
    .createTable('memberships')
    .addColumn('user_id', id, references('users.id'))
    .addColumn('business_id', id, references('businesses.id'))
    .addColumn('role', 'text', notNull)
    .addColumn('created_at', time, notNull)
    .addPrimaryKeyConstraint('memberships_key', ['user_id', 'business_id'])
    .execute();
  // Lists the members of a business in order. It covers the membership check of a token, too.
  await db.schema
    .createIndex('memberships_since')
    .on('memberships')
    .columns(['business_id', 'user_id', 'created_at'])
    .execute();
};

const sessions: SchemaChange = async (db, { id, time }) => {
  await db.schema
    .createTable('sessions')
    .addColumn('id_hash', 'text', primaryKey)
    .addColumn('user_id', id, references('users.id'))
    .addColumn('browser', 'text', notNull)
    .addColumn('address', 'text', notNull)
    .addColumn('signed_in_at', time, notNull)
    .addColumn('last_seen_at', time, notNull)
    .addColumn('expires_at', time, notNull)
    .addColumn('second_factor', 'text')
    .execute();
  await db.schema.createIndex('sessions_by_user').on('sessions').column('user_id').execute();
  await db.schema.createIndex('sessions_by_expiry').on('sessions').column('expires_at').execute();
};

const invitations: SchemaChange = async (db, { id, time }) => {
  await db.schema
    .createTable('invitations')
    .addColumn('id', id, primaryKey)
    .addColumn('business_id', id, references('businesses.id'))
    .addColumn('role', 'text', notNull)
    .addColumn('email', 'text', notNull)
    .addColumn('token_hash', 'text', (column) => column.notNull().unique())
    .addColumn('invited_by', id, notNull)
    .addColumn('created_at', time, notNull)
    .addColumn('expires_at', time, notNull)
    .addColumn('accepted_by', id)
    .addColumn('accepted_at', time)
    .addColumn('withdrawn_at', time)
    .execute();
  await db.schema.createIndex('invitations_by_business').on('invitations').columns(['business_id', 'id']).execute();
  await db.schema.createIndex('invitations_by_expiry').on('invitations').column('expires_at').execute();
};

const passkeys: SchemaChange = async (db, { id, bytes, time }) => {
  await db.schema
    .createTable('passkeys')
    .addColumn('id', id, primaryKey)
    .addColumn('credential_id', 'text', (column) => column.notNull().unique())
    .addColumn('user_id', id, references('users.id'))
    .addColumn('name', 'text', notNull)
    .addColumn('public_key', bytes, notNull)
    // Unsigned, 32 bits: too large for an integer of PostgreSQL.
    .addColumn('counter', time, notNull)
    .addColumn('transports', 'text', notNull)
    .addColumn('created_at', time, notNull)
    .addColumn('last_used_at', time)
    .execute();
  await db.schema.createIndex('passkeys_by_user').on('passkeys').column('user_id').execute();
  await db.schema
    .createTable('used_challenges')
    .addColumn('id', id, primaryKey)
    .addColumn('expires_at', time, notNull)
    .execute();
  await db.schema.createIndex('used_challenges_by_expiry').on('used_challenges').column('expires_at').execute();
};

const secondFactors: SchemaChange = async (db, { id, integer, time }) => {
  await db.schema
    .createTable('authenticator_apps')
    .addColumn('user_id', id, (column) => column.primaryKey().references('users.id'))
    .addColumn('secret', 'text', notNull)
    .addColumn('used_step', time, notNull)
    .addColumn('added_at', time, notNull)
    .execute();
  await db.schema
    .createTable('recovery_codes')
    .addColumn('user_id', id, references('users.id'))
    .addColumn('code_hash', 'text', notNull)
    .addPrimaryKeyConstraint('recovery_codes_key', ['user_id', 'code_hash'])
    .execute();
  await db.schema
    .createTable('platform_settings')
    .addColumn('id', integer, primaryKey)
    .addColumn('requires_second_factor', integer, zeroByDefault)
    .execute();
};

const notices: SchemaChange = async (db, { id, integer, time }) => {
  await db.schema
    .createTable('notices')
    .addColumn('id', id, primaryKey)
    .addColumn('user_id', id, references('users.id'))
    .addColumn('kind', 'text', notNull)
    .addColumn('detail', 'text', notNull)
    .addColumn('at', time, notNull)
    .addColumn('mail_due', integer, notNull)
    .execute();
  await db.schema.createIndex('notices_by_user').on('notices').columns(['user_id', 'id']).execute();
  await db.schema.createIndex('notices_by_age').on('notices').column('at').execute();
  await db.schema
    .createIndex('notices_to_mail')
    .on('notices')
    .column('id')
    .where('mail_due' as never, '=', 1)
    .execute();
};

const passwordLinks: SchemaChange = async (db, { id, time }) => {
  await db.schema
    .createTable('password_links')
    .addColumn('user_id', id, (column) => column.primaryKey().references('users.id'))
    .addColumn('token_hash', 'text', (column) => column.notNull().unique())
    .addColumn('bound_to', 'text', notNull)
    .addColumn('creator_kind', 'text', notNull)
    .addColumn('creator_id', id)
    .addColumn('creator_name', 'text', notNull)
    .addColumn('business_id', id)
    .addColumn('created_at', time, notNull)
    .addColumn('expires_at', time, notNull)
    .addColumn('used_at', time)
    .execute();
};
