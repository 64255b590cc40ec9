import { notNull, primaryKey, type SchemaChange } from './migration.ts';

/** Running nodes, by which a contract migration knows whether it has to wait. */
export const nodes: SchemaChange = async (db, { time }) => {
  await db.schema
    .createTable('nodes')
    .addColumn('id', 'text', primaryKey)
    .addColumn('name', 'text', notNull)
    .addColumn('release', 'text', notNull)
    .addColumn('last_migration', 'text', notNull)
    .addColumn('seen_at', time, notNull)
    .execute();
};
