import type { Database, Storage } from '../storage/database.ts';
import { type ConsentParties, forgetConsent } from './consents.ts';
import { revokeGrantsBetween } from './grants.ts';
import type { ScopeMask } from './scopes.ts';

/** An app that acts for a user in a business, through however many grants. */
export interface Connection {
  appId: string;
  appName: string;
  ownerScope: 'business' | 'platform';
  businessId: string;
  businessName: string;
  scopes: ScopeMask;
  since: number;
}

export async function listConnections(db: Database, userId: string, now: number): Promise<Connection[]> {
  const grants = await db
    .selectFrom('grants')
    .innerJoin('apps', 'apps.id', 'grants.app_id')
    .innerJoin('businesses', 'businesses.id', 'grants.business_id')
    .innerJoin('memberships', (join) =>
      join
        .onRef('memberships.user_id', '=', 'grants.user_id')
        .onRef('memberships.business_id', '=', 'grants.business_id')
        .onRef('memberships.created_at', '<=', 'grants.created_at'),
    )
    .select([
      'grants.app_id as appId',
      'apps.name as appName',
      'apps.owner_scope as ownerScope',
      'grants.business_id as businessId',
      'businesses.name as businessName',
      'grants.scopes as scopes',
      'grants.created_at as since',
    ])
    .where('grants.user_id', '=', userId)
    .where('grants.revoked_at', 'is', null)
    .where('grants.refresh_expires_at', '>', now)
    .where('apps.deleted_at', 'is', null)
    .orderBy('grants.created_at')
    .execute();
  return merge(grants);
}

/** Ends every token at once and forgets the consent, so that the app has to ask again. */
export async function disconnect(storage: Storage, parties: ConsentParties, now: number): Promise<void> {
  await storage.atomically(async (db) => {
    await revokeGrantsBetween(db, parties, 'disconnected_by_user', now);
    await forgetConsent(db, parties);
  });
}

function merge(grants: Connection[]): Connection[] {
  const merged = new Map<string, Connection>();
  for (const grant of grants) {
    const key = `${grant.appId} ${grant.businessId}`;
    const known = merged.get(key);
    merged.set(key, known ? { ...known, scopes: known.scopes | grant.scopes } : grant);
  }
  return [...merged.values()].sort((a, b) => a.appName.localeCompare(b.appName));
}
