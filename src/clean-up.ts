import { setImmediate } from 'node:timers/promises';
import { removeSpentChallenges } from './accounts/challenges.ts';
import { removeOldInvitations } from './accounts/invitations.ts';
import { removeExpiredSessions } from './accounts/sessions.ts';
import { removeOldRequests } from './activity/logged-requests.ts';
import { removeOldCounts } from './activity/request-counts.ts';
import { removeOldScopeUses } from './activity/scope-uses.ts';
import { removeOldEvents } from './events/events.ts';
import { type Clock, MINUTE, SECOND } from './lib/clock.ts';
import { removeDeadGrants, warnOfExpiring } from './oauth/grants.ts';
import { removeExpiredRevocations } from './oauth/revoked-access-tokens.ts';
import { removeExpiredCounters } from './storage/rate-limits.ts';
import type { Database, Storage } from './storage/storage.ts';
import { removeOldAttempts, removeOldDeliveries } from './webhooks/deliveries.ts';

const EVERY = 5 * SECOND;
const WARN_EVERY = 10 * MINUTE;
const BATCH = 500;

/** Each removes at most so many rows that no longer matter, found by an index, and says how many it removed. */
const REMOVALS = [
  removeDeadGrants,
  removeExpiredRevocations,
  removeExpiredSessions,
  removeOldInvitations,
  removeSpentChallenges,
  removeOldEvents,
  removeOldDeliveries,
  removeOldAttempts,
  removeOldRequests,
  removeOldCounts,
  removeOldScopeUses,
  removeExpiredCounters,
];

/** Batch after batch until nothing is left; between two of them everyone else has their turn at the database. */
export async function cleanUp(db: Database, now: number, goesOn: () => boolean = () => true): Promise<void> {
  for (const remove of REMOVALS) {
    while (goesOn() && (await remove(db, BATCH, now)) === BATCH) await setImmediate();
  }
}

/** Before a grant that nobody uses is cleaned up, its app hears of it. */
async function warnOfAllExpiring(storage: Storage, now: number, goesOn: () => boolean): Promise<void> {
  while (goesOn() && (await storage.atomically((db) => warnOfExpiring(db, BATCH, now))) === BATCH) await setImmediate();
}

/** A little at a time, for as long as the server runs. Returns how to stop. */
export function keepClean(storage: Storage, clock: Clock, report: (error: unknown) => void): () => Promise<void> {
  let warnedAt = Number.NEGATIVE_INFINITY;
  let work: Promise<void> | undefined;
  let isStopped = false;
  const timer = setInterval(() => {
    work ??= (async () => {
      await cleanUp(storage.durable, clock(), () => !isStopped);
      if (clock() - warnedAt < WARN_EVERY) return;
      warnedAt = clock();
      await warnOfAllExpiring(storage, clock(), () => !isStopped);
    })()
      .catch(report)
      .finally(() => {
        work = undefined;
      });
  }, EVERY);
  timer.unref();
  return async () => {
    isStopped = true;
    clearInterval(timer);
    await work;
  };
}
