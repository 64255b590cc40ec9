import { type Migration, notNull, primaryKey } from './migration.ts';

/**
 * The ids of the keys that servers of this database use. A node of an earlier release neither reads nor writes them: it starts with any
 * key, and a key that its `keys rotate` makes is unknown until `keys rotate --use` of this release records it.
 */
export const signingKeys: Migration = {
  name: '007-signing-keys',
  phase: 'expand',
  steps: [
    {
      kind: 'change',
      title: 'create the table signing_keys',
      table: undefined,
      async change(db, { time }) {
        await db.schema
          .createTable('signing_keys')
          .addColumn('id', 'text', primaryKey)
          .addColumn('recorded_at', time, notNull)
          .execute();
      },
    },
  ],
};
