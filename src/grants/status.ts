import { type Expression, type ExpressionBuilder, expressionBuilder, type SqlBool, sql } from 'kysely';
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
  const { rows } = await readGrant(db, { grantId, rotation, now });
  return rows[0] && grantFrom(rows[0]);
}

const readGrant = batchedQuery(
  { grantId: 'uuid', rotation: 'bigint', now: 'bigint' },
  (db, { grantId, rotation, now }: { grantId: string; rotation: number; now: number }) =>
    selectGrants(db, { rotation, now }).where('grants.id', '=', grantId),
);

/** What decides whether a grant is active, beside its own row. */
function selectWithParties(db: Database) {
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
    );
}

interface Condition {
  /** Why a grant is inactive if the condition does not hold. */
  reason: InactiveReason | 'revoked';
  holds: Expression<SqlBool>;
}

/**
 * The one definition of an active grant: each of these holds. For a token and in every list and count; the first that does not hold
 * is the reason.
 */
function conditionsAt(now: number): Condition[] {
  const { eb, or, ref, lit } = expressionBuilder<Joined, keyof Joined>();
  return [
    { reason: 'revoked', holds: eb('grants.revoked_at', 'is', null) },
    { reason: 'grant_expired', holds: or([eb('grants.expires_at', 'is', null), eb('grants.expires_at', '>', now)]) },
    { reason: 'app_deleted', holds: eb('apps.deleted_at', 'is', null) },
    { reason: 'app_paused', holds: eb('apps.paused_at', 'is', null) },
    { reason: 'app_disabled', holds: eb('apps.disabled_at', 'is', null) },
    {
      reason: 'app_closed',
      holds: or([
        eb('apps.owner_business_id', 'is', null),
        eb('apps.open_to_any_business', '=', lit(1)),
        eb('apps.owner_business_id', '=', ref('grants.business_id')),
      ]),
    },
    { reason: 'user_disabled', holds: eb('disabled.disabled_at', 'is', null) },
    // Also null for a membership that is newer than the grant: it does not restore the grant.
    { reason: 'member_removed', holds: eb('memberships.created_at', 'is not', null) },
  ];
}

type Joined = Pick<Tables, 'grants' | 'apps' | 'memberships'> & { disabled: Tables['users'] };

/** Someone can undo each of these: the grants then work again. */
export const APP_SUSPENSIONS = ['app_paused', 'app_disabled', 'app_closed'] as const;
export const SUSPENSIONS = [...APP_SUSPENSIONS, 'user_disabled'] as const;

/** Active grants with tokens. `even` names reasons that do not count. */
export function selectLiveGrants(db: Database, now: number, { even = [] }: { even?: readonly InactiveReason[] } = {}) {
  const conditions = conditionsAt(now).filter(({ reason }) => !even.some((each) => each === reason));
  return selectWithParties(db)
    .where(({ and }) => and(conditions.map(({ holds }) => holds)))
    .where('grants.refresh_expires_at', '>', now);
}

export type GrantFilter = Partial<Pick<Grant, 'appId' | 'businessId' | 'userId' | 'connectedFor'>>;

export function matching({ appId, businessId, userId, connectedFor }: GrantFilter): Expression<SqlBool> {
  const { and, eb } = expressionBuilder<Tables, 'grants'>();
  return and([
    ...(appId === undefined ? [] : [eb('grants.app_id', '=', appId)]),
    ...(businessId === undefined ? [] : [eb('grants.business_id', '=', businessId)]),
    ...(userId === undefined ? [] : [eb('grants.user_id', '=', userId)]),
    ...(connectedFor === undefined ? [] : [eb('grants.connected_for', '=', connectedFor)]),
  ]);
}

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
      'revoked.rotation as revoked_rotation',
    ])
    .select(inactiveReason(now).as('inactive_reason'));
}

/** Null if the grant is active. */
function inactiveReason(now: number) {
  const branches = conditionsAt(now).map(({ reason, holds }) => {
    // Part of the text of the statement, where a value would be bound again for each request.
    const value = reason === 'revoked' ? sql.ref('grants.revoked_reason') : sql.lit(reason);
    return sql`when not (${holds}) then ${value}`;
  });
  return sql<string | null>`case ${sql.join(branches, sql` `)} end`;
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
    accessTokenRevoked: row.revoked_rotation !== null,
  };
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

export function selectUnrevokedBetween(db: Database, parties: GrantParties) {
  return selectBetween(db, parties).where('revoked_at', 'is', null);
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
