import { type RateLimiterAbstract, RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { SECOND } from './clock.ts';
import { TooManyRequests } from './errors.ts';
import { sha256 } from './secrets.ts';

export interface RateLimit {
  /** Counts first and decides by the count, so that parallel requests cannot exceed the limit. */
  count(key: string): Promise<void>;
  /** Throws if this node knows that the limit is reached. Counts nothing. */
  check(key: string): Promise<void>;
  /** Undoes one count, for an attempt that succeeded. */
  refund(key: string): Promise<void>;
  reset(key: string): Promise<void>;
}

/** A counter that several processes share. */
export type SharedCounter = Pick<RateLimiterAbstract, 'consume' | 'reward' | 'delete'>;

/** Limits smaller than this are exact across all nodes. */
const EXACT_BELOW = 1000;

interface Limit {
  points: number;
  seconds: number;
  /** What it counts, for the error: `requests of this app`. */
  counted?: string | undefined;
  shared?: SharedCounter | undefined;
  onReject?: () => void;
}

/**
 * A fixed window from the first attempt, never extended.
 *
 * A shared counter makes the limit hold across nodes. Small limits write to it for each request. For large limits a node
 * reports in batches of one hundredth of the limit: few writes, and an error of at most one hundredth per node.
 */
export function createRateLimit({ points, seconds, counted, shared, onReject }: Limit): RateLimit {
  const batch = points < EXACT_BELOW ? 1 : Math.floor(points / 100);
  const counter = shared ? inBatches(withHashedKeys(shared), batch, seconds) : createCounter({ points, seconds });
  const reached = createCounter({ points, seconds });
  // At least a second: the library takes a block of 0 seconds as endless.
  const block = (key: string, { msBeforeNext }: RateLimiterRes) =>
    reached.block(key, Math.max(1, Math.ceil(msBeforeNext / SECOND)));

  function reject({ msBeforeNext }: RateLimiterRes): never {
    onReject?.();
    throw new TooManyRequests(Math.max(1, Math.ceil(msBeforeNext / SECOND)), counted);
  }

  async function check(key: string): Promise<void> {
    const used = await reached.get(key);
    if (used && used.consumedPoints >= points) reject(used);
  }

  return {
    check,
    async count(key) {
      // Without a shared counter, `consume` checks the same.
      if (shared) await check(key);
      try {
        const used = await counter.consume(key);
        if (used && used.consumedPoints >= points) await block(key, used);
      } catch (reason) {
        if (!(reason instanceof RateLimiterRes)) throw reason;
        await block(key, reason);
        reject(reason);
      }
    },
    async refund(key) {
      await Promise.all([counter.reward(key), reached.delete(key)]);
    },
    async reset(key) {
      await Promise.all([counter.delete(key), reached.delete(key)]);
    },
  };
}

/** In the memory of this process. */
function createCounter({ points, seconds }: Limit): RateLimiterMemory {
  return new RateLimiterMemory({ points, duration: seconds, keyPrefix: '' });
}

/** Keys hold email and IP addresses, which the database must not store. */
function withHashedKeys(shared: SharedCounter) {
  return {
    consume: (key: string, points?: number) => shared.consume(sha256(key), points),
    reward: (key: string) => shared.reward(sha256(key)),
    delete: (key: string) => shared.delete(sha256(key)),
  };
}

/** Counts locally, and adds each full batch to the shared counter. Undefined in between. */
function inBatches(shared: ReturnType<typeof withHashedKeys>, batch: number, seconds: number) {
  if (batch === 1) return shared;
  const local = createCounter({ points: Number.MAX_SAFE_INTEGER, seconds });
  return {
    async consume(key: string): Promise<RateLimiterRes | undefined> {
      const { consumedPoints } = await local.consume(key);
      return consumedPoints % batch === 0 ? shared.consume(key, batch) : undefined;
    },
    // Reported batches cannot be undone, and a single count does not matter.
    reward: async () => {},
    delete: (key: string) => local.delete(key),
  };
}
