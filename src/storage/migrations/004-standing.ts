import type { Migration } from './change.ts';

/**
 * Every check of a token asks whether its user is disabled, and since when they have been a member. Both are answered by
 * an index alone, and the first by one that holds next to nobody: in a large database a row is far from the last one.
 * That is unique, or SQLite would rather look among all users.
 */
export const standing: Migration = async (db) => {
  await db.schema
    .createIndex('users_disabled')
    .on('users')
    .column('id')
    .unique()
    .where('disabled_at' as never, 'is not', null)
    .execute();
  await db.schema
    .createIndex('memberships_since')
    .on('memberships')
    .columns(['business_id', 'user_id', 'created_at'])
    .execute();
  await db.schema.dropIndex('memberships_in_order').execute();
};
