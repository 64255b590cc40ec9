import type { Migration } from './change.ts';

/** Counts code exchanges, and those with PKCE, beside the other requests of an app in an hour. */
export const pkceUse: Migration = async (db, { integer }) => {
  for (const column of ['exchanges', 'pkce_exchanges']) {
    await db.schema
      .alterTable('request_counts')
      .addColumn(column, integer, (definition) => definition.notNull().defaultTo(0))
      .execute();
  }
};
