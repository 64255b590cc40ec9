import { systemClock } from '../lib/clock.ts';
import type { Database } from './storage.ts';

/** What the nodes count together is forgotten when its window is over. These windows run on the real clock. */
export async function removeExpiredCounters(db: Database, limit: number): Promise<number> {
  const expired = db
    .selectFrom('rate_limits')
    .select('key')
    .where('expire', '<', systemClock())
    .orderBy('expire')
    .limit(limit);
  const result = await db.deleteFrom('rate_limits').where('key', 'in', expired).executeTakeFirst();
  return Number(result.numDeletedRows);
}
