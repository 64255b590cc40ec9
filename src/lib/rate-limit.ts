import { type RateLimiterAbstract, RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { SECOND } from './clock.ts';
import { TooManyRequests } from './errors.ts';
import { sha256 } from './secrets.ts';

export interface RateLimit {
  /** Counts first and decides by the count, so that parallel attempts cannot slip through together. */
  count(key: string): Promise<void>;
  /** Refuses if this node knows the limit to be reached, and counts nothing. */
  check(key: string): Promise<void>;
  /** Takes one back, for an attempt that turned out well. */
  giveBack(key: string): Promise<void>;
  forget(key: string): Promise<void>;
}

/** What counts for several processes at once. */
export type SharedCounter = Pick<RateLimiterAbstract, 'consume' | 'reward' | 'delete'>;

/** A limit smaller than this is counted to the letter, across all nodes. */
const EXACT_BELOW = 1000;

interface Limit {
  points: number;
  seconds: number;
  /** Counts for other processes, too. */
  shared?: SharedCounter | undefined;
  /** Hears of each refusal. */
  onRefusal?: () => void;
}

/**
 * The window runs from the first attempt and is never extended, so no one is locked out for good.
 *
 * A shared counter makes the limit hold across nodes. Small limits are counted there one by one. Of large ones a node
 * reports only every hundredth part: so a busy app costs a write now and then, a quiet one none at all, and the limit
 * is held to within one hundredth for each node.
 */
export function newRateLimit({ points, seconds, shared, onRefusal }: Limit): RateLimit {
  const step = points < EXACT_BELOW ? 1 : Math.floor(points / 100);
  const counter = shared ? inSteps(hidingKeys(shared), step, seconds) : newCounter({ points, seconds });
  const reached = newCounter({ points, seconds });
  // At least a second: to the library, a block of no time at all is one without end.
  const close = (key: string, { msBeforeNext }: RateLimiterRes) =>
    reached.block(key, Math.max(1, Math.ceil(msBeforeNext / SECOND)));

  function refuse({ msBeforeNext }: RateLimiterRes): never {
    onRefusal?.();
    throw new TooManyRequests(Math.max(1, Math.ceil(msBeforeNext / SECOND)));
  }

  async function check(key: string): Promise<void> {
    const used = await reached.get(key);
    if (used && used.consumedPoints >= points) refuse(used);
  }

  return {
    check,
    async count(key) {
      // A counter of this process's own knows as much.
      if (shared) await check(key);
      try {
        const used = await counter.consume(key);
        if (used && used.consumedPoints >= points) await close(key, used);
      } catch (reason) {
        if (!(reason instanceof RateLimiterRes)) throw reason;
        await close(key, reason);
        refuse(reason);
      }
    },
    async giveBack(key) {
      await Promise.all([counter.reward(key), reached.delete(key)]);
    },
    async forget(key) {
      await Promise.all([counter.delete(key), reached.delete(key)]);
    },
  };
}

/** Of this process alone. Each has its keys to itself, so nothing stands before them. */
function newCounter({ points, seconds }: Limit): RateLimiterMemory {
  return new RateLimiterMemory({ points, duration: seconds, keyPrefix: '' });
}

/** What leaves this process is unreadable. */
function hidingKeys(shared: SharedCounter) {
  return {
    consume: (key: string, points?: number) => shared.consume(sha256(key), points),
    reward: (key: string) => shared.reward(sha256(key)),
    delete: (key: string) => shared.delete(sha256(key)),
  };
}

/** Counts here, and tells the shared counter of every full step; what it answers in between is unknown. */
function inSteps(shared: ReturnType<typeof hidingKeys>, step: number, seconds: number) {
  if (step === 1) return shared;
  const local = newCounter({ points: Number.MAX_SAFE_INTEGER, seconds });
  return {
    async consume(key: string): Promise<RateLimiterRes | undefined> {
      const { consumedPoints } = await local.consume(key);
      return consumedPoints % step === 0 ? shared.consume(key, step) : undefined;
    },
    // What was reported cannot be told apart any more, and one in so many does not matter.
    reward: async () => {},
    delete: (key: string) => local.delete(key),
  };
}
