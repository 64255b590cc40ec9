import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { SECOND } from './clock.ts';
import { TooManyRequests } from './errors.ts';

export interface RateLimit {
  /** Counts first and decides by the count, so that parallel attempts cannot slip through together. */
  count(key: string): Promise<void>;
  /** Refuses if the limit is already reached, and counts nothing. */
  check(key: string): Promise<void>;
  /** Takes one back, for an attempt that turned out well. */
  giveBack(key: string): Promise<void>;
  forget(key: string): Promise<void>;
}

/** The window runs from the first attempt and is never extended, so no one is locked out for good. */
export function newRateLimit(points: number, seconds: number): RateLimit {
  const limiter = new RateLimiterMemory({ points, duration: seconds });
  return {
    async count(key) {
      await limiter.consume(key).catch(refuse);
    },
    async check(key) {
      const used = await limiter.get(key);
      if (used && used.consumedPoints >= points) refuse(used);
    },
    async giveBack(key) {
      await limiter.reward(key);
    },
    async forget(key) {
      await limiter.delete(key);
    },
  };
}

function refuse(reason: unknown): never {
  if (reason instanceof RateLimiterRes) throw new TooManyRequests(Math.ceil(reason.msBeforeNext / SECOND));
  throw reason;
}
