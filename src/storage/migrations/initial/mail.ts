import { notNull, primaryKey, type SchemaChange, zeroByDefault } from '../migration.ts';

export const createMail: SchemaChange = async (db, types) => {
  for (const create of [mails, mailLinks]) await create(db, types);
};

const mails: SchemaChange = async (db, { id, integer, time }) => {
  await db.schema
    .createTable('mails')
    .addColumn('id', id, primaryKey)
    .addColumn('kind', 'text', notNull)
    .addColumn('cause', 'text', notNull)
    .addColumn('user_id', id)
    .addColumn('content', 'text')
    .addColumn('attempts', integer, zeroByDefault)
    .addColumn('created_at', time, notNull)
    .addColumn('due_at', time)
    .addColumn('claimed_until', time, zeroByDefault)
    .addColumn('give_up_at', time, notNull)
    .addColumn('sent_at', time)
    .execute();
  await db.schema
    .createIndex('mails_waiting')
    .on('mails')
    .column('cause')
    .unique()
    .where('due_at' as never, 'is not', null)
    .execute();
  await db.schema
    .createIndex('mails_by_due')
    .on('mails')
    .column('due_at')
    .where('due_at' as never, 'is not', null)
    .execute();
  await db.schema.createIndex('mails_by_cause').on('mails').columns(['cause', 'sent_at']).execute();
  await db.schema.createIndex('mails_by_age').on('mails').column('created_at').execute();
};

/** Without a foreign key: a request that names no account has a row, too. */
const mailLinks: SchemaChange = async (db, { id, time }) => {
  await db.schema
    .createTable('mail_links')
    .addColumn('subject_id', id, notNull)
    .addColumn('purpose', 'text', notNull)
    .addColumn('token_hash', 'text', (column) => column.notNull().unique())
    .addColumn('bound_to', 'text', notNull)
    .addColumn('email', 'text')
    .addColumn('created_at', time, notNull)
    .addColumn('expires_at', time, notNull)
    .addColumn('used_at', time)
    .addPrimaryKeyConstraint('mail_links_key', ['subject_id', 'purpose'])
    .execute();
  await db.schema.createIndex('mail_links_by_expiry').on('mail_links').column('expires_at').execute();
};
