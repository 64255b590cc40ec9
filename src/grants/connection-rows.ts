import { type AliasedExpression, expressionBuilder, sql } from 'kysely';
import { parseScopes, type Scopes, scopesBeyond } from '../lib/scope-lists.ts';
import type { ConnectedFor } from '../storage/app-tables.ts';
import { contains } from '../storage/search.ts';
import type { Database } from '../storage/storage.ts';
import { selectConsents } from './consents.ts';
import { SUSPENSIONS, selectLiveGrants } from './status.ts';

/** One app, acting for one user in one business. */
export interface ConnectionKey {
  appId: string;
  businessId: string;
  userId: string;
}

export interface ConnectionFilter {
  businessIds: string[];
  /** Undefined for all users. */
  userId?: string | undefined;
  /** `only`: those for the business. `too`: those of the user, and those for the business. */
  forBusiness?: 'only' | 'too' | undefined;
  appId?: string | undefined;
  /** Part of the name of an app or a user. */
  search?: string | undefined;
  /** The last connection of the previous page. */
  after?: Pick<ConnectionKey, 'appId' | 'userId'> | undefined;
  limit?: number | undefined;
}

/** The part of a connection that comes from its grants, or from its consent. */
export interface ConnectionRow extends ConnectionKey {
  scopes: Scopes;
  since: number;
  /** When tokens were last fetched; null for a consent. */
  fetchedAt: number | null;
  /** The MCP server that its tokens are for; null for the business API, and for a consent. */
  resource: string | null;
  connectedFor: ConnectedFor;
  /** Null until the user disconnects the app. */
  expiresAt: number | null;
  isLive: boolean;
}

/** Sorted by app and user, which is the order of the indexes: a page reads only its own rows. */
export async function listConnectionKeys(
  db: Database,
  filter: ConnectionFilter,
  now: number,
): Promise<ConnectionKey[]> {
  const live = await listKeys(db, liveGrants(db, now), filter);
  const saved = await listKeys(db, savedConsents(db, now), filter);
  const keys = new Map([...live, ...saved].map((key) => [sortKeyOf(key), key]));
  const sorted = [...keys].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, key]) => key);
  return sorted.slice(0, filter.limit);
}

/** Identifies a connection, and sorts like the list. */
export function sortKeyOf({ appId, userId, businessId }: ConnectionKey): string {
  return `${appId} ${userId} ${businessId}`;
}

/** Each connection can have a thousand grants, and on SQLite a statement delays everybody. */
const CONNECTIONS_PER_STATEMENT = 10;

export async function listConnectionRows(db: Database, keys: ConnectionKey[], now: number): Promise<ConnectionRow[]> {
  const live = [];
  for (let start = 0; start < keys.length; start += CONNECTIONS_PER_STATEMENT) {
    live.push(...(await listRows(db, liveGrants(db, now), keys.slice(start, start + CONNECTIONS_PER_STATEMENT))));
  }
  const saved = await listRows(db, savedConsents(db, now), keys);
  return [
    ...live.map((row) => ({ ...row, isLive: true })),
    ...saved.map((row) => ({ ...row, fetchedAt: null, isLive: false })),
  ];
}

/** Grants or consents, with the same column names. */
type Source = AliasedExpression<
  {
    app_id: string;
    business_id: string;
    user_id: string;
    connected_for: ConnectedFor;
    scopes: string;
    withdrawn_scopes: string;
    expires_at: number | null;
    since: number;
    fetched_at: number | null;
    resource: string | null;
  },
  'allowed'
>;

/** Without those whose code has not been exchanged yet. */
function liveGrants(db: Database, now: number): Source {
  return selectLiveGrants(db, now, { even: SUSPENSIONS })
    .select([
      'grants.app_id',
      'grants.business_id',
      'grants.user_id',
      'grants.connected_for',
      'grants.scopes',
      'grants.withdrawn_scopes',
      'grants.expires_at',
      'grants.created_at as since',
      'grants.rotated_at as fetched_at',
      'grants.resource',
    ])
    .as('allowed');
}

function savedConsents(db: Database, now: number): Source {
  return selectConsents(db, now)
    .innerJoin('apps', (join) => join.onRef('apps.id', '=', 'consents.app_id').on('apps.deleted_at', 'is', null))
    .select(['consents.app_id', 'consents.business_id', 'consents.user_id', 'consents.connected_for'])
    .select(['consents.scopes', 'consents.expires_at'])
    .select(['consents.allowed_at as since', 'consents.allowed_at as fetched_at'])
    .select(({ cast, lit, val }) => [
      val('').as('withdrawn_scopes'),
      cast<string | null>(lit(null), 'text').as('resource'),
    ])
    .as('allowed');
}

/** Not a parameter: a partial index has it. */
const FOR_BUSINESS = sql.lit<ConnectedFor>('business');

async function listKeys(db: Database, source: Source, filter: ConnectionFilter): Promise<ConnectionKey[]> {
  const { businessIds, userId, forBusiness, appId, search, after, limit } = filter;
  if (businessIds.length === 0) return [];
  let query = db
    .selectFrom(source)
    .select(['allowed.app_id as appId', 'allowed.business_id as businessId', 'allowed.user_id as userId'])
    .distinct()
    .where('allowed.business_id', 'in', businessIds)
    .orderBy('allowed.app_id')
    .orderBy('allowed.user_id');
  if (userId !== undefined && forBusiness !== 'too') query = query.where('allowed.user_id', '=', userId);
  if (forBusiness === 'only') query = query.where('allowed.connected_for', '=', FOR_BUSINESS);
  if (userId !== undefined && forBusiness === 'too') {
    query = query.where(({ or }) => or({ 'allowed.user_id': userId, 'allowed.connected_for': 'business' }));
  }
  if (appId !== undefined) query = query.where('allowed.app_id', '=', appId);
  if (limit !== undefined) query = query.limit(limit);
  if (after) {
    query = query.where(({ eb, refTuple, tuple }) =>
      eb(refTuple('allowed.app_id', 'allowed.user_id'), '>', tuple(after.appId, after.userId)),
    );
  }
  if (search) query = query.where(matchesSearch(db, filter, search));
  return query.execute();
}

/** By the name of the app or, in a list of several users, of the user. */
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

/** A connection can have many grants: those with the same scopes and resource become one row. */
async function listRows(db: Database, source: Source, keys: ConnectionKey[]) {
  const rows = await db
    .selectFrom(source)
    .select(({ fn }) => [
      'allowed.app_id as appId',
      'allowed.business_id as businessId',
      'allowed.user_id as userId',
      'allowed.scopes',
      'allowed.resource',
      'allowed.connected_for as connectedFor',
      'allowed.withdrawn_scopes',
      'allowed.expires_at as expiresAt',
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
    .groupBy(['allowed.app_id', 'allowed.business_id', 'allowed.user_id', 'allowed.scopes', 'allowed.resource'])
    .groupBy(['allowed.connected_for', 'allowed.withdrawn_scopes', 'allowed.expires_at'])
    .execute();
  return rows.map(({ withdrawn_scopes, ...row }) => ({
    ...row,
    scopes: scopesBeyond(parseScopes(row.scopes), parseScopes(withdrawn_scopes)),
  }));
}
