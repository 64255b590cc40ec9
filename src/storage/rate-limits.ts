import { systemClock } from '../lib/clock.ts';
import type { Database } from './storage.ts';

/** What the nodes count together is forgotten when its window is over. These windows run on the real clock. */
export async function removeExpiredCounters(db: Database, limit: number): Promise<number> {
  const now = systemClock();
  const expired = db.selectFrom('rate_limits').select('key').where('expire', '<', now).orderBy('expire').limit(limit);
  // Asked twice: what was renewed while this waited for it has to stay.
  const result = await db
    .deleteFrom('rate_limits')
    .where('key', 'in', expired)
    .where('expire', '<', now)
    .executeTakeFirst();
  return Number(result.numDeletedRows);
}
