import type { InactiveReason } from '../http/errors.ts';
import { type Database, inTransaction } from '../storage/storage.ts';
import { revokeGrants } from './grants.ts';
import { type Grant, type GrantParties, selectBetween, selectUnrevoked } from './status.ts';

const REVOKE_BATCH = 500;

/** In batches, each with its own transaction. Returns how many there were. */
export async function revokeEveryGrant(db: Database, reason: InactiveReason, now: number): Promise<number> {
  let total = 0;
  for (let count = REVOKE_BATCH; count === REVOKE_BATCH; total += count) {
    const batch = selectUnrevoked(db).limit(REVOKE_BATCH);
    count = (await inTransaction(db, (tx) => revokeGrants(tx, batch, reason, now))).length;
  }
  return total;
}

/** Needs a transaction. In one business or in all. */
export async function revokeGrantsOfUser(
  db: Database,
  { userId, businessId, reason }: Pick<Grant, 'userId'> & { businessId?: string; reason: InactiveReason },
  now: number,
): Promise<void> {
  const grants = selectUnrevoked(db).where('user_id', '=', userId);
  await revokeGrants(db, businessId ? grants.where('business_id', '=', businessId) : grants, reason, now);
}

/** Needs a transaction. Returns the users who had allowed the app. */
export async function revokeGrantsBetween(
  db: Database,
  parties: GrantParties,
  reason: InactiveReason,
  now: number,
): Promise<string[]> {
  return revokeGrants(db, selectBetween(db, parties).where('revoked_at', 'is', null), reason, now);
}
