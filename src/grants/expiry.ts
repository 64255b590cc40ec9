import { recordEvent } from '../events/events.ts';
import { DAY } from '../lib/clock.ts';
import type { Database } from '../storage/storage.ts';
import { markWarned } from './grants.ts';
import { removableOn } from './lifetimes.ts';
import { revokeGrants } from './revocation.ts';
import { needsWarning, SUSPENSIONS, selectLiveGrants, selectUnrevoked } from './status.ts';

/** How long before an unused grant expires its app gets an event. */
const EXPIRY_NOTICE = 3 * DAY;

/**
 * Needs a transaction. Ends the grants whose time is over and records the events. Returns how many were found: another
 * node may end some of them first.
 */
export async function endExpiredGrants(db: Database, limit: number, now: number): Promise<number> {
  const expired = await selectUnrevoked(db).where('expires_at', '<=', now).orderBy('expires_at').limit(limit).execute();
  if (expired.length === 0) return 0;
  const ids = expired.map(({ id }) => id);
  await revokeGrants(db, selectUnrevoked(db).where('id', 'in', ids), 'grant_expired', now);
  return ids.length;
}

/**
 * Needs a transaction. Records an event for unused grants that are about to expire. `removable_on` has an index, so the
 * query reads no grant that is in use.
 */
export async function warnOfExpiring(db: Database, limit: number, now: number): Promise<number> {
  const until = now + EXPIRY_NOTICE;
  const expiring = await selectLiveGrants(db, now, { even: SUSPENSIONS })
    .select('grants.id')
    .where('grants.removable_on', '<=', removableOn(until))
    .where((grants) => needsWarning(grants, until))
    .limit(limit)
    .execute();
  if (expiring.length === 0) return 0;
  const ids = expiring.map(({ id }) => id);
  const warned = await markWarned(db, { ids, until }, now);
  for (const { id: grantId, app_id: appId, business_id: businessId, user_id: userId, refresh_expires_at } of warned) {
    const expiresAt = new Date(refresh_expires_at ?? now).toISOString();
    await recordEvent(db, { type: 'grant.expiring', appId, businessId, data: { grantId, userId, expiresAt } }, now);
  }
  return expiring.length;
}
