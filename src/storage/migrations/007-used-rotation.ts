import type { Migration } from './change.ts';

/**
 * A lost refresh response can be repeated while none of its tokens has been used. The default of 0 fits older grants:
 * nothing is known of their use yet, so a response that they have lost can be repeated as well.
 */
export const usedRotation: Migration = async (db, { time }) => {
  await db.schema
    .alterTable('grants')
    .addColumn('used_rotation', time, (column) => column.notNull().defaultTo(0))
    .execute();
};
