import { sql } from 'kysely';
import type { Migration } from './migration.ts';

const ORDER = ['endpoint_id', 'event_id'];

/** The log of deliveries shows what was signed, and is filtered by status. */
export const deliveryLog: Migration = {
  name: '003-delivery-log',
  phase: 'expand',
  steps: [
    {
      kind: 'change',
      title: 'add the signature to attempts',
      table: 'attempts',
      async change(db, { time }) {
        await db.schema.alterTable('attempts').addColumn('signed_at', time).execute();
        await db.schema.alterTable('attempts').addColumn('signature', 'text').execute();
      },
    },
    {
      kind: 'index',
      table: 'deliveries',
      name: 'deliveries_delivered',
      columns: ORDER,
      where: sql`delivered_at is not null`,
    },
    {
      kind: 'index',
      table: 'deliveries',
      name: 'deliveries_failed',
      columns: ORDER,
      where: sql`attempts > 0 and delivered_at is null`,
    },
  ],
};
