import { type Migration, notNull } from './migration.ts';

/**
 * Connections of which another owner was asked to become responsible. A node of 0.2.0 or older neither writes nor reads them: there a
 * hand-over moves the connection at once, and what waits is then refused. No foreign keys: such a node must be able to delete what
 * they would refer to.
 */
export const handovers: Migration = {
  name: '012-handovers',
  phase: 'expand',
  steps: [
    {
      kind: 'change',
      title: 'create the table handovers',
      table: undefined,
      async change(db, { id, time }) {
        await db.schema
          .createTable('handovers')
          .addColumn('business_id', id, notNull)
          .addColumn('app_id', id, notNull)
          .addColumn('user_id', id, notNull)
          .addColumn('to_user_id', id, notNull)
          .addColumn('scopes', 'text', notNull)
          .addColumn('offered_at', time, notNull)
          .addPrimaryKeyConstraint('handovers_key', ['business_id', 'app_id', 'user_id'])
          .execute();
        await db.schema.createIndex('handovers_by_age').on('handovers').column('offered_at').execute();
      },
    },
  ],
};
