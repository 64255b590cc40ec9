import type { ExpressionBuilder } from 'kysely';
import { DAY } from '../lib/clock.ts';
import { newId } from '../lib/ids.ts';
import { inChunks } from '../storage/chunks.ts';
import { type Keyset, keysetBounds, newestFirst } from '../storage/keyset.ts';
import { retentionStep } from '../storage/retention.ts';
import type { Database } from '../storage/storage.ts';
import type { Row, Tables } from '../storage/tables.ts';

/** A request of an app, as its developers see it. Contains no token, code or secret, and no query string. */
export interface NewRequest {
  appId: string;
  at: number;
  method: string;
  /** The pattern of the route, without parameters. */
  route: string;
  grantType: string | null;
  status: number;
  /** Why it was rejected. */
  reason: string | null;
  requestId: string;
  businessId: string | null;
  /** In milliseconds. */
  took: number;
  /** Of an authorize request, if it was rejected. */
  rejected?: LoggedRejection | undefined;
}

/** What an authorize request was rejected for. */
export interface LoggedRejection {
  name: string;
  /** The origin of the redirect URI, or its scheme if it has no origin. */
  redirectOrigin: string | null;
  /** In what the redirect URI differs from one of the app. */
  difference: string | null;
}

export interface LoggedRequest extends NewRequest {
  id: string;
  businessName: string | null;
}

/** Anyone who knows the client_id can send the last two. Each kind has a limit of its own, so that none displaces another. */
export const MAX_PER_APP = { authenticated: 1000, wrongSecret: 100, rejectedAuthorization: 100 };
export type Kind = keyof typeof MAX_PER_APP;
export const KINDS = Object.keys(MAX_PER_APP) as Kind[];

const WRONG_SECRET = 'credentials_wrong';

export function kindOf({ reason, rejected }: Pick<NewRequest, 'reason' | 'rejected'>): Kind {
  if (rejected) return 'rejectedAuthorization';
  return reason === WRONG_SECRET ? 'wrongSecret' : 'authenticated';
}

/** `kindOf` of a row. */
function isOfKind(kind: Kind) {
  return ({ eb, and }: ExpressionBuilder<Tables, 'logged_requests'>) => {
    if (kind === 'rejectedAuthorization') return eb('parameter', 'is not', null);
    return and([
      eb('parameter', 'is', null),
      eb('reason', kind === 'wrongSecret' ? '=' : 'is distinct from', WRONG_SECRET),
    ]);
  };
}

const RETENTION = 7 * DAY;

/** Expects the oldest first, so that the order of the ids is that of time. */
export async function addRequests(db: Database, requests: NewRequest[]): Promise<void> {
  for (const chunk of inChunks(requests)) {
    await db.insertInto('logged_requests').values(chunk.map(toRow)).execute();
  }
}

export type RequestStatus = 'succeeded' | 'failed';

interface RequestFilter extends Keyset {
  appId: string;
  status?: RequestStatus | undefined;
  requestId?: string | undefined;
  since?: number | undefined;
}

/** Newest first. Filters what an index range of one app contains, at most about 1,700 rows. */
export async function listRequests(
  db: Database,
  { appId, status, requestId, since, ...keyset }: RequestFilter,
): Promise<LoggedRequest[]> {
  const bounds = keysetBounds(keyset, since);
  const { below, above, order } = bounds;
  let query = selectRequests(db, appId).orderBy('request.id', order).limit(keyset.limit);
  if (below !== undefined) query = query.where('request.id', '<', below);
  if (above !== undefined) query = query.where('request.id', '>', above);
  if (requestId !== undefined) query = query.where('request.request_id', '=', requestId);
  if (status !== undefined) query = query.where(hasStatus(status));
  return newestFirst(bounds, await query.execute()).map(toRequest);
}

export async function findRequest(db: Database, appId: string, id: string): Promise<LoggedRequest | undefined> {
  const row = await selectRequests(db, appId).where('request.id', '=', id).executeTakeFirst();
  return row && toRequest(row);
}

/** A rejected authorize request may be a redirect to the app. */
export function hasFailed({ status, rejected }: Pick<NewRequest, 'status' | 'rejected'>): boolean {
  return status >= 400 || rejected !== undefined;
}

/** `hasFailed` of a row. */
function hasStatus(status: RequestStatus) {
  return ({ eb, or, and }: ExpressionBuilder<{ request: Row<'logged_requests'> }, 'request'>) =>
    status === 'failed'
      ? or([eb('status', '>=', 400), eb('parameter', 'is not', null)])
      : and([eb('status', '<', 400), eb('parameter', 'is', null)]);
}

function selectRequests(db: Database, appId: string) {
  return db
    .selectFrom('logged_requests as request')
    .leftJoin('businesses', 'businesses.id', 'request.business_id')
    .select([
      'request.id',
      'request.app_id as appId',
      'request.at',
      'request.method',
      'request.route',
      'request.grant_type as grantType',
      'request.status',
      'request.reason',
      'request.request_id as requestId',
      'request.business_id as businessId',
      'request.took',
      'request.parameter',
      'request.redirect_origin as redirectOrigin',
      'request.redirect_difference as difference',
      'businesses.name as businessName',
    ])
    .where('request.app_id', '=', appId);
}

/** Deletes the oldest rows of an app beyond its limits. */
export async function trimRequests(db: Database, appId: string): Promise<void> {
  for (const kind of KINDS) await trim(db, appId, kind);
}

async function trim(db: Database, appId: string, kind: Kind): Promise<void> {
  const oldestKept = db
    .selectFrom('logged_requests')
    .select('id')
    .where('app_id', '=', appId)
    .where(isOfKind(kind))
    .orderBy('id', 'desc')
    .offset(MAX_PER_APP[kind] - 1)
    .limit(1);
  await db
    .deleteFrom('logged_requests')
    .where('app_id', '=', appId)
    .where(isOfKind(kind))
    .where('id', '<', oldestKept)
    .execute();
}

export const oldRequests = retentionStep('logged_requests', ['id'], 'at', (now) => now - RETENTION);

type StoredRequest = Omit<LoggedRequest, 'rejected'> & Omit<LoggedRejection, 'name'> & { parameter: string | null };

function toRequest({ parameter, redirectOrigin, difference, ...request }: StoredRequest): LoggedRequest {
  return { ...request, rejected: parameter === null ? undefined : { name: parameter, redirectOrigin, difference } };
}

function toRow(request: NewRequest) {
  return {
    id: newId(request.at),
    app_id: request.appId,
    at: request.at,
    method: request.method,
    route: request.route,
    grant_type: request.grantType,
    status: request.status,
    reason: request.reason,
    request_id: request.requestId,
    business_id: request.businessId,
    took: request.took,
    parameter: request.rejected?.name ?? null,
    redirect_origin: request.rejected?.redirectOrigin ?? null,
    redirect_difference: request.rejected?.difference ?? null,
  };
}

/** Filled in while the request is handled, because an error can end it at any step. */
export interface RequestContext {
  appId?: string;
  userId?: string;
  businessId?: string;
  /** The scope that allowed the request. */
  scope?: string;
  /** The app that used the scope, if another app sent the request. */
  scopeUsedBy?: string;
  /** At the token endpoint. */
  grantType?: string;
  /** At a code exchange: whether the app sent a code_verifier. */
  usedPkce?: boolean;
  /** At the authorize endpoint. */
  rejected?: LoggedRejection;
}
