import type { ExpressionBuilder } from 'kysely';
import type { InactiveReason } from '../http/errors.ts';
import { commonScopes, parseScopes, type Scopes, scopesBeyond } from '../lib/scope-lists.ts';
import type { ConnectedFor } from '../storage/app-tables.ts';
import { batchedQuery } from '../storage/batched-query.ts';
import type { Database } from '../storage/storage.ts';
import type { Tables } from '../storage/tables.ts';

/**
 * What one Allow creates: one user, one app, one business, some scopes. Every code and token belongs to exactly one grant,
 * and a grant is one row, however often its tokens are replaced.
 */
export interface Grant {
  id: string;
  /** Tokens of this grant are derived from it, and verified with it. */
  salt: Uint8Array;
  appId: string;
  /** Of the app, on the wire. */
  clientId: string;
  userId: string;
  businessId: string;
  connectedFor: ConnectedFor;
  /** What the user allowed. */
  grantedScopes: Scopes;
  /** Those of them that the user or an owner has withdrawn since. */
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
  /** Whether the access token of the requested rotation has been revoked alone. */
  accessTokenRevoked: boolean;
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
  const { rows } = await readGrant(db, { grantId, rotation });
  return rows[0] && grantFrom(rows[0], now);
}

const readGrant = batchedQuery(
  { grantId: 'uuid', rotation: 'bigint' },
  (db, { grantId, rotation }: { grantId: string; rotation: number }) =>
    selectGrants(db, rotation).where('grants.id', '=', grantId),
);

export function selectGrants(db: Database, rotation: number) {
  return db
    .selectFrom('grants')
    .leftJoin('apps', 'apps.id', 'grants.app_id')
    .leftJoin('users as disabled', (join) =>
      join.onRef('disabled.id', '=', 'grants.user_id').on('disabled.disabled_at', 'is not', null),
    )
    .leftJoin('memberships', (join) =>
      join
        .onRef('memberships.business_id', '=', 'grants.business_id')
        .onRef('memberships.user_id', '=', 'grants.user_id')
        .onRef('memberships.created_at', '<=', 'grants.created_at'),
    )
    .leftJoin('revoked_access_tokens as revoked', (join) =>
      join.onRef('revoked.grant_id', '=', 'grants.id').on('revoked.rotation', '=', rotation),
    )
    .selectAll('grants')
    .select([
      'apps.allowed_scopes',
      'apps.external_client_id',
      'apps.owner_business_id',
      'apps.open_to_any_business',
      'apps.disabled_at as app_disabled_at',
      'apps.paused_at as app_paused_at',
      'apps.deleted_at as app_deleted_at',
      'disabled.disabled_at as user_disabled_at',
      'memberships.created_at as member_since',
      'revoked.rotation as revoked_rotation',
    ]);
}

type GrantRow = Awaited<ReturnType<ReturnType<typeof selectGrants>['executeTakeFirstOrThrow']>>;

export function grantFrom(row: GrantRow, now: number): Grant {
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
    inactiveReason: inactiveReasonOf(row, now),
    accessTokenRevoked: row.revoked_rotation !== null,
  };
}

/** `member_since` is also null for a membership that is newer than the grant: it does not restore the grant. */
function inactiveReasonOf(row: GrantRow, now: number): InactiveReason | null {
  if (row.revoked_reason !== null) return row.revoked_reason as InactiveReason;
  if (row.expires_at !== null && now >= row.expires_at) return 'grant_expired';
  if (row.app_deleted_at !== null) return 'app_deleted';
  if (row.app_paused_at !== null) return 'app_paused';
  if (row.app_disabled_at !== null) return 'app_disabled';
  const isOpen = row.owner_business_id === null || row.open_to_any_business === 1;
  if (!isOpen && row.owner_business_id !== row.business_id) return 'app_closed';
  if (row.user_disabled_at !== null) return 'user_disabled';
  if (row.member_since === null) return 'member_removed';
  return null;
}

