import { setImmediate } from 'node:timers/promises';
import { type Clock, SECOND } from '../lib/clock.ts';
import { inChunks } from '../storage/chunks.ts';
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
  type Recorded,
  type RecordedRequest,
  requestsByApp,
} from './batch.ts';
import { addCounts, addScopeUses } from './counts.ts';
import { addRequests, MAX_PER_APP, type NewRequest, type RequestContext, trimRequests } from './log.ts';

/** Records the requests of apps in the background. No request waits for it or fails because of it. */
export interface RequestRecorder {
  /** Ignores requests without a known app. */
  record(request: RecordedRequest, context: RequestContext): void;
  /** Resolves when everything recorded before is stored, or has failed to be. */
  flush(): Promise<void>;
  /** Requests and scope uses that exceeded the buffers since the start. */
  dropped(): number;
  stop(): Promise<void>;
}

const FLUSH_INTERVAL = 2 * SECOND;

/** How many requests wait to be added to the batch. Counting them together takes less time than one by one. */
const MAX_RECORDED = 100;

/** In new rows of one app, after which its oldest rows are deleted. */
const TRIM_INTERVAL = MAX_PER_APP.authenticated / 2;

export function createRequestRecorder(
  storage: Storage,
  clock: Clock,
  report: (error: unknown) => void,
): RequestRecorder {
  const state: RecorderState = {
    recorded: [],
    pending: emptyBatch(),
    isFailing: false,
    dropped: 0,
    untrimmed: new Map(),
  };
  let lastFlush = Promise.resolve();
  let flushing = 0;

  function flush(): Promise<void> {
    flushing += 1;
    lastFlush = lastFlush
      .then(() => storePending(state, storage.relaxed, report))
      .finally(() => {
        flushing -= 1;
      });
    return lastFlush;
  }

  const timer = setInterval(() => {
    if (flushing === 0) flush();
  }, FLUSH_INTERVAL);
  timer.unref();
  return {
    record(request, context) {
      if (context.appId === undefined) return;
      state.recorded.push({ appId: context.appId, at: clock(), request, context });
      if (state.recorded.length === MAX_RECORDED) addRecorded(state);
    },
    flush,
    dropped: () => state.dropped + state.pending.dropped,
    async stop() {
      clearInterval(timer);
      await flush();
    },
  };
}

interface RecorderState {
  recorded: Recorded[];
  pending: Batch;
  /** An error is reported once, until storing succeeds again. */
  isFailing: boolean;
  dropped: number;
  /** New rows per app since its oldest were deleted. */
  untrimmed: Map<string, number>;
}

function addRecorded(state: RecorderState): void {
  for (const recorded of state.recorded) addToBatch(state.pending, recorded);
  state.recorded = [];
}

async function storePending(state: RecorderState, db: Database, report: (error: unknown) => void): Promise<void> {
  addRecorded(state);
  const batch = state.pending;
  if (isEmpty(batch)) return;
  state.pending = emptyBatch();
  const failure = await storeBatch(db, batch, state.untrimmed);
  if (!failure) {
    state.isFailing = false;
    state.dropped += batch.dropped;
    if (batch.dropped > 0)
      report(new Error(`The buffers were full: ${batch.dropped} requests of apps were not logged.`));
    return;
  }
  const { error, left } = failure;
  if (!state.isFailing) report(error);
  state.isFailing = true;
  // Any other error would occur again.
  if (error instanceof StorageUnavailable) state.pending = mergeBatches(left, state.pending);
  else state.dropped += left.dropped + countRequests(left);
}

/** If a statement fails, returns the error and the rows that are not stored. */
async function storeBatch(
  db: Database,
  batch: Batch,
  untrimmed: Map<string, number>,
): Promise<{ error: unknown; left: Batch } | undefined> {
  const requests = requestsByApp(batch);
  const steps = toSteps(batch, [...requests.values()].flat());
  try {
    for (let step = steps[0]; step; step = steps[0]) {
      await step.store(db);
      steps.shift();
      // Lets requests run between two statements.
      await setImmediate();
    }
    await trimApps(db, requests, untrimmed);
    return undefined;
  } catch (error) {
    return { error, left: remaining(steps, batch.dropped) };
  }
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
  add: (batch: Batch, row: Row) => void,
): Step[] {
  return inChunks(rows).map((chunk) => ({
    store: (db) => store(db, chunk),
    returnTo: (batch) => {
      for (const row of chunk) add(batch, row);
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
