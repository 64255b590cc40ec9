import type { App } from '../apps/apps.ts';
import { lastUses } from '../request-log/counts.ts';
import { contains, type SearchTerm } from '../storage/search.ts';
import type { Database } from '../storage/storage.ts';
import { selectLiveGrants } from './status.ts';
import { boundBusiness } from './tenancy.ts';

/** How many apps, businesses and users a suspension would affect now. */
export interface Impact {
  apps: number;
  businesses: number;
  users: number;
}

/** The live grants of one app, one user or one business. */
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

/** A business that an app is connected to, as its developer sees it: without the names of users. */
export interface AppConnection {
  /** Of the business. */
  id: string;
  businessName: string;
  users: number;
  since: number;
  /** When it last used a scope there, as far back as usage is kept. */
  lastUsedAt: number | null;
}

/** With live grants, newest business first. */
export async function listAppConnections(
  db: Database,
  app: App,
  sought: SearchTerm,
  now: number,
): Promise<AppConnection[]> {
  const connected = selectConnected(db, app, sought, now).as('connected');
  const rows = await db
    .selectFrom(connected)
    .innerJoin('businesses', 'businesses.id', 'connected.business_id')
    .selectAll('connected')
    .select('businesses.name')
    .orderBy('connected.business_id', 'desc')
    .execute();
  const ids = rows.map((row) => row.business_id);
  const used = await lastUses(db, app.id, ids);
  return rows.map((row) => ({
    id: row.business_id,
    businessName: row.name,
    users: Number(row.users),
    since: row.since,
    lastUsedAt: used.get(row.business_id) ?? null,
  }));
}

/** Sorted like an index, so the cost of a page does not depend on the number of businesses. */
function selectConnected(db: Database, app: App, { search, after, limit }: SearchTerm, now: number) {
  let query = selectLiveGrants(db, now)
    .innerJoin('users', 'users.id', 'grants.user_id')
    .innerJoin('memberships', (join) =>
      join
        .onRef('memberships.user_id', '=', 'grants.user_id')
        .onRef('memberships.business_id', '=', 'grants.business_id')
        .onRef('memberships.created_at', '<=', 'grants.created_at'),
    )
    .select(({ fn }) => [
      'grants.business_id',
      fn.count<number>('grants.user_id').distinct().as('users'),
      fn.min('grants.created_at').as('since'),
    ])
    .where('grants.app_id', '=', app.id)
    .where('users.disabled_at', 'is', null)
    .groupBy('grants.business_id')
    .orderBy('grants.business_id', 'desc')
    .limit(limit);
  const bound = boundBusiness(app);
  if (bound !== null) query = query.where('grants.business_id', '=', bound);
  if (after) query = query.where('grants.business_id', '<', after);
  if (search) {
    const named = db
      .selectFrom('businesses')
      .select('id')
      .where(contains(['businesses.name'], search));
    query = query.where('grants.business_id', 'in', named);
  }
  return query;
}
