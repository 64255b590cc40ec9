import { recordEvent, recordEvents } from '../events/events.ts';
import { DAY, MINUTE } from '../lib/clock.ts';
import { formatScopes } from '../lib/scope-lists.ts';
import { newSalt } from '../lib/secrets.ts';
import { preparedQuery } from '../storage/prepared-query.ts';
import type { Database, Storage } from '../storage/storage.ts';
import type { Row } from '../storage/tables.ts';
import type { GrantReason } from './inactive-reasons.ts';
import { type Grant, type GrantParties, selectBetween, selectLiveGrants, selectUnrevoked } from './status.ts';

export { findGrant, type Grant } from './status.ts';

type NewGrant = Pick<Grant, 'id' | 'appId' | 'userId' | 'businessId' | 'scopes' | 'redirectUri' | 'codeChallenge'>;

const CODE_LIFETIME = 10 * MINUTE;
export const REFRESH_LIFETIME = 30 * DAY;

/** A dead row is kept this long past the last token it made, so that a late caller still hears why. */
const KEPT_FOR = DAY;

/** An app hears so long before a grant that it does not use dies. */
const WARNED_BEFORE = 3 * DAY;

/** What a code is made of. */
export type CodeParts = Pick<Grant, 'id' | 'salt' | 'codeExpiresAt'>;

/** Undefined when the id is taken: so a second click on Allow finds the grant of the first. */
export async function createGrant(db: Database, grant: NewGrant, now: number): Promise<CodeParts | undefined> {
  const [salt, codeExpiresAt] = [newSalt(), now + CODE_LIFETIME];
  const { numAffectedRows } = await insertGrant(db, {
    ...grant,
    scopes: formatScopes(grant.scopes),
    salt,
    created_at: now,
    code_expires_at: codeExpiresAt,
    removable_on: removableOn(codeExpiresAt),
  });
  if (!numAffectedRows) return undefined;
  const { id: grantId, appId, userId, businessId } = grant;
  const data = { grantId, userId, scopes: grant.scopes };
  await recordEvent(db, { type: 'grant.created', appId, businessId, data }, now);
  return { id: grant.id, salt, codeExpiresAt };
}

type GrantRow = Omit<NewGrant, 'scopes'> &
  Pick<Row<'grants'>, 'salt' | 'scopes' | 'created_at' | 'code_expires_at' | 'removable_on'>;

const insertGrant = preparedQuery((db, grant: GrantRow) => {
  const { id, salt, scopes, created_at, code_expires_at, removable_on } = grant;
  const parties = { app_id: grant.appId, user_id: grant.userId, business_id: grant.businessId };
  const asked = { redirect_uri: grant.redirectUri, code_challenge: grant.codeChallenge };
  return db
    .insertInto('grants')
    .values({ id, salt, ...parties, scopes, ...asked, created_at, code_expires_at, rotation: 0, removable_on })
    .onConflict((conflict) => conflict.column('id').doNothing());
});

/**
 * True for exactly one caller: the row itself decides who was first. What only an exchange needs is needed no more, and
 * a row that lives for years should be small.
 */
export async function markExchanged(db: Database, grantId: string, now: number): Promise<boolean> {
  const { numAffectedRows } = await markOnce(db, { id: grantId, exchanged_at: now, ...rotatedNow(now) });
  return numAffectedRows === 1n;
}

const markOnce = preparedQuery(
  (db, { id, exchanged_at, rotated_at, refresh_expires_at, removable_on }: Omit<Move, 'from' | 'to'>) =>
    db
      .updateTable('grants')
      .set({ exchanged_at, rotated_at, refresh_expires_at, removable_on, redirect_uri: null, code_challenge: null })
      .where('id', '=', id)
      .where('exchanged_at', 'is', null)
      .where('revoked_at', 'is', null),
);

/**
 * Moves the row from the rotation it was read at to the one after the token's; true for exactly one caller. The token
 * may be ahead of the row when the database lost a commit: then this also catches up, and the client notices nothing.
 */
export async function rotate(
  db: Database,
  { grant, spent }: { grant: Grant; spent: number },
  now: number,
): Promise<boolean> {
  const move: Move = {
    id: grant.id,
    from: grant.rotation,
    to: spent + 1,
    exchanged_at: grant.exchangedAt ?? now,
    ...rotatedNow(now),
  };
  const isSameDay = move.removable_on === grant.removableOn;
  const { numAffectedRows } = await (isSameDay ? moveWithinDay : moveOn)(db, move);
  return numAffectedRows === 1n;
}

interface Move extends ReturnType<typeof rotatedNow> {
  id: string;
  from: number;
  to: number;
  exchanged_at: number;
}

const moveOn = preparedQuery((db, move: Move) => updateRotation(db, move).set({ removable_on: move.removable_on }));

/** SQLite writes to the index of a column that is set, even to what it was; most refreshes are of the same day as the last. */
const moveWithinDay = preparedQuery((db, move: Move) => updateRotation(db, move));

