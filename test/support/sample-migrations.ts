import { sql } from 'kysely';
import type { Migration } from '../../src/storage/migrations/migration.ts';

/** Migrations of an imaginary next release: one step of each kind, on the largest table. */
export const SAMPLE_EXPAND: Migration = {
  name: '900-sample-expand',
  phase: 'expand',
  steps: [
    {
      kind: 'change',
      title: 'add grants.sample_region and grants.sample_day',
      table: 'grants',
      async change(db, { integer }) {
        await db.schema
          .alterTable('grants')
          .addColumn('sample_region', 'text', (column) => column.notNull().defaultTo('none'))
          .execute();
        await db.schema.alterTable('grants').addColumn('sample_day', integer).execute();
      },
    },
    { kind: 'index', table: 'grants', name: 'grants_by_sample', columns: ['sample_region', 'created_at'] },
    {
      kind: 'backfill',
      table: 'grants',
      key: 'id',
      set: sql`sample_day = created_at / 86400000`,
      where: sql`sample_day is null`,
    },
    {
      kind: 'check',
      table: 'grants',
      name: 'grants_sample_region_known',
      check: sql`sample_region in ('none', 'eu', 'us')`,
    },
  ],
};

export const SAMPLE_CONTRACT: Migration = {
  name: '901-sample-contract',
  phase: 'contract',
  steps: [
    { kind: 'drop index', table: 'grants', name: 'grants_by_sample' },
    {
      kind: 'change',
      title: 'drop grants.sample_region',
      table: 'grants',
      async change(db) {
        await db.schema.alterTable('grants').dropColumn('sample_region').execute();
      },
    },
  ],
};
