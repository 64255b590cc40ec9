import { recordEvent } from '../events/events.ts';
import { DAY, MINUTE } from '../lib/clock.ts';
import { newSalt } from '../lib/secrets.ts';
import type { Database, Storage } from '../storage/storage.ts';
import { deathOf, type GrantReason } from './grant-reasons.ts';
import { type ScopeMask, scopeNames } from './scopes.ts';

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

export type NewGrant = Pick<
  Grant,
  'id' | 'appId' | 'userId' | 'businessId' | 'scopes' | 'redirectUri' | 'codeChallenge'
>;

const CODE_LIFETIME = 10 * MINUTE;
export const REFRESH_LIFETIME = 30 * DAY;

/** A dead row is kept this long past the last token it made, so that a late caller still hears why. */
const KEPT_FOR = DAY;

/** False when the id is taken: so a second click on Allow finds the grant of the first. */
export async function createGrant(db: Database, grant: NewGrant, now: number): Promise<boolean> {
  const code_expires_at = now + CODE_LIFETIME;
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('grants')
    .values({
      id: grant.id,
      salt: newSalt(),
      app_id: grant.appId,
      user_id: grant.userId,
      business_id: grant.businessId,
      scopes: grant.scopes,
      redirect_uri: grant.redirectUri,
      code_challenge: grant.codeChallenge,
      created_at: now,
      code_expires_at,
      rotation: 0,
      removable_on: removableOn(code_expires_at),
    })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .executeTakeFirstOrThrow();
  if (!numInsertedOrUpdatedRows) return false;
  await recordEvent(
    db,
    {
      type: 'grant.created',
      appId: grant.appId,
      businessId: grant.businessId,
      data: { grantId: grant.id, userId: grant.userId, scopes: scopeNames(grant.scopes) },
    },
    now,
  );
  return true;
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

/** True for exactly one caller: the row itself decides who was first. */
export async function markExchanged(db: Database, grantId: string, now: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('grants')
    .set({ exchanged_at: now, ...rotatedNow(now) })
    .where('id', '=', grantId)
    .where('exchanged_at', 'is', null)
    .where('revoked_at', 'is', null)
    .executeTakeFirstOrThrow();
  return numUpdatedRows === 1n;
}

/**
 * Moves the row from the rotation it was read at to the one after the token's; true for exactly one caller. The token
 * may be ahead of the row when the database lost a commit: then this also catches up, and the client notices nothing.
 */
export async function rotate(
  db: Database,
  { grant, spent }: { grant: Grant; spent: number },
  now: number,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('grants')
    .set({ rotation: spent + 1, ...rotatedNow(now), exchanged_at: grant.exchangedAt ?? now })
    .where('id', '=', grant.id)
    .where('rotation', '=', grant.rotation)
    .where('revoked_at', 'is', null)
    .executeTakeFirstOrThrow();
  return numUpdatedRows === 1n;
}

export async function listLiveGrants(db: Database, userId: string, now: number) {
  return db
    .selectFrom('grants')
    .select(['app_id as appId', 'business_id as businessId', 'scopes', 'created_at as since'])
    .where('user_id', '=', userId)
    .where('revoked_at', 'is', null)
    .where('refresh_expires_at', '>', now)
    .execute();
}

/** Ends every token of the grant. A grant that is dead already keeps its first reason. */
export async function revokeGrant(storage: Storage, grantId: string, reason: GrantReason, now: number): Promise<void> {
  await storage.atomically((db) => endGrants(db, selectLive(db).where('id', '=', grantId), reason, now));
}

/** Ends all that one user allowed one app in one business. */
export async function revokeGrantsBetween(
  db: Database,
  { userId, appId, businessId }: Pick<Grant, 'userId' | 'appId' | 'businessId'>,
  reason: GrantReason,
  now: number,
): Promise<void> {
  const between = selectLive(db)
    .where('user_id', '=', userId)
    .where('app_id', '=', appId)
    .where('business_id', '=', businessId);
  await endGrants(db, between, reason, now);
}

function selectLive(db: Database) {
  return db.selectFrom('grants').select('id').where('revoked_at', 'is', null);
}

async function endGrants(db: Database, grants: ReturnType<typeof selectLive>, reason: GrantReason, now: number) {
  const ended = await db
    .updateTable('grants')
    .set({ revoked_at: now, revoked_reason: reason })
    .where('id', 'in', grants)
    .where('revoked_at', 'is', null)
    .returning(['id', 'app_id', 'business_id', 'user_id'])
    .execute();
  for (const { id: grantId, app_id: appId, business_id: businessId, user_id: userId } of ended) {
    await recordEvent(db, { type: 'grant.revoked', appId, businessId, data: { grantId, userId, reason } }, now);
  }
}

/** In small batches, by an index, all the time: there is never a backlog for a janitor to sweep. */
export async function removeDeadGrants(db: Database, limit: number, now: number): Promise<number> {
  const today = Math.floor(now / DAY);
  const dead = db.selectFrom('grants').select('id').where('removable_on', '<=', today).limit(limit);
  // Asked twice: a grant that is refreshed while this waits for it has to stay.
  const result = await db
    .deleteFrom('grants')
    .where('id', 'in', dead)
    .where('removable_on', '<=', today)
    .executeTakeFirst();
  return Number(result.numDeletedRows);
}

function rotatedNow(now: number) {
  const refresh_expires_at = now + REFRESH_LIFETIME;
  return { rotated_at: now, refresh_expires_at, removable_on: removableOn(refresh_expires_at) };
}

function removableOn(expiresAt: number): number {
  return Math.ceil((expiresAt + KEPT_FOR) / DAY);
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
