import { parseScopes } from '../lib/scope-lists.ts';
import type { Database } from '../storage/storage.ts';
import type { AppRequest } from './app-requests.ts';

const MAX_LISTED = 200;

/** Oldest first. */
export async function listWaitingRequests(db: Database, businessId: string): Promise<AppRequest[]> {
  const waiting = selectRequests(db, businessId).where('app_requests.status', '=', 'requested');
  return (await waiting.orderBy('requested_at').limit(MAX_LISTED).execute()).map(fromRow);
}

/** Refusals first, then the newest. */
export async function listDecidedRequests(db: Database, businessId: string): Promise<AppRequest[]> {
  const decided = selectRequests(db, businessId).where('app_requests.status', '!=', 'requested');
  const sorted = decided.orderBy('status', 'desc').orderBy('requested_at', 'desc');
  return (await sorted.limit(MAX_LISTED).execute()).map(fromRow);
}

function selectRequests(db: Database, businessId: string) {
  return db
    .selectFrom('app_requests')
    .innerJoin('apps', 'apps.id', 'app_requests.app_id')
    .innerJoin('users', 'users.id', 'app_requests.user_id')
    .leftJoin('businesses as owners', 'owners.id', 'apps.owner_business_id')
    .selectAll('app_requests')
    .select(['apps.name as app_name', 'apps.owner_scope', 'apps.external_client_id', 'apps.redirect_uris'])
    .select(['owners.name as owner_name', 'apps.owner_business_id', 'apps.verified_at', 'apps.publisher_name'])
    .select(['users.name as user_name', 'users.email as user_email'])
    .where('app_requests.business_id', '=', businessId)
    .where('apps.deleted_at', 'is', null);
}

type SelectedRow = Awaited<ReturnType<ReturnType<typeof selectRequests>['execute']>>[number];

function fromRow(row: SelectedRow): AppRequest {
  return {
    businessId: row.business_id,
    appId: row.app_id,
    userId: row.user_id,
    app: {
      name: row.app_name,
      ownerScope: row.owner_scope,
      externalClientId: row.external_client_id,
      redirectUris: JSON.parse(row.redirect_uris),
      ownerBusinessId: row.owner_business_id,
      verifiedAt: row.verified_at,
      identity: { publisherName: row.publisher_name },
    },
    ownerName: row.owner_name,
    userName: row.user_name,
    userEmail: row.user_email,
    status: row.status,
    scopes: parseScopes(row.scopes),
    approvedScopes: parseScopes(row.approved_scopes),
    note: row.note,
    requestedAt: row.requested_at,
    reason: row.reason,
    decidedAt: row.decided_at,
  };
}
