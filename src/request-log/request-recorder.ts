import { setImmediate } from 'node:timers/promises';
import { type Clock, SECOND } from '../lib/clock.ts';
import { type Database, type Storage, StorageUnavailable } from '../storage/storage.ts';
import {
  type AnsweredRequest,
  type Batch,
  countRequests,
  emptyBatch,
  isEmpty,
  keepCounts,
  keepRequest,
  keepUse,
  merge,
  noteRequest,
  requestsByApp,
} from './batch.ts';
import { inChunks } from './chunks.ts';
import { addRequests, MOST_KEPT, type NewRequest, trimRequests } from './logged-requests.ts';
import type { RequestContext } from './request-context.ts';
import { addCounts } from './request-counts.ts';
import { addScopeUses } from './scope-uses.ts';

/** Remembers what apps ask for, so that people can see it. It is in nobody's way: nothing waits for it, and nothing fails by it. */
export interface RequestRecorder {
  /** Only what an app is known for is kept. */
  note(answered: AnsweredRequest, context: RequestContext): void;
  /** Resolves when all that was noted before is stored, or could not be. */
  flush(): Promise<void>;
  /** How many requests and uses there was no room for, since it was opened. */
  dropped(): number;
  stop(): Promise<void>;
}

const FLUSHED_EVERY = 2 * SECOND;

/** After so many new rows, an app's oldest go. */
const TRIMMED_AFTER = MOST_KEPT / 2;

export function openActivity(storage: Storage, clock: Clock, report: (error: unknown) => void): RequestRecorder {
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
    const requests = requestsByApp(batch);
    const steps = stepsOf(batch, [...requests.values()].flat());
    try {
      for (let step = steps[0]; step; step = steps[0]) {
        await step.store(storage.relaxed);
        steps.shift();
        // Whoever waits for an answer goes first.
        await setImmediate();
      }
      await trimApps(storage.relaxed, requests, untrimmed);
      isFailing = false;
      dropped += batch.dropped;
      if (batch.dropped > 0) report(new Error(`There was no room to remember ${batch.dropped} requests of apps.`));
    } catch (error) {
      if (!isFailing) report(error);
      isFailing = true;
      const left = leftOf(steps, batch.dropped);
      // What the database refused for another reason, it would refuse again.
      if (error instanceof StorageUnavailable) pending = merge(left, pending);
      else dropped += left.dropped + countRequests(left);
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
    note(answered, context) {
      if (context.appId !== undefined) noteRequest(pending, context.appId, answered, context, clock());
    },
    flush,
    dropped: () => dropped + pending.dropped,
    async stop() {
      clearInterval(timer);
      await flush();
    },
  };
}

/** As much as one statement takes, so that nobody waits for more than that: to be stored, or kept for another time. */
interface Step {
  store(db: Database): Promise<void>;
  keepIn(batch: Batch): void;
}

function stepsOf(batch: Batch, requests: NewRequest[]): Step[] {
  return [
    ...inSteps([...batch.counts.values()], addCounts, keepCounts),
    ...inSteps([...batch.uses.values()], addScopeUses, keepUse),
    ...inSteps(requests, addRequests, keepRequest),
  ];
}

function inSteps<Row>(
  rows: Row[],
  store: (db: Database, rows: Row[]) => Promise<void>,
  keep: (batch: Batch, row: Row) => void,
): Step[] {
  return inChunks(rows).map((chunk) => ({
    store: (db) => store(db, chunk),
    keepIn: (batch) => {
      for (const row of chunk) keep(batch, row);
    },
  }));
}

function leftOf(steps: Step[], dropped: number): Batch {
  const left = { ...emptyBatch(), dropped };
  for (const step of steps) step.keepIn(left);
  return left;
}

async function trimApps(db: Database, requests: Map<string, NewRequest[]>, untrimmed: Map<string, number>) {
  for (const [appId, { length }] of requests) {
    const added = (untrimmed.get(appId) ?? 0) + length;
    if (added >= TRIMMED_AFTER) {
      await trimRequests(db, appId);
      await setImmediate();
    }
    untrimmed.set(appId, added >= TRIMMED_AFTER ? 0 : added);
  }
}
