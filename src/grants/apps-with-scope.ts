import { preparedQuery } from '../storage/prepared-query.ts';
import { containsName } from '../storage/search.ts';
import type { Database } from '../storage/storage.ts';
import { type GrantParties, selectLiveGrants, selectUnrevoked } from './status.ts';

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
  let grants = selectUnrevoked(db).clearSelect().select('app_id').distinct().where('business_id', '=', businessId);
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
 * One query for each pair: the database stops at the first grant. A correlated subquery would do the same, but Citus rejects
 * those. They are prepared, and sent together.
 */
async function listPairsWithScope(db: Database, pairs: Pair[], scope: string, now: number): Promise<Pair[]> {
  const find = finders.get(scope) ?? createFinder(scope);
  const found = await Promise.all(pairs.map((pair) => find(db, { ...pair, now })));
  return pairs.filter((_, index) => found[index]?.rows.length === 1);
}

/** By scope: it is part of the statement. */
const finders = new Map<string, ReturnType<typeof createFinder>>();

function createFinder(scope: string) {
  const find = preparedQuery((db, { appId, businessId, now }: { appId: string; businessId: string; now: number }) =>
    selectLiveGrants(db, now)
      .select('grants.id')
      .where('grants.app_id', '=', appId)
      .where('grants.business_id', '=', businessId)
      .where(containsName('grants.scopes', scope))
      .where(({ not }) => not(containsName('grants.withdrawn_scopes', scope)))
      .where(containsName('apps.allowed_scopes', scope))
      .limit(1),
  );
  finders.set(scope, find);
  return find;
}
