import { sql } from 'kysely';
import { type Migration, notNull, primaryKey, zeroByDefault } from './migration.ts';

const UNREVOKED = sql`revoked_at is null`;

/**
 * Whatever one person can stop is one bounded commit. A node of 0.2.0 or older reads none of this: a stop takes effect there once
 * the follow-up has marked the row of a grant. A grant that it creates has counters of 0, and is inactive if there was a stop before. It
 * uses the indexes `grants_by_user` and `grants_by_app`, which the next release can drop.
 */
export const stops: Migration = {
  name: '005-stops',
  phase: 'expand',
  steps: [
    {
      kind: 'change',
      title: 'create the tables stops and follow_ups',
      table: undefined,
      async change(db, { id, integer, time }) {
        await db.schema
          .createTable('stops')
          .addColumn('app_id', id, notNull)
          .addColumn('business_id', id, notNull)
          .addColumn('user_id', id, notNull)
          .addColumn('count', integer, notNull)
          .addColumn('reason', 'text', notNull)
          .addColumn('stopped_at', time, notNull)
          .addPrimaryKeyConstraint('stops_key', ['app_id', 'business_id', 'user_id'])
          .execute();
        await db.schema
          .createTable('follow_ups')
          .addColumn('id', id, primaryKey)
          .addColumn('kind', 'text', notNull)
          .addColumn('app_id', id)
          .addColumn('business_id', id)
          .addColumn('user_id', id)
          .addColumn('reason', 'text', notNull)
          .addColumn('done', integer, zeroByDefault)
          .addColumn('after_part', 'text')
          .addColumn('after_id', id)
          .addColumn('started_at', time, notNull)
          .execute();
      },
    },
    {
      kind: 'change',
      title: 'add grants.stops',
      table: 'grants',
      async change(db, { integer }) {
        await db.schema.alterTable('grants').addColumn('stops', integer, zeroByDefault).execute();
      },
    },
    {
      kind: 'change',
      title: 'add consents.stops',
      table: 'consents',
      async change(db, { integer }) {
        await db.schema.alterTable('consents').addColumn('stops', integer, zeroByDefault).execute();
      },
    },
    {
      kind: 'index',
      table: 'grants',
      name: 'grants_unrevoked',
      columns: ['business_id', 'app_id', 'user_id', 'id'],
      where: UNREVOKED,
    },
    {
      kind: 'index',
      table: 'grants',
      name: 'grants_unrevoked_by_app',
      columns: ['app_id', 'business_id', 'id'],
      where: UNREVOKED,
    },
    { kind: 'index', table: 'grants', name: 'grants_unrevoked_by_user', columns: ['user_id', 'id'], where: UNREVOKED },
  ],
};