function updateRotation(db: Database, { id, from, to, exchanged_at, rotated_at, refresh_expires_at }: Move) {
  return db
    .updateTable('grants')
    .set({ rotation: to, exchanged_at, rotated_at, refresh_expires_at })
    .where('id', '=', id)
    .where('rotation', '=', from)
    .where('revoked_at', 'is', null);
}

/** An access token of this rotation has been used. Changes nothing if the row says so already. */
export async function markUsed(db: Database, use: Pick<Grant, 'id' | 'rotation'>): Promise<void> {
  await updateUsed(db, use);
}

const updateUsed = preparedQuery((db, { id, rotation }: Pick<Grant, 'id' | 'rotation'>) =>
  db.updateTable('grants').set({ used_rotation: rotation }).where('id', '=', id).where('used_rotation', '<', rotation),
);

/** Ends every token of the grant. A grant that is dead already keeps its first reason. */
export async function revokeGrant(storage: Storage, grantId: string, reason: GrantReason, now: number): Promise<void> {
  await storage.transaction((db) => endGrant(db, grantId, reason, now));
}

/** The same in a transaction. True for exactly one caller. */
export async function endGrant(db: Database, grantId: string, reason: GrantReason, now: number): Promise<boolean> {
  const { rows } = await endOne(db, { grantId, reason, now });
  if (rows[0]) await recordEvent(db, endingOf(rows[0], reason), now);
  return rows.length > 0;
}

const endOne = preparedQuery((db, { grantId, reason, now }: { grantId: string; reason: GrantReason; now: number }) =>
  updateEnded(db, { reason, now }).where('id', '=', grantId),
);

/** Some of those that nobody has ended, whosever they are; says how many. Needs a transaction. */
export async function endSomeGrants(db: Database, limit: number, reason: GrantReason, now: number): Promise<number> {
  return (await endGrants(db, selectUnrevoked(db).limit(limit), reason, now)).length;
}

/** Ends all that a user allowed, in one business or in all of them. */
export async function revokeGrantsOfUser(
  db: Database,
  { userId, businessId, reason }: Pick<Grant, 'userId'> & { businessId?: string; reason: GrantReason },
  now: number,
): Promise<void> {
  const theirs = selectUnrevoked(db).where('user_id', '=', userId);
  await endGrants(db, businessId ? theirs.where('business_id', '=', businessId) : theirs, reason, now);
}

/** Ends all that there is between these. Gives the users whose it was. */
export async function revokeGrantsBetween(
  db: Database,
  parties: GrantParties,
  reason: GrantReason,
  now: number,
): Promise<string[]> {
  return endGrants(db, selectBetween(db, parties).where('revoked_at', 'is', null), reason, now);
}

async function endGrants(db: Database, grants: ReturnType<typeof selectUnrevoked>, reason: GrantReason, now: number) {
  const ended = await updateEnded(db, { reason, now }).where('id', 'in', grants).execute();
  const events = ended.map((grant) => endingOf(grant, reason));
  await recordEvents(db, events, now);
  return ended.map(({ userId }) => userId);
}

function updateEnded(db: Database, { reason, now }: { reason: GrantReason; now: number }) {
  return db
    .updateTable('grants')
    .set({ revoked_at: now, revoked_reason: reason })
    .where('revoked_at', 'is', null)
    .returning(['id as grantId', 'app_id as appId', 'business_id as businessId', 'user_id as userId']);
}

type Ended = Pick<Grant, 'appId' | 'businessId' | 'userId'> & { grantId: string };

function endingOf({ grantId, userId, ...audience }: Ended, reason: GrantReason) {
  return { type: 'grant.revoked' as const, ...audience, data: { grantId, userId, reason } };
}

/**
 * Says of grants that nobody has used for long that they are about to end. Needs a transaction. They are found by the
 * day on which they could be removed, so one that is in use is never even looked at.
 */
export async function warnOfExpiring(db: Database, limit: number, now: number): Promise<number> {
  const expiring = await selectLiveGrants(db, now)
    .select('id')
    .where('removable_on', '<=', removableOn(now + WARNED_BEFORE))
    .where('refresh_expires_at', '<=', now + WARNED_BEFORE)
    .where(({ eb, or, ref }) => or([eb('warned_at', 'is', null), eb('warned_at', '<=', ref('rotated_at'))]))
    .limit(limit)
    .forUpdate()
    .skipLocked()
    .execute();
  if (expiring.length === 0) return 0;
  const ids = expiring.map(({ id }) => id);
  const warned = await db.updateTable('grants').set({ warned_at: now }).where('id', 'in', ids).returningAll().execute();
  for (const { id: grantId, app_id: appId, business_id: businessId, user_id: userId, refresh_expires_at } of warned) {
    const expiresAt = new Date(refresh_expires_at ?? now).toISOString();
    await recordEvent(db, { type: 'grant.expiring', appId, businessId, data: { grantId, userId, expiresAt } }, now);
  }
  return warned.length;
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
