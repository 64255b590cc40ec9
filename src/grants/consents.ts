import { formatScopes, parseScopes, type Scopes, scopesBeyond } from '../lib/scope-lists.ts';
import type { ConnectedFor } from '../storage/app-tables.ts';
import { batchedQuery } from '../storage/batched-query.ts';
import { preparedQuery } from '../storage/prepared-query.ts';
import { retentionStep } from '../storage/retention.ts';
import type { Database } from '../storage/storage.ts';
import type { Row } from '../storage/tables.ts';
import { currentStops, isStopOf, readCounters } from './stops.ts';

interface ConsentKey {
  userId: string;
  appId: string;
  businessId: string;
}

/** What a user has allowed an app in a business, kept until the user disconnects the app. */
export interface Consent {
  allowed: Scopes;
  /** Optional scopes that the user left out. */
  declined: Scopes;
  /** `user` by default. A connection for the business stays one until it is disconnected. */
  connectedFor?: ConnectedFor;
  /** When it no longer counts; null until the user disconnects the app. */
  expiresAt: number | null;
}

/**
 * A consent from before the current membership does not count: a member who left and came back sees the consent screen
 * again.
 */
export async function findConsent(db: Database, key: ConsentKey, now: number): Promise<Consent> {
  const { rows } = await readConsent(db, { ...key, now });
  return fromRow(rows[0]);
}

/** Needs a transaction: until it ends, the consent cannot be withdrawn. The lock is shared. */
export async function findConsentForShare(db: Database, key: ConsentKey, now: number): Promise<Consent> {
  const { rows } = await readConsentForShare(db, { ...key, now });
  return fromRow(rows[0]);
}

/** Needs a transaction: until it ends, the consent can be neither withdrawn nor changed. */
export async function findConsentForUpdate(db: Database, key: ConsentKey, now: number): Promise<Consent> {
  return fromRow(
    await selectConsent(db, { ...key, now })
      .forUpdate('consents')
      .executeTakeFirst(),
  );
}

type TimedKey = ConsentKey & { now: number };

const KEY_TYPES = { userId: 'uuid', appId: 'uuid', businessId: 'uuid', now: 'bigint' } as const;

const readConsent = batchedQuery(KEY_TYPES, selectConsent);
const readConsentForShare = preparedQuery((db, key: TimedKey) => selectConsent(db, key).forShare('consents'));

export function selectConsent(db: Database, { userId, appId, businessId, now }: TimedKey) {
  return selectConsents(db, now)
    .select(['consents.scopes', 'consents.declined', 'consents.connected_for', 'consents.expires_at'])
    .where('consents.user_id', '=', userId)
    .where('consents.app_id', '=', appId)
    .where('consents.business_id', '=', businessId);
}

/** Those that count. */
export function selectConsents(db: Database, now: number) {
  return db
    .selectFrom('consents')
    .innerJoin('memberships', (join) =>
      join
        .onRef('memberships.user_id', '=', 'consents.user_id')
        .onRef('memberships.business_id', '=', 'consents.business_id')
        .onRef('memberships.created_at', '<=', 'consents.allowed_at'),
    )
    .leftJoin('stops as pair_stop', (join) => join.on(isStopOf('pair_stop', 'consents')))
    .leftJoin('stops as user_stop', (join) => join.on(isStopOf('user_stop', 'consents')))
    .where('consents.stops', '=', currentStops(['pair_stop', 'user_stop']))
    .where(({ or, eb }) => or([eb('consents.expires_at', 'is', null), eb('consents.expires_at', '>', now)]));
}

type ConsentRow = Pick<Row<'consents'>, 'scopes' | 'declined' | 'connected_for' | 'expires_at'>;

function fromRow(row: ConsentRow | undefined): Consent {
  if (!row) return { allowed: [], declined: [], expiresAt: null };
  const { connected_for: connectedFor, expires_at: expiresAt } = row;
  return { allowed: parseScopes(row.scopes), declined: parseScopes(row.declined), connectedFor, expiresAt };
}

/** Needs a transaction. Adds to the earlier consent. */
export async function saveConsent(db: Database, key: ConsentKey, decision: Consent, now: number): Promise<void> {
  const { ofConsent: stops } = await readCounters(db, key);
  await changeConsent(db, key, { ...addDecision(await lockConsent(db, key, now), decision), stops }, now);
}

/** Needs a transaction, in which `readCounters` and then `lockConsent` were called. */
export async function changeConsent(
  db: Database,
  key: ConsentKey,
  consent: Consent & { stops: number; isExternal?: boolean },
  now: number,
): Promise<void> {
  const { allowed, declined, connectedFor = 'user', expiresAt, stops, isExternal } = consent;
  const scopes = { scopes: formatScopes(allowed), declined: formatScopes(declined) };
  await replaceConsent(db, { ...key, ...scopes, connectedFor, expiresAt, stops, isExternal: isExternal ? 1 : 0, now });
}

type Replacement = TimedKey &
  Pick<ConsentRow, 'scopes' | 'declined'> &
  Required<Pick<Consent, 'connectedFor' | 'expiresAt'>> & { stops: number; isExternal: number };

