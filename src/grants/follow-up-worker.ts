import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../lib/clock.ts';
import { type Polling, startPolling } from '../lib/polling.ts';
import type { Storage } from '../storage/storage.ts';
import { hasFollowUps, runFollowUp } from './follow-ups.ts';

/** Runs follow-ups in the background until it is stopped. */
export function startFollowUps(
  { storage, clock }: { storage: Storage; clock: Clock },
  report: (error: unknown) => void,
): Polling {
  return startPolling(async (isStopped) => {
    if (!(await hasFollowUps(storage.relaxed))) return false;
    // Other statements run in between.
    while (!isStopped() && (await runFollowUp(storage.durable, clock()))) await setImmediate();
    return false;
  }, report);
}
