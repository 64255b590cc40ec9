import type { Database } from '../storage/storage.ts';
import { deathOf, type GrantReason } from './grant-reasons.ts';
import { readScopes, type ScopeMask } from './scopes.ts';

/**
 * One Allow: by one user, for one app, in one business, for some scopes. Every code and token belongs to exactly one
 * grant, and a grant is one row, however often its tokens are replaced.
 */
export interface Grant {
  id: string;
  /** Without it no token of this grant can be made or verified. */
  salt: Uint8Array;
  appId: string;
  userId: string;
  businessId: string;
  /** What was allowed, less what the app has since been refused. */
  scopes: ScopeMask;
  redirectUri: string | null;
  codeChallenge: string | null;
  codeExpiresAt: number;
  exchangedAt: number | null;
  /** How many times the refresh token has been replaced. */
  rotation: number;
  rotatedAt: number | null;
  /** Why it is dead, or null while it lives. */
  deadBecause: GrantReason | null;
  /** Whether the access token of the rotation that was asked about has been revoked by itself. */
  accessTokenRevoked: boolean;
}

/**
 * The grant and all that it stands on, in one statement: so a disabled user, a removed member, a disabled app and a
 * revoked grant each take effect on the very next call.
 */
export async function findGrant(
  db: Database,
  { grantId, rotation }: { grantId: string; rotation: number },
): Promise<Grant | undefined> {
  const row = await selectStanding(db, rotation).where('grants.id', '=', grantId).executeTakeFirst();
  return row && fromRow(row);
}

/** The apps that may do this in a business at this moment; or, of one app, whether it may. */
export async function listAppsAllowed(
  db: Database,
  { businessId, scope, appId }: { businessId: string; scope: string; appId?: string },
  now: number,
): Promise<string[]> {
  let query = selectStanding(db, 0)
    .where('grants.business_id', '=', businessId)
    .where('grants.revoked_at', 'is', null)
    .where('grants.refresh_expires_at', '>', now);
  if (appId !== undefined) query = query.where('grants.app_id', '=', appId);
  const wanted = readScopes([scope]).scopes;
  const live = (await query.execute())
    .map(fromRow)
    .filter(({ deadBecause, scopes }) => !deadBecause && scopes & wanted);
  return [...new Set(live.map((grant) => grant.appId))];
}

function selectStanding(db: Database, rotation: number) {
  return db
    .selectFrom('grants')
    .leftJoin('apps', 'apps.id', 'grants.app_id')
    .leftJoin('users', 'users.id', 'grants.user_id')
    .leftJoin('memberships', (join) =>
      join
        .onRef('memberships.user_id', '=', 'grants.user_id')
        .onRef('memberships.business_id', '=', 'grants.business_id'),
    )
    .leftJoin('revoked_access_tokens as revoked', (join) =>
      join.onRef('revoked.grant_id', '=', 'grants.id').on('revoked.rotation', '=', rotation),
    )
    .selectAll('grants')
    .select([
      'apps.allowed_scopes',
      'apps.owner_business_id',
      'apps.open_to_any_business',
      'apps.disabled_at as app_disabled_at',
      'apps.paused_at as app_paused_at',
      'apps.deleted_at as app_deleted_at',
      'users.disabled_at as user_disabled_at',
      'memberships.created_at as member_since',
      'revoked.rotation as revoked_rotation',
    ]);
}

type Standing = Awaited<ReturnType<ReturnType<typeof selectStanding>['executeTakeFirstOrThrow']>>;

function fromRow(row: Standing): Grant {
  return {
    id: row.id,
    salt: row.salt,
    appId: row.app_id,
    userId: row.user_id,
    businessId: row.business_id,
    scopes: row.scopes & (row.allowed_scopes ?? 0),
    redirectUri: row.redirect_uri,
    codeChallenge: row.code_challenge,
    codeExpiresAt: row.code_expires_at,
    exchangedAt: row.exchanged_at,
    rotation: row.rotation,
    rotatedAt: row.rotated_at,
    deadBecause: deathOf(row),
    accessTokenRevoked: row.revoked_rotation !== null,
  };
}