const replaceConsent = preparedQuery((db, replacement: Replacement) => {
  const { scopes, declined, stops, connectedFor: connected_for, isExternal: is_external } = replacement;
  const { now: allowed_at, expiresAt: expires_at } = replacement;
  return updateConsent(db, replacement).set({
    scopes,
    declined,
    connected_for,
    allowed_at,
    expires_at,
    stops,
    is_external,
  });
});

/** Where the two disagree, the newer decision counts. */
export function addDecision(before: Consent, { allowed, declined, connectedFor, expiresAt }: Consent): Consent {
  const decided = [...allowed, ...declined];
  return {
    connectedFor: before.connectedFor === 'business' ? 'business' : (connectedFor ?? 'user'),
    allowed: [...allowed, ...scopesBeyond(before.allowed, decided)],
    declined: [...declined, ...scopesBeyond(before.declined, decided)],
    expiresAt,
  };
}

/** Needs a transaction. Locks the row, or inserts an empty one: a caller that does not change it then has to roll back. */
export async function lockConsent(db: Database, key: ConsentKey, now: number): Promise<Consent> {
  const [, { rows }] = await Promise.all([insertOrLock(db, { ...key, now }), readConsent(db, { ...key, now })]);
  return fromRow(rows[0]);
}

const insertOrLock = preparedQuery((db, { userId, appId, businessId, now }: TimedKey) =>
  db
    .insertInto('consents')
    .values({ user_id: userId, app_id: appId, business_id: businessId, scopes: '', declined: '', allowed_at: now })
    .onConflict((conflict) =>
      conflict
        .columns(['user_id', 'app_id', 'business_id'])
        .doUpdateSet(({ ref }) => ({ scopes: ref('consents.scopes') })),
    ),
);

/** Needs a transaction, in which it locks the consent. Returns the scopes that it had. */
export async function withdrawFromConsent(
  db: Database,
  key: ConsentKey,
  withdrawn: Scopes,
  now: number,
): Promise<Scopes> {
  const { allowed } = await findConsentForUpdate(db, key, now);
  const left = scopesBeyond(allowed, withdrawn);
  if (left.length === allowed.length) return [];
  if (left.length === 0) await forgetConsents(db, key);
  else
    await updateConsent(db, key)
      .set({ scopes: formatScopes(left) })
      .execute();
  return scopesBeyond(allowed, left);
}

function updateConsent(db: Database, { userId, appId, businessId }: ConsentKey) {
  return db
    .updateTable('consents')
    .where('user_id', '=', userId)
    .where('app_id', '=', appId)
    .where('business_id', '=', businessId);
}

/** Needs a transaction. Of one user, or of everyone in the business. Returns the users. */
export async function forgetConsents(
  db: Database,
  { appId, businessId, userId }: Omit<ConsentKey, 'userId'> & { userId?: string | undefined },
): Promise<string[]> {
  const { rows } =
    userId === undefined
      ? await deleteOfEveryone(db, { appId, businessId })
      : await deleteOne(db, { appId, businessId, userId });
  return rows.map((forgotten) => forgotten.userId);
}

const deleteOfEveryone = preparedQuery(deleteConsents);
const deleteOne = preparedQuery((db, key: ConsentKey) => deleteConsents(db, key).where('user_id', '=', key.userId));

function deleteConsents(db: Database, { appId, businessId }: Omit<ConsentKey, 'userId'>) {
  return db
    .deleteFrom('consents')
    .where('business_id', '=', businessId)
    .where('app_id', '=', appId)
    .returning('user_id as userId');
}

/** Needs a transaction. At most `limit` of those that a stop has ended. Returns how many. */
export async function deleteEndedConsents(
  db: Database,
  { appId, businessId }: Omit<ConsentKey, 'userId'>,
  limit: number,
): Promise<number> {
  const ended = await db
    .selectFrom('consents')
    .leftJoin('stops as pair_stop', (join) => join.on(isStopOf('pair_stop', 'consents')))
    .leftJoin('stops as user_stop', (join) => join.on(isStopOf('user_stop', 'consents')))
    .select(['consents.user_id', 'consents.stops'])
    .where('consents.business_id', '=', businessId)
    .where('consents.app_id', '=', appId)
    .where('consents.stops', '!=', currentStops(['pair_stop', 'user_stop']))
    .limit(limit)
    .execute();
  if (ended.length === 0) return 0;
  // A user who allows the app again in the meantime keeps the new consent.
  for (const [stops, same] of Map.groupBy(ended, (consent) => consent.stops)) {
    const users = same.map(({ user_id }) => user_id);
    await deleteConsents(db, { appId, businessId }).where('stops', '=', stops).where('user_id', 'in', users).execute();
  }
  return ended.length;
}

export async function forgetEveryConsent(db: Database): Promise<number> {
  const { numDeletedRows } = await db.deleteFrom('consents').executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}

export async function forgetConsentsOfMember(
  db: Database,
  { userId, businessId }: Pick<ConsentKey, 'userId' | 'businessId'>,
): Promise<void> {
  await db.deleteFrom('consents').where('user_id', '=', userId).where('business_id', '=', businessId).execute();
}

export async function forgetConsentsOfUser(db: Database, userId: string): Promise<void> {
  await db.deleteFrom('consents').where('user_id', '=', userId).execute();
}

export const expiredConsents = retentionStep(
  'consents',
  ['user_id', 'app_id', 'business_id'],
  'expires_at',
  (now) => now,
);
