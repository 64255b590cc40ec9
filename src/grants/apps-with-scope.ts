import { inChunks } from '../storage/chunks.ts';
import { containsName } from '../storage/search.ts';
import type { Database } from '../storage/storage.ts';
import { type GrantParties, selectLiveGrants } from './status.ts';

/** An app in a business. */
type Pair = Omit<GrantParties, 'userId'>;

interface AppsPage {
  businessId: string;
  scope: string;
  /** The last app of the previous page; undefined for the first. */
  after: string | undefined;
  limit: number;
}

/**
 * The confidential apps that have this scope in a business now, in the order of their ids. `last` is the last one of those that were
 * examined; undefined if there are no more. A public app has no endpoint and cannot list events.
 */
export async function listAppsWithScope(
  db: Database,
  { businessId, scope, after, limit }: AppsPage,
  now: number,
): Promise<{ apps: string[]; last: string | undefined }> {
  let grants = db.selectFrom('grants').select('app_id').distinct().where('business_id', '=', businessId);
  if (after !== undefined) grants = grants.where('app_id', '>', after);
  const connected = await db
    .selectFrom(grants.as('connected'))
    .innerJoin('apps', 'apps.id', 'connected.app_id')
    .select('apps.id as appId')
    .where('apps.is_public', '=', 0)
    .orderBy('apps.id')
    .limit(limit)
    .execute();
  const pairs = connected.map(({ appId }) => ({ appId, businessId }));
  const found = new Set((await listPairsWithScope(db, pairs, scope, now)).map(({ appId }) => appId));
  const last = connected.length < limit ? undefined : connected.at(-1)?.appId;
  return { apps: connected.flatMap(({ appId }) => (found.has(appId) ? [appId] : [])), last };
}

/** The businesses in which the app has this scope now. */
export async function listBusinessesWithScope(
  db: Database,
  { appId, businessIds, scope }: { appId: string; businessIds: string[]; scope: string },
  now: number,
): Promise<string[]> {
  const pairs = businessIds.map((businessId) => ({ appId, businessId }));
  return (await listPairsWithScope(db, pairs, scope, now)).map(({ businessId }) => businessId);
}

/**
 * One subquery per pair: the database stops at the first grant of each. A correlated subquery would do the same, but
 * Citus rejects those.
 */
async function listPairsWithScope(db: Database, pairs: Pair[], scope: string, now: number): Promise<Pair[]> {
  const found: Pair[] = [];
  for (const chunk of inChunks(pairs)) {
    const [first, ...others] = chunk.map(({ appId, businessId }) => {
      const live = selectLiveWithScope(db, scope, now).where('grants.app_id', '=', appId);
      const one = live.where('grants.business_id', '=', businessId).limit(1);
      return db.selectFrom(one.as('live')).select(['live.appId', 'live.businessId']);
    });
    if (first) found.push(...(await others.reduce((all, one) => all.unionAll(one), first).execute()));
  }
  return found;
}

function selectLiveWithScope(db: Database, scope: string, now: number) {
  return selectLiveGrants(db, now)
    .select(['grants.app_id as appId', 'grants.business_id as businessId'])
    .where(containsName('grants.scopes', scope))
    .where(({ not }) => not(containsName('grants.withdrawn_scopes', scope)))
    .where(containsName('apps.allowed_scopes', scope));
}
