import type { Migration } from './change.ts';

/** Apps hear what happened: where they want to hear it, and what is on its way. */
export const webhooks: Migration = async (db, types) => {
  for (const change of [dispatching, grants, endpoints, deliveries]) await change(db, types);
};

/** An event is dispatched once; the index holds only those that are not yet. */
const dispatching: Migration = async (db, { time }) => {
  await db.schema.alterTable('events').addColumn('dispatched_at', time).execute();
  await db.schema
    .createIndex('events_to_dispatch')
    .on('events')
    .column('id')
    .where('dispatched_at' as never, 'is', null)
    .execute();
  await db.schema.createIndex('events_by_app').on('events').columns(['app_id', 'id']).execute();
};

/** Who may hear of a business is found by it; no column of these indexes changes when a token is refreshed. */
const grants: Migration = async (db, { time }) => {
  await db.schema.alterTable('grants').addColumn('warned_at', time).execute();
  await db.schema.createIndex('grants_by_business').on('grants').column('business_id').execute();
  await db.schema.createIndex('grants_by_app').on('grants').column('app_id').execute();
};

const endpoints: Migration = async (db, { id, integer, time, updatedInPlace }) => {
  await db.schema
    .createTable('endpoints')
    .addColumn('id', id, (column) => column.primaryKey())
    .addColumn('app_id', id, (column) => column.notNull().references('apps.id'))
    .addColumn('url', 'text', (column) => column.notNull())
    .addColumn('event_types', 'text', (column) => column.notNull())
    .addColumn('secret', 'text', (column) => column.notNull())
    .addColumn('old_secret', 'text')
    .addColumn('old_secret_until', time)
    .addColumn('created_at', time, (column) => column.notNull())
    .addColumn('disabled_at', time)
    .addColumn('disabled_reason', 'text')
    .addColumn('failing_since', time)
    .addColumn('failures', integer, (column) => column.notNull())
    .addColumn('due_at', time)
    .addColumn('claimed_until', time, (column) => column.notNull())
    .modifyEnd(updatedInPlace)
    .execute();
  await db.schema.createIndex('endpoints_by_app').on('endpoints').column('app_id').execute();
  await db.schema.createIndex('endpoints_by_due').on('endpoints').column('due_at').execute();
};

const deliveries: Migration = async (db, { id, integer, time }) => {
  await db.schema
    .createTable('deliveries')
    .addColumn('id', id, (column) => column.primaryKey())
    .addColumn('endpoint_id', id, (column) => column.notNull())
    .addColumn('event_id', id, (column) => column.notNull())
    .addColumn('created_at', time, (column) => column.notNull())
    .addColumn('due_at', time)
    .addColumn('attempts', integer, (column) => column.notNull())
    .addColumn('delivered_at', time)
    .addColumn('given_up_at', time)
    .addUniqueConstraint('deliveries_once', ['endpoint_id', 'event_id'])
    .execute();
  await db.schema.createIndex('deliveries_by_due').on('deliveries').columns(['endpoint_id', 'due_at']).execute();
  await db.schema.createIndex('deliveries_by_age').on('deliveries').column('created_at').execute();
  await db.schema
    .createTable('attempts')
    .addColumn('id', id, (column) => column.primaryKey())
    .addColumn('delivery_id', id, (column) => column.notNull())
    .addColumn('at', time, (column) => column.notNull())
    .addColumn('took', integer, (column) => column.notNull())
    .addColumn('status', integer)
    .addColumn('outcome', 'text', (column) => column.notNull())
    .addColumn('head', 'text', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('attempts_by_delivery').on('attempts').columns(['delivery_id', 'id']).execute();
  await db.schema.createIndex('attempts_by_age').on('attempts').column('at').execute();
};
