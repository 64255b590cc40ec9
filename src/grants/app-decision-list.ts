import { parseScopes, type Scopes } from '../lib/scope-lists.ts';
import type { Database } from '../storage/storage.ts';
import type { DescribedApp } from './app-requests.ts';

/** What an owner has decided about an app, for everyone in the business. */
export interface AppDecision extends DescribedApp {
  appId: string;
  /** The business that registered the app. */
  ownerName: string | null;
  status: 'approved' | 'blocked';
  scopes: Scopes;
  reason: string;
  /** The name of the owner; null for an operator. */
  decidedBy: string | null;
  decidedAt: number;
}

/** At most this many: a business that approves more apps than this lets anyone connect them. */
const MAX_LISTED = 200;

/** Blocked apps first, then by name. */
export async function listAppDecisions(db: Database, businessId: string): Promise<AppDecision[]> {
  const rows = await db
    .selectFrom('app_approvals')
    .innerJoin('apps', 'apps.id', 'app_approvals.app_id')
    .leftJoin('users', 'users.id', 'app_approvals.decided_by')
    .leftJoin('businesses as owners', 'owners.id', 'apps.owner_business_id')
    .select(['app_id as appId', 'apps.name', 'status', 'scopes', 'reason', 'decided_at as decidedAt'])
    .select(['users.name as decidedBy', 'owners.name as ownerName', 'apps.owner_scope as ownerScope'])
    .select(['apps.external_client_id as externalClientId', 'apps.redirect_uris as redirectUris'])
    .select(['apps.owner_business_id as ownerBusinessId', 'apps.verified_at as verifiedAt'])
    .select('apps.publisher_name as publisherName')
    .where('business_id', '=', businessId)
    .where('apps.deleted_at', 'is', null)
    .orderBy('status', 'desc')
    .orderBy('apps.name')
    .limit(MAX_LISTED)
    .execute();
  return rows.map(({ publisherName, ...row }) => ({
    ...row,
    identity: { publisherName },
    scopes: parseScopes(row.scopes),
    redirectUris: JSON.parse(row.redirectUris),
  }));
}
