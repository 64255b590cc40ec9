import { type Clock, SECOND } from '../lib/clock.ts';
import { StorageUnavailable } from '../storage/errors.ts';
import type { Database, Storage } from '../storage/storage.ts';
import {
  type AnsweredRequest,
  type Batch,
  countRequests,
  emptyBatch,
  isEmpty,
  merge,
  noteRequest,
  requestsByApp,
} from './batch.ts';
import type { Involved } from './involved.ts';
import { addRequests, MOST_KEPT, trimRequests } from './logged-requests.ts';
import { addCounts } from './request-counts.ts';
import { addScopeUses } from './scope-uses.ts';

/** Remembers what apps ask for, so that people can see it. It is in nobody's way: nothing waits for it, and nothing fails by it. */
export interface Activity {
  /** Only what an app is known for is kept. */
  note(answered: AnsweredRequest, involved: Involved): void;
  /** Resolves when all that was noted before is stored, or could not be. */
  flush(): Promise<void>;
  /** How many requests and uses there was no room for, since it was opened. */
  dropped(): number;
  stop(): Promise<void>;
}

const FLUSHED_EVERY = 2 * SECOND;

/** After so many new rows, an app's oldest go. */
const TRIMMED_AFTER = MOST_KEPT / 2;

export function openActivity(storage: Storage, clock: Clock, report: (error: unknown) => void): Activity {
  const untrimmed = new Map<string, number>();
  let pending = emptyBatch();
  let last = Promise.resolve();
  let isBusy = false;
  let isFailing = false;
  let dropped = 0;

  async function storePending(): Promise<void> {
    if (isEmpty(pending)) return;
    const batch = pending;
    pending = emptyBatch();
    isBusy = true;
    try {
      await storage.recoverable.transaction().execute((db) => storeBatch(db, batch, untrimmed));
      isFailing = false;
      dropped += batch.dropped;
      if (batch.dropped > 0) report(new Error(`There was no room to remember ${batch.dropped} requests of apps.`));
    } catch (error) {
      if (!isFailing) report(error);
      isFailing = true;
      // What the database refused for another reason, it would refuse again.
      if (error instanceof StorageUnavailable) pending = merge(batch, pending);
      else dropped += batch.dropped + countRequests(batch);
    } finally {
      isBusy = false;
    }
  }

  function flush(): Promise<void> {
    last = last.then(storePending);
    return last;
  }

  const timer = setInterval(() => {
    if (!isBusy) flush();
  }, FLUSHED_EVERY);
  timer.unref();
  return {
    note(answered, involved) {
      if (involved.appId !== undefined) noteRequest(pending, involved.appId, answered, involved, clock());
    },
    flush,
    dropped: () => dropped + pending.dropped,
    async stop() {
      clearInterval(timer);
      await flush();
    },
  };
}

async function storeBatch(db: Database, batch: Batch, untrimmed: Map<string, number>): Promise<void> {
  await addCounts(db, [...batch.counts.values()]);
  await addScopeUses(db, [...batch.uses.values()]);
  const requests = requestsByApp(batch);
  await addRequests(db, [...requests.values()].flat());
  // In one order, so that two nodes never wait for each other.
  for (const [appId, { length }] of [...requests].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const added = (untrimmed.get(appId) ?? 0) + length;
    if (added >= TRIMMED_AFTER) await trimRequests(db, appId);
    untrimmed.set(appId, added >= TRIMMED_AFTER ? 0 : added);
  }
}
