import { inChunks } from '../storage/chunks.ts';
import { containsName } from '../storage/search.ts';
import type { Database } from '../storage/storage.ts';
import { type GrantParties, selectLiveGrants, selectUnrevoked } from './status.ts';

/** An app in a business. */
type Pair = Omit<GrantParties, 'userId'>;

/** The apps that have this scope in a business now. */
export async function listAppsWithScope(
  db: Database,
  { businessId, scope }: { businessId: string; scope: string },
  now: number,
): Promise<string[]> {
  const connected = selectUnrevoked(db).clearSelect().select('app_id as appId').where('business_id', '=', businessId);
  const apps = await connected.distinct().orderBy('app_id').execute();
  const pairs = apps.map(({ appId }) => ({ appId, businessId }));
  return (await listPairsWithScope(db, pairs, scope, now)).map(({ appId }) => appId);
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
