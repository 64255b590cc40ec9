import { type SqlBool, sql } from 'kysely';
import { type Migration, zeroByDefault } from './migration.ts';

const EXTERNAL = sql<SqlBool>`is_external = 1`;

/**
 * How many external apps a person and a business have connected is bounded. A consent from before, or from a node of 0.2.0 or older,
 * does not count until the user allows the app again. Such a node does not check the bounds.
 */
export const externalConsents: Migration = {
  name: '010-external-consents',
  phase: 'expand',
  steps: [
    {
      kind: 'change',
      title: 'add consents.is_external',
      table: 'consents',
      async change(db, { integer }) {
        await db.schema.alterTable('consents').addColumn('is_external', integer, zeroByDefault).execute();
      },
    },
    {
      kind: 'index',
      table: 'consents',
      name: 'consents_external_by_user',
      columns: ['user_id', 'app_id', 'business_id'],
      where: EXTERNAL,
    },
    {
      kind: 'index',
      table: 'consents',
      name: 'consents_external_by_business',
      columns: ['business_id', 'app_id', 'user_id'],
      where: EXTERNAL,
    },
  ],
};
