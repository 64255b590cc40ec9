import type { App } from '../apps/apps.ts';
import { lastUses } from '../request-log/counts.ts';
import { contains, type SearchTerm } from '../storage/search.ts';
import type { Database } from '../storage/storage.ts';
import { APP_SUSPENSIONS, selectLiveGrants } from './status.ts';
import { boundBusiness } from './tenancy.ts';

/** A business that an app is connected to, as its developer sees it: without the names of users. */
export interface AppConnection {
  /** The id of the business. */
  id: string;
  businessName: string;
  users: number;
  since: number;
  /** When the last of its users’ connections ends; null until they disconnect the app. */
  expiresAt: number | null;
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
    expiresAt: Number(row.ending) === Number(row.grants) ? row.last_end : null,
    lastUsedAt: used.get(row.business_id) ?? null,
  }));
}

/** Sorted like an index, so the cost of a page does not depend on the number of businesses. */
function selectConnected(db: Database, app: App, { search, after, limit }: SearchTerm, now: number) {
  let query = selectLiveGrants(db, now, { even: APP_SUSPENSIONS })
    .select(({ fn }) => [
      'grants.business_id',
      fn.count<number>('grants.user_id').distinct().as('users'),
      fn.min('grants.created_at').as('since'),
      fn.countAll<number>().as('grants'),
      fn.count<number>('grants.expires_at').as('ending'),
      fn.max('grants.expires_at').as('last_end'),
    ])
    .where('grants.app_id', '=', app.id)
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
