import type { Database } from '../storage/storage.ts';
import { type GrantFilter, matching, SUSPENSIONS, selectLiveGrants } from './status.ts';

/** How many apps, businesses and users a suspension would affect now. */
export interface Impact {
  apps: number;
  businesses: number;
  users: number;
}

/** The live grants of one app, one user or one business. */
export async function countAffected(db: Database, filter: GrantFilter, now: number): Promise<Impact> {
  const { apps, businesses, users } = await selectLiveGrants(db, now, { even: SUSPENSIONS })
    .select(({ fn }) => [
      fn.count('grants.app_id').distinct().as('apps'),
      fn.count('grants.business_id').distinct().as('businesses'),
      fn.count('grants.user_id').distinct().as('users'),
    ])
    .where(matching(filter))
    .executeTakeFirstOrThrow();
  // SQLite returns a count as a number, PostgreSQL as text.
  return { apps: Number(apps), businesses: Number(businesses), users: Number(users) };
}

/** The number of connections of each app, in one query. Several grants of a user in one business are one connection. */
export async function countConnections(
  db: Database,
  appIds: string[],
  now: number,
): Promise<(appId: string) => number> {
  if (appIds.length === 0) return () => 0;
  const connections = selectLiveGrants(db, now, { even: SUSPENSIONS })
    .select(['grants.app_id', 'grants.business_id', 'grants.user_id'])
    .distinct()
    .where('grants.app_id', 'in', appIds);
  const rows = await db
    .selectFrom(connections.as('connections'))
    .select(({ fn }) => ['app_id', fn.countAll().as('count')])
    .groupBy('app_id')
    .execute();
  const counts = new Map(rows.map(({ app_id, count }) => [app_id, Number(count)]));
  return (appId) => counts.get(appId) ?? 0;
}
