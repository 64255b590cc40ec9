import { setImmediate } from 'node:timers/promises';
import { removeSpentChallenges } from './accounts/challenges.ts';
import { removeOldInvitations } from './accounts/invitations.ts';
import { removeExpiredSessions } from './accounts/sessions.ts';
import { removeOldRepeats } from './audit/act-repeats.ts';
import { removeOldActs } from './audit/acts.ts';
import { removeOldEvents } from './events/events.ts';
import { removeDeadGrants, warnOfExpiring } from './grants/grants.ts';
import { type Clock, DAY, HOUR, MINUTE, monotonicClock, SECOND } from './lib/clock.ts';
import { removeExpiredRevocations } from './oauth/revoke.ts';
import { removeOldRequests } from './request-log/logged-requests.ts';
import { removeOldCounts } from './request-log/request-counts.ts';
import { removeOldScopeUses } from './request-log/scope-uses.ts';
import { newPlausibleClock } from './storage/plausible-clock.ts';
import { removeExpiredCounters } from './storage/rate-limits.ts';
import type { Database, Storage } from './storage/storage.ts';
import type { CleanedTable, CleaningMeter } from './telemetry/cleaning.ts';
import { removeOldAttempts, removeOldDeliveries } from './webhooks/deliveries.ts';

const EVERY = 5 * SECOND;
const WARN_EVERY = 10 * MINUTE;
const BATCH = 500;
/** Each of a few milliseconds; more of them wait for the next pass. */
const RELEASES = 64;

type Removal = (db: Database, limit: number, now: number) => Promise<number>;

/** Each removes at most so many rows that no longer matter, found by an index, and says how many it removed. */
const REMOVALS: Record<Exclude<CleanedTable, 'audit_entries'>, Removal> = {
  audit_repeats: removeOldRepeats,
  grants: removeDeadGrants,
  revoked_access_tokens: removeExpiredRevocations,
  sessions: removeExpiredSessions,
  invitations: removeOldInvitations,
  used_challenges: removeSpentChallenges,
  events: removeOldEvents,
  deliveries: removeOldDeliveries,
  attempts: removeOldAttempts,
  logged_requests: removeOldRequests,
  request_counts: removeOldCounts,
  scope_uses: removeOldScopeUses,
  rate_limits: removeExpiredCounters,
};

interface Watch {
  goesOn(): boolean;
  removed(table: CleanedTable, rows: number): void;
  /** How long entries of the audit log are kept, in milliseconds; undefined for ever. */
  auditRetention: number | undefined;
}

const ALONE: Watch = { goesOn: () => true, removed() {}, auditRetention: undefined };

/** Batch after batch until nothing is left; between two of them everyone else has their turn at the database. */
export async function cleanUp(
  db: Database,
  now: number,
  { goesOn, removed, auditRetention }: Watch = ALONE,
): Promise<void> {
  for (const [table, remove] of Object.entries(removalsFor(auditRetention)) as [CleanedTable, Removal][]) {
    for (let rows = BATCH; rows === BATCH && goesOn(); await setImmediate()) {
      rows = await remove(db, BATCH, now);
      removed(table, rows);
    }
  }
}

function removalsFor(auditRetention: number | undefined): Partial<Record<CleanedTable, Removal>> {
  if (auditRetention === undefined) return REMOVALS;
  return { ...REMOVALS, audit_entries: (db, limit, now) => removeOldActs(db, limit, now - auditRetention) };
}

/** Before a grant that nobody uses is cleaned up, its app hears of it. */
async function warnOfAllExpiring(storage: Storage, now: number, goesOn: () => boolean): Promise<void> {
  while (goesOn() && (await storage.transaction((db) => warnOfExpiring(db, BATCH, now))) === BATCH)
    await setImmediate();
}

/** Removed rows leave free pages in an SQLite file. */
async function releaseFreePages(storage: Storage, goesOn: () => boolean): Promise<void> {
  for (let i = 0; i < RELEASES && goesOn() && (await storage.releaseFreePages?.()); i++) await setImmediate();
}

interface CleaningOptions {
  report(error: unknown): void;
  warn(message: string): void;
  cleaning: CleaningMeter;
  auditRetention: number | undefined;
}

/** A little at a time, for as long as the server runs. Returns how to stop. */
export function keepClean(storage: Storage, clock: Clock, options: CleaningOptions): () => Promise<void> {
  const { report, cleaning, auditRetention } = options;
  const readPlausibleTime = newPlausibleClock(storage.relaxed, clock);
  const reportJump = newJumpReport(options);
  let warnedAt = Number.NEGATIVE_INFINITY;
  let work: Promise<void> | undefined;
  let isStopped = false;
  const begin = (task: () => Promise<unknown>) => {
    work ??= task()
      .then(() => {}, report)
      .finally(() => {
        work = undefined;
      });
  };
  const checkClock = async () => {
    const plausible = await readPlausibleTime();
    reportJump(plausible.jump);
    return plausible;
  };
  const round = async () => {
    const { time, jump } = await checkClock();
    await cleanUp(storage.durable, time, { goesOn: () => !isStopped, removed: cleaning.removed, auditRetention });
    cleaning.finished(clock());
    await releaseFreePages(storage, () => !isStopped);
    if (jump > 0 || monotonicClock() - warnedAt < WARN_EVERY) return;
    warnedAt = monotonicClock();
    await warnOfAllExpiring(storage, time, () => !isStopped);
  };
  // At once: from the first moment on there is a reading by which to judge the clock.
  begin(checkClock);
  const timer = setInterval(() => begin(round), EVERY);
  timer.unref();
  return async () => {
    isStopped = true;
    clearInterval(timer);
    await work;
  };
}

/** In the metrics at once, and in the log every hour for as long as it lasts. */
function newJumpReport({ warn, cleaning }: CleaningOptions): (jump: number) => void {
  let reportedAt = Number.NEGATIVE_INFINITY;
  return (jump) => {
    cleaning.noteClockJump(jump);
    if (jump === 0) reportedAt = Number.NEGATIVE_INFINITY;
    else if (monotonicClock() - reportedAt >= HOUR) {
      reportedAt = monotonicClock();
      const days = (jump / DAY).toFixed(1);
      warn(
        `The clock is ${days} days ahead of what is plausible, so nothing is removed because of it. Set the clock right. If it is right, and the server was off, run: gatehouse clock confirm`,
      );
    }
  };
}
