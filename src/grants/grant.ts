import { sql } from 'kysely';
import type { InactiveReason } from '../http/errors.ts';
import { commonScopes, parseScopes, type Scopes, scopesBeyond } from '../lib/scope-lists.ts';
import type { ConnectedFor } from '../storage/app-tables.ts';
import { batchedQuery } from '../storage/batched-query.ts';
import type { Database } from '../storage/storage.ts';
import { inactiveReason, selectWithParties } from './status.ts';

/** Instead of a list: all of the rotation are revoked, by a node of 0.2.0 or older, or because the list would be too long. */
export const ALL_TOKENS = 'all';

/**
 * What one Allow creates: one user, one app, one business, some scopes. Every code and token belongs to exactly one grant,
 * and a grant is one row, however often its tokens are replaced.
 */
export interface Grant {
  id: string;
  /** Tokens of this grant are derived from it, and verified with it. */
  salt: Uint8Array;
  appId: string;
  /** The `client_id` of the app, as on the wire. */
  clientId: string;
  userId: string;
  businessId: string;
  connectedFor: ConnectedFor;
  /** What the user allowed. */
  grantedScopes: Scopes;
  /** The scopes that the user or an owner has withdrawn since. */
  withdrawnScopes: Scopes;
  /** The others that the app is still registered for. */
  scopes: Scopes;
  /** When the user wants it to end; null until they disconnect the app. */
  expiresAt: number | null;
  /** Where its tokens work: a path below the issuer, or null for the business API. */
  resource: string | null;
  redirectUri: string | null;
  codeChallenge: string | null;
  createdAt: number;
  codeExpiresAt: number;
  exchangedAt: number | null;
  /** How many times the refresh token has been replaced. */
  rotation: number;
  /** The newest rotation of which an access token has been used. Stored with a delay (`token-uses.ts`). */
  usedRotation: number;
  rotatedAt: number | null;
  /** The day on which the row may be removed, in days since 1970. */
  removableOn: number;
  /** Null while it is active. */
  inactiveReason: InactiveReason | null;
  /** The ids of the access tokens of the requested rotation that have been revoked alone, separated by spaces. */
  revokedTokens: string | null;
}

/**
 * Loads the grant with the status of its app, user and membership in one query, so a disabled user, a removed member, a
 * disabled app and a revoked grant take effect on the next request.
 */
export async function findGrant(
  db: Database,
  { grantId, rotation }: { grantId: string; rotation: number },
  now: number,
): Promise<Grant | undefined> {
  const { rows } = await readGrant(db, { grantId, rotation, now });
  return rows[0] && grantFrom(rows[0]);
}

const readGrant = batchedQuery(
  { grantId: 'uuid', rotation: 'bigint', now: 'bigint' },
  (db, { grantId, rotation, now }: { grantId: string; rotation: number; now: number }) =>
    selectGrants(db, { rotation, now }).where('grants.id', '=', grantId),
);

/** Only the columns that `grantFrom` needs: most requests read a grant, and each column takes time. */
export function selectGrants(db: Database, { rotation, now }: { rotation: number; now: number }) {
  return selectWithParties(db)
    .leftJoin('revoked_access_tokens as revoked', (join) =>
      join.onRef('revoked.grant_id', '=', 'grants.id').on('revoked.rotation', '=', rotation),
    )
    .select([
      'grants.id',
      'grants.salt',
      'grants.app_id',
      'grants.user_id',
      'grants.business_id',
      'grants.connected_for',
      'grants.scopes',
      'grants.withdrawn_scopes',
      'grants.expires_at',
      'grants.resource',
      'grants.redirect_uri',
      'grants.code_challenge',
      'grants.created_at',
      'grants.code_expires_at',
      'grants.exchanged_at',
      'grants.rotation',
      'grants.used_rotation',
      'grants.rotated_at',
      'grants.removable_on',
      'apps.allowed_scopes',
      'apps.external_client_id',
    ])
    .select(({ eb, ref }) =>
      eb
        .case()
        .when('revoked.listed_at', '=', ref('revoked.expires_at'))
        .then(ref('revoked.tokens'))
        .when('revoked.rotation', 'is not', null)
        .then(sql.lit(ALL_TOKENS))
        .end()
        .as('revoked_tokens'),
    )
    .select(inactiveReason(now).as('inactive_reason'));
}

type GrantRow = Awaited<ReturnType<ReturnType<typeof selectGrants>['executeTakeFirstOrThrow']>>;

export function grantFrom(row: GrantRow): Grant {
  const grantedScopes = parseScopes(row.scopes);
  const withdrawnScopes = parseScopes(row.withdrawn_scopes);
  const registered = commonScopes(grantedScopes, parseScopes(row.allowed_scopes ?? ''));
  return {
    id: row.id,
    salt: row.salt,
    appId: row.app_id,
    clientId: row.external_client_id ?? row.app_id,
    userId: row.user_id,
    businessId: row.business_id,
    connectedFor: row.connected_for,
    grantedScopes,
    withdrawnScopes,
    scopes: withdrawnScopes.length === 0 ? registered : scopesBeyond(registered, withdrawnScopes),
    expiresAt: row.expires_at,
    resource: row.resource,
    redirectUri: row.redirect_uri,
    codeChallenge: row.code_challenge,
    createdAt: row.created_at,
    codeExpiresAt: row.code_expires_at,
    exchangedAt: row.exchanged_at,
    rotation: row.rotation,
    usedRotation: row.used_rotation,
    rotatedAt: row.rotated_at,
    removableOn: row.removable_on,
    inactiveReason: row.inactive_reason as InactiveReason | null,
    revokedTokens: row.revoked_tokens,
  };
}
