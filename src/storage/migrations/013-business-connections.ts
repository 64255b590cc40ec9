import { sql } from 'kysely';
import type { Migration } from './migration.ts';

/**
 * The removal of a member looks for what the member connected for the business: few grants among very many. No refresh changes these
 * columns. A node of 0.2.0 or older keeps the index up to date, too, and does not read it.
 */
export const businessConnections: Migration = {
  name: '013-business-connections',
  phase: 'expand',
  steps: [
    {
      kind: 'index',
      table: 'grants',
      name: 'grants_for_business',
      columns: ['business_id', 'user_id', 'app_id'],
      where: sql`revoked_at is null and connected_for = 'business'`,
    },
  ],
};
