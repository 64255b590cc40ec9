import { setImmediate } from 'node:timers/promises';
import { removeExpiredSessions } from './accounts/sessions.ts';
import { removeOldEvents } from './events/events.ts';
import { type Clock, SECOND } from './lib/clock.ts';
import { removeDeadGrants } from './oauth/grants.ts';
import { removeExpiredRevocations } from './oauth/revoked-access-tokens.ts';
import { removeExpiredCounters } from './storage/rate-limits.ts';
import type { Database } from './storage/storage.ts';

const EVERY = 5 * SECOND;
const BATCH = 500;

/** Each removes at most so many rows that no longer matter, found by an index, and says how many it removed. */
const REMOVALS = [
  removeDeadGrants,
  removeExpiredRevocations,
  removeExpiredSessions,
  removeOldEvents,
  removeExpiredCounters,
];

/** Batch after batch until nothing is left; between two of them everyone else has their turn at the database. */
export async function cleanUp(db: Database, now: number): Promise<void> {
  for (const remove of REMOVALS) {
    while ((await remove(db, BATCH, now)) === BATCH) await setImmediate();
  }
}

/** A little at a time, for as long as the server runs. Returns how to stop. */
export function keepClean(db: Database, clock: Clock, report: (error: unknown) => void): () => Promise<void> {
  let work = Promise.resolve();
  const timer = setInterval(() => {
    work = work.then(() => cleanUp(db, clock())).catch(report);
  }, EVERY);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await work;
  };
}
