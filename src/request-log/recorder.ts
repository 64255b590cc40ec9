import { setImmediate } from 'node:timers/promises';
import { type Clock, SECOND } from '../lib/clock.ts';
import { type Database, type Storage, StorageUnavailable } from '../storage/storage.ts';
import {
  addRequest,
  addToBatch,
  addToCounts,
  addToUses,
  type Batch,
  countRequests,
  emptyBatch,
  isEmpty,
  mergeBatches,
  type RecordedRequest,
  requestsByApp,
} from './batch.ts';
import { inChunks } from './chunks.ts';
import { addCounts, addScopeUses } from './counts.ts';
import { addRequests, MAX_PER_APP, type NewRequest, type RequestContext, trimRequests } from './log.ts';

/** Records the requests of apps in the background. No request waits for it or fails because of it. */
export interface RequestRecorder {
  /** Ignores requests without a known app. */
  record(answered: RecordedRequest, context: RequestContext): void;
  /** Resolves when everything recorded before is stored, or has failed to be. */
  flush(): Promise<void>;
  /** Requests and scope uses that exceeded the buffers since the start. */
  dropped(): number;
  stop(): Promise<void>;
}

const FLUSH_INTERVAL = 2 * SECOND;

/** In new rows of one app, after which its oldest rows are deleted. */
const TRIM_INTERVAL = MAX_PER_APP / 2;

export function createRequestRecorder(
  storage: Storage,
  clock: Clock,
  report: (error: unknown) => void,
): RequestRecorder {
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
    const steps = toSteps(batch, [...requests.values()].flat());
    try {
      for (let step = steps[0]; step; step = steps[0]) {
        await step.store(storage.relaxed);
        steps.shift();
        // Lets requests run between two statements.
        await setImmediate();
      }
      await trimApps(storage.relaxed, requests, untrimmed);
      isFailing = false;
      dropped += batch.dropped;
      if (batch.dropped > 0) report(new Error(`There was no room to remember ${batch.dropped} requests of apps.`));
    } catch (error) {
      if (!isFailing) report(error);
      isFailing = true;
      const left = remaining(steps, batch.dropped);
      // Any other error would occur again.
      if (error instanceof StorageUnavailable) pending = mergeBatches(left, pending);
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
  }, FLUSH_INTERVAL);
  timer.unref();
  return {
    record(answered, context) {
      if (context.appId !== undefined) addToBatch(pending, context.appId, answered, context, clock());
    },
    flush,
    dropped: () => dropped + pending.dropped,
    async stop() {
      clearInterval(timer);
      await flush();
    },
  };
}

/** The rows of one statement: stored, or returned to a batch if the database is unavailable. */
interface Step {
  store(db: Database): Promise<void>;
  returnTo(batch: Batch): void;
}

function toSteps(batch: Batch, requests: NewRequest[]): Step[] {
  return [
    ...inSteps([...batch.counts.values()], addCounts, addToCounts),
    ...inSteps([...batch.uses.values()], addScopeUses, addToUses),
    ...inSteps(requests, addRequests, addRequest),
  ];
}

function inSteps<Row>(
  rows: Row[],
  store: (db: Database, rows: Row[]) => Promise<void>,
  keep: (batch: Batch, row: Row) => void,
): Step[] {
  return inChunks(rows).map((chunk) => ({
    store: (db) => store(db, chunk),
    returnTo: (batch) => {
      for (const row of chunk) keep(batch, row);
    },
  }));
}

function remaining(steps: Step[], dropped: number): Batch {
  const left = { ...emptyBatch(), dropped };
  for (const step of steps) step.returnTo(left);
  return left;
}

async function trimApps(db: Database, requests: Map<string, NewRequest[]>, untrimmed: Map<string, number>) {
  for (const [appId, { length }] of requests) {
    const added = (untrimmed.get(appId) ?? 0) + length;
    if (added >= TRIM_INTERVAL) {
      await trimRequests(db, appId);
      await setImmediate();
    }
    untrimmed.set(appId, added >= TRIM_INTERVAL ? 0 : added);
  }
}
