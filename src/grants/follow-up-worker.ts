import { type Clock, monotonicClock } from '../lib/clock.ts';
import { type Polling, pauseFor, startPolling } from '../lib/polling.ts';
import type { Storage } from '../storage/storage.ts';
import { hasFollowUps, runFollowUp } from './follow-ups.ts';

/** Runs follow-ups in the background until it is stopped. */
export function startFollowUps(
  { storage, clock }: { storage: Storage; clock: Clock },
  report: (error: unknown) => void,
): Polling {
  const failed = new Set<string>();
  return startPolling(async (isStopped) => {
    if (!(await hasFollowUps(storage.relaxed))) return false;
    while (!isStopped()) {
      const startedAt = monotonicClock();
      if (!(await runFollowUp(storage.durable, clock(), failed))) break;
      await pauseFor(monotonicClock() - startedAt);
    }
    // The next poll tries them again.
    failed.clear();
    return false;
  }, report);
}
