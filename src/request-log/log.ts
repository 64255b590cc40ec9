import { DAY } from '../lib/clock.ts';
import { newId } from '../lib/ids.ts';
import { inChunks } from '../storage/chunks.ts';
import { type Keyset, keysetBounds, newestFirst } from '../storage/keyset.ts';
import { retentionStep } from '../storage/retention.ts';
import type { Database } from '../storage/storage.ts';

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
}

export interface LoggedRequest extends NewRequest {
  id: string;
  businessName: string | null;
}

const RETENTION = 7 * DAY;

export const MAX_PER_APP = 1000;

/** Anyone who knows the client_id can send a wrong secret. These requests have a limit of their own and displace no others. */
const MAX_WRONG_SECRETS = 100;
export const WRONG_SECRET = 'credentials_wrong';

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

/** Newest first. Filters what an index range of one app contains, at most about 1,600 rows. */
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
  if (status !== undefined) query = query.where('request.status', status === 'failed' ? '>=' : '<', 400);
  return newestFirst(bounds, await query.execute());
}

export async function findRequest(db: Database, appId: string, id: string): Promise<LoggedRequest | undefined> {
  return selectRequests(db, appId).where('request.id', '=', id).executeTakeFirst();
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
      'businesses.name as businessName',
    ])
    .where('request.app_id', '=', appId);
}

/** Deletes the oldest rows of an app beyond its limits. */
export async function trimRequests(db: Database, appId: string): Promise<void> {
  await trim(db, { appId, comparison: 'is distinct from', max: MAX_PER_APP });
  await trim(db, { appId, comparison: '=', max: MAX_WRONG_SECRETS });
}

interface Trimming {
  appId: string;
  /** Compares `reason` with `WRONG_SECRET`. */
  comparison: '=' | 'is distinct from';
  max: number;
}

async function trim(db: Database, { appId, comparison, max }: Trimming): Promise<void> {
  const oldestKept = db
    .selectFrom('logged_requests')
    .select('id')
    .where('app_id', '=', appId)
    .where('reason', comparison, WRONG_SECRET)
    .orderBy('id', 'desc')
    .offset(max - 1)
    .limit(1);
  await db
    .deleteFrom('logged_requests')
    .where('app_id', '=', appId)
    .where('reason', comparison, WRONG_SECRET)
    .where('id', '<', oldestKept)
    .execute();
}

export const oldRequests = retentionStep('logged_requests', ['id'], 'at', (now) => now - RETENTION);

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
}
