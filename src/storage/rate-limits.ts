import { RateLimiterRes } from 'rate-limiter-flexible';
import { SECOND, systemClock } from '../lib/clock.ts';
import type { SharedCounter } from '../lib/rate-limit.ts';
import { retentionStep } from './retention.ts';
import type { CounterLimit, Database } from './storage.ts';

/** For processes that share nothing but the database. Each count is one statement, so that it is atomic. */
export function createTableCounter(db: Database, { name, points, seconds }: CounterLimit): SharedCounter {
  const keyOf = (key: string | number) => `${name}:${key}`;
  return {
    async consume(key, by = 1) {
      const now = systemClock();
      const used = await add(db, { key: keyOf(key), by, until: now + seconds * SECOND }, now);
      return used.consumedPoints > points ? Promise.reject(used) : used;
    },
    async reward(key, by = 1) {
      const now = systemClock();
      await db
        .updateTable('rate_limits')
        .set(({ eb }) => ({ points: eb('points', '-', by) }))
        .where('key', '=', keyOf(key))
        .where('points', '>=', by)
        .where('expire', '>', now)
        .execute();
      return new RateLimiterRes();
    },
    async delete(key) {
      const { numDeletedRows } = await db
        .deleteFrom('rate_limits')
        .where('key', '=', keyOf(key))
        .executeTakeFirstOrThrow();
      return numDeletedRows > 0n;
    },
  };
}

/** Starts a new window if the last one is over. */
async function add(
  db: Database,
  { key, by, until }: { key: string; by: number; until: number },
  now: number,
): Promise<RateLimiterRes> {
  const { points, expire } = await db
    .insertInto('rate_limits')
    .values({ key, points: by, expire: until })
    .onConflict((conflict) =>
      conflict.column('key').doUpdateSet(({ eb, ref, val }) => {
        const hasEnded = eb('rate_limits.expire', '<=', now);
        const more = eb('rate_limits.points', '+', by);
        return {
          points: eb.case().when(hasEnded).then(val(by)).else(more).end(),
          expire: eb.case().when(hasEnded).then(val(until)).else(ref('rate_limits.expire')).end(),
        };
      }),
    )
    .returning(['points', 'expire'])
    .executeTakeFirstOrThrow();
  return new RateLimiterRes(0, Math.max(0, Number(expire) - now), points);
}

/** Windows run on the system clock, as in `rate-limiter-flexible`. */
export const expiredCounters = retentionStep('rate_limits', ['key'], 'expire', systemClock);
