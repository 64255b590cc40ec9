import { notNull, primaryKey, references, type SchemaChange, zeroByDefault } from '../migration.ts';

export const createWebhooks: SchemaChange = async (db, types) => {
  for (const create of [events, longTransactions, endpoints, deliveries, attempts]) await create(db, types);
};

const events: SchemaChange = async (db, { id, time }) => {
  await db.schema
    .createTable('events')
    .addColumn('id', id, primaryKey)
    .addColumn('type', 'text', notNull)
    .addColumn('app_id', id, notNull)
    .addColumn('business_id', id, notNull)
    .addColumn('data', 'text', notNull)
    .addColumn('created_at', time, notNull)
    .addColumn('dispatched_at', time)
    .execute();
  await db.schema.createIndex('events_by_time').on('events').column('created_at').execute();
  await db.schema.createIndex('events_by_app').on('events').columns(['app_id', 'id']).execute();
  await db.schema
    .createIndex('events_to_dispatch')
    .on('events')
    .column('id')
    .where('dispatched_at' as never, 'is', null)
    .execute();
};

/** Transactions whose events are committed late. */
const longTransactions: SchemaChange = async (db, { id, time }) => {
  await db.schema
    .createTable('long_transactions')
    .addColumn('id', id, primaryKey)
    .addColumn('started_at', time, notNull)
    .execute();
  await db.schema.createIndex('long_transactions_by_start').on('long_transactions').column('started_at').execute();
};

const endpoints: SchemaChange = async (db, { id, integer, time, updatedInPlace }) => {
  await db.schema
    .createTable('endpoints')
    .addColumn('id', id, primaryKey)
    .addColumn('app_id', id, references('apps.id'))
    .addColumn('url', 'text', notNull)
    .addColumn('event_types', 'text', notNull)
    .addColumn('secret', 'text', notNull)
    .addColumn('old_secret', 'text')
    .addColumn('old_secret_until', time)
    .addColumn('created_at', time, notNull)
    .addColumn('disabled_at', time)
    .addColumn('disabled_reason', 'text')
    .addColumn('failing_since', time)
    .addColumn('failures', integer, notNull)
    .addColumn('due_at', time)
    .addColumn('claimed_until', time, notNull)
    .addColumn('backoff_until', time, zeroByDefault)
    .modifyEnd(updatedInPlace)
    .execute();
  await db.schema.createIndex('endpoints_by_app').on('endpoints').column('app_id').execute();
  await db.schema
    .createIndex('endpoints_by_due')
    .on('endpoints')
    .column('due_at')
    .where('disabled_at' as never, 'is', null)
    .execute();
};

const deliveries: SchemaChange = async (db, { id, integer, time }) => {
  await db.schema
    .createTable('deliveries')
    .addColumn('id', id, primaryKey)
    .addColumn('endpoint_id', id, notNull)
    .addColumn('event_id', id, notNull)
    .addColumn('created_at', time, notNull)
    .addColumn('due_at', time)
    .addColumn('attempts', integer, notNull)
    .addColumn('delivered_at', time)
    .addColumn('given_up_at', time)
    .addUniqueConstraint('deliveries_once', ['endpoint_id', 'event_id'])
    .execute();
  await db.schema.createIndex('deliveries_by_due').on('deliveries').columns(['endpoint_id', 'due_at']).execute();
  await db.schema.createIndex('deliveries_by_age').on('deliveries').column('created_at').execute();
  await db.schema
    .createIndex('deliveries_in_order')
    .on('deliveries')
    .columns(['endpoint_id', 'event_id'])
    .where('due_at' as never, 'is not', null)
    .execute();
};

const attempts: SchemaChange = async (db, { id, integer, time }) => {
  await db.schema
    .createTable('attempts')
    .addColumn('id', id, primaryKey)
    .addColumn('delivery_id', id, notNull)
    .addColumn('at', time, notNull)
    .addColumn('took', integer, notNull)
    .addColumn('status', integer)
    .addColumn('outcome', 'text', notNull)
    .addColumn('head', 'text', notNull)
    .execute();
  await db.schema.createIndex('attempts_by_delivery').on('attempts').columns(['delivery_id', 'id']).execute();
  await db.schema.createIndex('attempts_by_age').on('attempts').column('at').execute();
};
