import type { Migration } from './migration.ts';

/**
 * A grant that has moved keeps its idempotency keys. A node of 0.2.0 or older neither writes nor reads the column: it looks for
 * the keys of the user whom the grant has now.
 */
export const firstUsers: Migration = {
  name: '009-first-users',
  phase: 'expand',
  steps: [
    {
      kind: 'change',
      title: 'add grants.first_user_id',
      table: 'grants',
      async change(db, { id }) {
        await db.schema.alterTable('grants').addColumn('first_user_id', id).execute();
      },
    },
  ],
};
