import { setImmediate } from 'node:timers/promises';
import { type Clock, SECOND } from '../lib/clock.ts';
import type { Storage } from '../storage/storage.ts';
import { hasFollowUps, runFollowUp } from './follow-ups.ts';

const INTERVAL = SECOND / 2;

/** Runs follow-ups in the background until the returned function is called. */
export function startFollowUps(
  { storage, clock }: { storage: Storage; clock: Clock },
  report: (error: unknown) => void,
): () => Promise<void> {
  let running: Promise<void> | undefined;
  let isStopped = false;
  const work = async () => {
    if (!(await hasFollowUps(storage.relaxed))) return;
    // Other statements run in between.
    while (!isStopped && (await runFollowUp(storage.durable, clock()))) await setImmediate();
  };
  const timer = setInterval(() => {
    running ??= work()
      .catch(report)
      .finally(() => {
        running = undefined;
      });
  }, INTERVAL).unref();
  return async () => {
    isStopped = true;
    clearInterval(timer);
    await running;
  };
}
