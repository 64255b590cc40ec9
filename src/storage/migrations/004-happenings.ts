import { type Migration, notNull, primaryKey } from './migration.ts';

/**
 * A write records a happening, and a job spreads it into events. A node of an earlier release writes to `events` directly,
 * reads neither of the new tables, and shows `created_at` in place of `happened_at`.
 */
export const happenings: Migration = {
  name: '004-happenings',
  phase: 'expand',
  steps: [
    {
      kind: 'change',
      title: 'create the tables happenings and leases',
      table: undefined,
      async change(db, { id, time }) {
        await db.schema
          .createTable('happenings')
          .addColumn('id', id, primaryKey)
          .addColumn('business_id', id, notNull)
          .addColumn('scope', 'text', notNull)
          .addColumn('type', 'text', notNull)
          .addColumn('data', 'text', notNull)
          .addColumn('happened_at', time, notNull)
          .addColumn('last_app_id', id)
          .execute();
        await db.schema.createIndex('happenings_by_business').on('happenings').columns(['business_id', 'id']).execute();
        await db.schema
          .createTable('leases')
          .addColumn('name', 'text', primaryKey)
          .addColumn('holder', 'text', notNull)
          .addColumn('expires_at', time, notNull)
          .execute();
      },
    },
    {
      kind: 'change',
      title: 'add the time of the happening to events',
      table: 'events',
      async change(db, { time }) {
        await db.schema.alterTable('events').addColumn('happened_at', time).execute();
      },
    },
  ],
};
