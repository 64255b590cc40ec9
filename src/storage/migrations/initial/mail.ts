import { type Migration, notNull, primaryKey, zeroByDefault } from '../migration.ts';

export const createMail: Migration = async (db, { id, integer, time }) => {
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
