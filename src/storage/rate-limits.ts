import { RateLimiterRes } from 'rate-limiter-flexible';
import { SECOND, systemClock } from '../lib/clock.ts';
import type { SharedCounter } from '../lib/rate-limit.ts';
import type { Database } from './storage.ts';

/**
 * Counts in the table, for processes that share it and no more than it. Each count is one statement, so that the row
 * decides who was the last to be let in.
 */
export function newTableCounter(
  db: Database,
  { name, points, seconds }: { name: string; points: number; seconds: number },
): SharedCounter {
  const ofKey = (key: string | number) => `${name}:${key}`;
  return {
    async consume(key, by = 1) {
      const now = systemClock();
      const used = await add(db, { key: ofKey(key), by, until: now + seconds * SECOND }, now);
      return used.consumedPoints > points ? Promise.reject(used) : used;
    },
    async reward(key, by = 1) {
      const now = systemClock();
      await db
        .updateTable('rate_limits')
        .set(({ eb }) => ({ points: eb('points', '-', by) }))
        .where('key', '=', ofKey(key))
        .where('points', '>=', by)
        .where('expire', '>', now)
        .execute();
      return new RateLimiterRes();
    },
    async delete(key) {
      const { numDeletedRows } = await db
        .deleteFrom('rate_limits')
        .where('key', '=', ofKey(key))
        .executeTakeFirstOrThrow();
      return numDeletedRows > 0n;
    },
  };
}

/** A window that is over begins anew; one that is not keeps its end. */
async function add(
  db: Database,
  { key, by, until }: { key: string; by: number; until: number },
  now: number,
): Promise<RateLimiterRes> {
  const { points, expire } = await db
    .insertInto('rate_limits')
    .values({ key, points: by, expire: until })
    .onConflict((conflict) =>
      conflict.column('key').doUpdateSet(({ eb, ref }) => {
        const isOver = eb('rate_limits.expire', '<=', now);
        const more = eb('rate_limits.points', '+', by);
        return {
          points: eb.case().when(isOver).then(by).else(more).end(),
          expire: eb.case().when(isOver).then(until).else(ref('rate_limits.expire')).end(),
        };
      }),
    )
    .returning(['points', 'expire'])
    .executeTakeFirstOrThrow();
  return new RateLimiterRes(0, Math.max(0, Number(expire) - now), points);
}

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
