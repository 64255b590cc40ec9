import type { Database } from '../storage/storage.ts';
import { selectLiveGrants } from './status.ts';

/** How far something reaches at this moment: what would stop if it were stopped. */
export interface Impact {
  apps: number;
  businesses: number;
  users: number;
}

/** Of one app, of all that one user allowed, or of all that was allowed in one business. */
export async function countAffected(
  db: Database,
  whose: { app_id: string } | { user_id: string } | { business_id: string },
  now: number,
): Promise<Impact> {
  const { apps, businesses, users } = await selectLiveGrants(db, now)
    .innerJoin('apps', 'apps.id', 'grants.app_id')
    .select(({ fn }) => [
      fn.count('grants.app_id').distinct().as('apps'),
      fn.count('grants.business_id').distinct().as('businesses'),
      fn.count('grants.user_id').distinct().as('users'),
    ])
    .where('apps.deleted_at', 'is', null)
    .where(({ and }) => and(whose))
    .executeTakeFirstOrThrow();
  // A count arrives as a number from one engine, and as text from another.
  return { apps: Number(apps), businesses: Number(businesses), users: Number(users) };
}

/** How many connections each of some apps has, in one question. Who allowed an app twice in one business is one of them. */
export async function countConnections(
  db: Database,
  appIds: string[],
  now: number,
): Promise<(appId: string) => number> {
  if (appIds.length === 0) return () => 0;
  const connections = selectLiveGrants(db, now)
    .select(['app_id', 'business_id', 'user_id'])
    .distinct()
    .where('app_id', 'in', appIds);
  const rows = await db
    .selectFrom(connections.as('connections'))
    .select(({ fn }) => ['app_id', fn.countAll().as('count')])
    .groupBy('app_id')
    .execute();
  const counts = new Map(rows.map(({ app_id, count }) => [app_id, Number(count)]));
  return (appId) => counts.get(appId) ?? 0;
}