const INACTIVE_SENTENCES: Record<InactiveReason, string> = {
  revoked_by_app: 'The app revoked this grant itself.',
  disconnected_by_user: 'The user disconnected the app.',
  disconnected_by_owner: 'An owner of the business disconnected the app.',
  code_reused: 'The code of this grant was sent twice, so its tokens were revoked: a code works once.',
  code_verifier_wrong: 'The code_verifier did not match the code_challenge, and the code no longer works.',
  refresh_token_reused:
    'A refresh token of this grant was sent again after its successor had been used, so the grant was revoked: someone may ' +
    'have copied it. Always store the newest pair before you use it.',
  app_deleted: 'The app was deleted.',
  app_paused: 'The platform has paused the app.',
  app_disabled: 'The app is disabled.',
  app_closed: 'The app is no longer open to businesses other than its own.',
  app_blocked: 'An owner of the business has blocked the app.',
  user_disabled: 'The user who allowed this is disabled.',
  member_removed: 'The user who allowed this is no longer a member of the business.',
  password_reset: 'The password of the user was reset, and every grant from before was ended.',
  backup_restored: 'The server was restored from a backup, and every grant from before was ended.',
  grant_expired: 'The user allowed the app for a limited time, which is over.',
};

/** A sentence that ends with the name of the reason, for logs and programs. */
export function explain(reason: InactiveReason): string {
  return `${INACTIVE_SENTENCES[reason]} (${reason})`;
}

/** One app in one business, for one user or for everyone. */
export type GrantParties = Pick<Grant, 'appId' | 'businessId'> & { userId?: string | undefined };

/** Whether there is a row for such a grant, active or not. */
export async function wasGranted(db: Database, parties: GrantParties): Promise<boolean> {
  return (await selectBetween(db, parties).limit(1).executeTakeFirst()) !== undefined;
}

export function selectBetween(db: Database, { appId, businessId, userId }: GrantParties) {
  const between = db
    .selectFrom('grants')
    .select('id')
    .where('business_id', '=', businessId)
    .where('app_id', '=', appId);
  return userId === undefined ? between : between.where('user_id', '=', userId);
}

/**
 * Needs a transaction. Locks the grants that are not revoked, one by one in the order of their ids: Citus has `for update` only
 * for a single row of a distributed table.
 */
export async function lockUnrevoked(grants: ReturnType<typeof selectBetween>) {
  const locked = [];
  for (const { id } of await grants.orderBy('id').execute()) {
    const one = grants.clearSelect().selectAll().where('id', '=', id).where('revoked_at', 'is', null);
    locked.push(...(await one.forUpdate().execute()));
  }
  return locked;
}

/** Not revoked; some may have expired. */
export function selectUnrevoked(db: Database) {
  return db.selectFrom('grants').select('id').where('revoked_at', 'is', null);
}

/** Neither revoked nor expired. The app, the user or the membership may still be inactive. */
export function selectLiveGrants(db: Database, now: number) {
  return db
    .selectFrom('grants')
    .where('grants.revoked_at', 'is', null)
    .where('grants.refresh_expires_at', '>', now)
    .where(({ or, eb }) => or([eb('grants.expires_at', 'is', null), eb('grants.expires_at', '>', now)]));
}

/** Those of them whose user is active, and has been a member since before the grant. The app may still be inactive. */
export function selectLiveGrantsOfMembers(db: Database, now: number) {
  return selectLiveGrants(db, now)
    .innerJoin('users', 'users.id', 'grants.user_id')
    .innerJoin('memberships', (join) =>
      join
        .onRef('memberships.user_id', '=', 'grants.user_id')
        .onRef('memberships.business_id', '=', 'grants.business_id')
        .onRef('memberships.created_at', '<=', 'grants.created_at'),
    )
    .where('users.disabled_at', 'is', null);
}

/**
 * Whether an unused grant ends before this time because its app does not refresh it, and the app has no event about
 * that yet.
 */
export function needsWarning({ and, eb, or, ref }: ExpressionBuilder<Tables, 'grants'>, until: number) {
  return and([
    eb('revoked_at', 'is', null),
    eb('refresh_expires_at', '<=', until),
    // A refresh cannot postpone the end that the user chose.
    or([eb('expires_at', 'is', null), eb('expires_at', '>', ref('refresh_expires_at'))]),
    or([eb('warned_at', 'is', null), eb('warned_at', '<=', ref('rotated_at'))]),
  ]);
}
