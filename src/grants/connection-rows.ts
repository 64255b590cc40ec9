import { type AliasedExpression, expressionBuilder } from 'kysely';
import { parseScopes, type Scopes } from '../lib/scope-lists.ts';
import { contains } from '../storage/search.ts';
import type { Database } from '../storage/storage.ts';
import { selectLiveGrants } from './status.ts';

/** One app, acting for one user in one business. */
export interface ConnectionKey {
  appId: string;
  businessId: string;
  userId: string;
}

/** Which connections are asked for. */
export interface ConnectionFilter {
  businessIds: string[];
  /** Those of one user, rather than of everyone. */
  userId?: string | undefined;
  appId?: string | undefined;
  /** Part of the name of an app or a user. */
  search?: string | undefined;
  /** The last one of the page before. */
  after?: Pick<ConnectionKey, 'appId' | 'userId'> | undefined;
  limit?: number | undefined;
}

/** What grants, or a consent, say of a connection. */
export interface ConnectionRow extends ConnectionKey {
  scopes: Scopes;
  since: number;
  /** When tokens were last fetched; null for a consent. */
  fetchedAt: number | null;
  isLive: boolean;
}

/** In the order of the indexes, by app and user: no more is read than is asked for. */
export async function listConnectionKeys(
  db: Database,
  wanted: ConnectionFilter,
  now: number,
): Promise<ConnectionKey[]> {
  const live = await listKeys(db, liveGrants(db, now), wanted);
  const remembered = await listKeys(db, savedConsents(db), wanted);
  const keys = new Map([...live, ...remembered].map((key) => [sortKeyOf(key), key]));
  const sorted = [...keys].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, key]) => key);
  return sorted.slice(0, wanted.limit);
}

/** Sorts as the list does. */
export function sortKeyOf({ appId, userId, businessId }: ConnectionKey): string {
  return `${appId} ${userId} ${businessId}`;
}

/** All that is stored of these connections. */
export async function listConnectionRows(db: Database, keys: ConnectionKey[], now: number): Promise<ConnectionRow[]> {
  const live = await listRows(db, liveGrants(db, now), keys);
  const remembered = await listRows(db, savedConsents(db), keys);
  return [
    ...live.map((row) => ({ ...row, isLive: true })),
    ...remembered.map((row) => ({ ...row, fetchedAt: null, isLive: false })),
  ];
}

/** How many people have connected an app to a business, and for how many of them it has access now. */
export async function countConnectedUsers(
  db: Database,
  { appId, businessId }: { appId: string; businessId: string },
  now: number,
): Promise<{ people: number; live: number }> {
  const wanted = { appId, businessIds: [businessId] };
  const live = await listKeys(db, liveGrants(db, now), wanted);
  const remembered = await listKeys(db, savedConsents(db), wanted);
  return { people: new Set([...live, ...remembered].map(sortKeyOf)).size, live: live.length };
}

/** Grants and consents, which say the same in the same words. */
type Source = AliasedExpression<
  { app_id: string; business_id: string; user_id: string; scopes: string; since: number; fetched_at: number | null },
  'allowed'
>;

/** One that has not been exchanged is not a connection yet, but a code on its way. */
function liveGrants(db: Database, now: number): Source {
  return selectLiveGrants(db, now)
    .select(['app_id', 'business_id', 'user_id', 'scopes', 'created_at as since', 'rotated_at as fetched_at'])
    .as('allowed');
}

function savedConsents(db: Database): Source {
  return db
    .selectFrom('consents')
    .select(['app_id', 'business_id', 'user_id', 'scopes', 'allowed_at as since', 'allowed_at as fetched_at'])
    .as('allowed');
}

async function listKeys(db: Database, source: Source, wanted: ConnectionFilter): Promise<ConnectionKey[]> {
  const { businessIds, userId, appId, search, after, limit } = wanted;
  if (businessIds.length === 0) return [];
  let query = selectSinceMembership(db, source)
    .select(['allowed.app_id as appId', 'allowed.business_id as businessId', 'allowed.user_id as userId'])
    .distinct()
    .where('allowed.business_id', 'in', businessIds)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('apps')
          .select('apps.id')
          .whereRef('apps.id', '=', 'allowed.app_id')
          .where('apps.deleted_at', 'is', null),
      ),
    )
    .orderBy('allowed.app_id')
    .orderBy('allowed.user_id');
  if (userId !== undefined) query = query.where('allowed.user_id', '=', userId);
  if (appId !== undefined) query = query.where('allowed.app_id', '=', appId);
  if (limit !== undefined) query = query.limit(limit);
  if (after) {
    query = query.where(({ eb, refTuple, tuple }) =>
      eb(refTuple('allowed.app_id', 'allowed.user_id'), '>', tuple(after.appId, after.userId)),
    );
  }
  if (search) query = query.where(matchesSearch(db, wanted, search));
  return query.execute();
}

/** By the name of the app or, where there is more than one, of the person. */
function matchesSearch(db: Database, { businessIds, userId }: ConnectionFilter, search: string) {
  const { eb, or } = expressionBuilder<{ allowed: { app_id: string; user_id: string } }, 'allowed'>();
  const apps = db
    .selectFrom('apps')
    .select('id')
    .where(contains(['name'], search));
  const people = db
    .selectFrom('memberships')
    .innerJoin('users', 'users.id', 'memberships.user_id')
    .select('users.id')
    .where('memberships.business_id', 'in', businessIds)
    .where(contains(['users.name'], search));
  const byApp = eb('allowed.app_id', 'in', apps);
  return userId === undefined ? or([byApp, eb('allowed.user_id', 'in', people)]) : byApp;
}

/** Grants may be many: those that differ only in when they were made are told as one. */
async function listRows(db: Database, source: Source, keys: ConnectionKey[]) {
  const rows = await selectSinceMembership(db, source)
    .select(({ fn }) => [
      'allowed.app_id as appId',
      'allowed.business_id as businessId',
      'allowed.user_id as userId',
      'allowed.scopes',
      fn.min('allowed.since').as('since'),
      fn.max('allowed.fetched_at').as('fetchedAt'),
    ])
    .where(({ or, and }) =>
      or(
        keys.map(({ appId, businessId, userId }) =>
          and({ 'allowed.business_id': businessId, 'allowed.app_id': appId, 'allowed.user_id': userId }),
        ),
      ),
    )
    .groupBy(['allowed.app_id', 'allowed.business_id', 'allowed.user_id', 'allowed.scopes'])
    .execute();
  return rows.map((row) => ({ ...row, scopes: parseScopes(row.scopes) }));
}

/** What was allowed before a membership began belongs to an earlier one, and ended with it. */
function selectSinceMembership(db: Database, source: Source) {
  return db
    .selectFrom(source)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('memberships')
          .select('memberships.role')
          .whereRef('memberships.user_id', '=', 'allowed.user_id')
          .whereRef('memberships.business_id', '=', 'allowed.business_id')
          .whereRef('memberships.created_at', '<=', 'allowed.since'),
      ),
    );
}
