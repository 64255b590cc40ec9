import { DAY } from '../lib/clock.ts';
import { formatScopes, parseScopes, type Scopes } from '../lib/scope-lists.ts';
import { retentionStep } from '../storage/retention.ts';
import type { Database } from '../storage/storage.ts';
import type { ConnectionKey } from './connection-rows.ts';

/** An owner was asked to become responsible for a connection of the business, and has not answered yet. */
export interface Handover extends ConnectionKey {
  /** The owner who was asked. */
  to: string;
  /** What they were asked to be responsible for. */
  scopes: Scopes;
  expiresAt: number;
}

const WAITS_FOR = 7 * DAY;

/** Needs a transaction. Replaces an earlier one. */
export async function saveHandover(
  tx: Database,
  { to, scopes, ...key }: Omit<Handover, 'expiresAt'>,
  now: number,
): Promise<void> {
  const row = { to_user_id: to, scopes: formatScopes(scopes), offered_at: now };
  await tx
    .insertInto('handovers')
    .values({ ...columnsOf(key), ...row })
    .onConflict((conflict) => conflict.columns(['business_id', 'app_id', 'user_id']).doUpdateSet(row))
    .execute();
}

export async function findHandover(db: Database, key: ConnectionKey, now: number): Promise<Handover | undefined> {
  const row = await db
    .selectFrom('handovers')
    .selectAll()
    .where(({ and }) => and(columnsOf(key)))
    .where('offered_at', '>', now - WAITS_FOR)
    .executeTakeFirst();
  if (!row) return undefined;
  const { to_user_id: to, scopes, offered_at: offeredAt } = row;
  const { appId, businessId, userId } = key;
  return { appId, businessId, userId, to, scopes: parseScopes(scopes), expiresAt: offeredAt + WAITS_FOR };
}

/** Needs a transaction. */
export async function deleteHandover(tx: Database, key: ConnectionKey): Promise<void> {
  await tx
    .deleteFrom('handovers')
    .where(({ and }) => and(columnsOf(key)))
    .execute();
}

/** Needs a transaction. Those of a member who leaves, or is no longer an owner: their own, and those that wait for them. */
export async function deleteHandoversOfMember(
  tx: Database,
  { userId, businessId }: Pick<ConnectionKey, 'userId' | 'businessId'>,
): Promise<void> {
  await tx
    .deleteFrom('handovers')
    .where('business_id', '=', businessId)
    .where(({ or, eb }) => or([eb('user_id', '=', userId), eb('to_user_id', '=', userId)]))
    .execute();
}

function columnsOf({ businessId, appId, userId }: ConnectionKey) {
  return { business_id: businessId, app_id: appId, user_id: userId };
}

export const oldHandovers = retentionStep(
  'handovers',
  ['business_id', 'app_id', 'user_id'],
  'offered_at',
  (now) => now - WAITS_FOR,
);
