import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { Worker } from 'node:worker_threads';

/** Of the write-ahead log, beyond which whoever commits brings it all over by himself: 64 MB. */
const MOST_PAGES = 16_384;

/** After so many commits it may be worth a look. */
const LOOK_AFTER = 64;

export interface Checkpoints {
  /** Something was committed. */
  note(): void;
  stop(): Promise<void>;
}

/**
 * What is committed stands in the write-ahead log, and has to be brought over into the database now and then, which
 * waits for the disk, longer the larger the database. A thread of its own does that while others write, all but the
 * last few pages; those are for `finish`, after which the log begins anew. Short-lived processes never start it.
 */
export function newCheckpoints(path: string, finish: () => void): Checkpoints {
  let thread: Worker | undefined;
  let [commits, isLooking] = [0, false];

  function look(): void {
    isLooking = true;
    thread ??= startThread(path, (isNearlyDone) => {
      [commits, isLooking] = [0, false];
      if (isNearlyDone) finish();
    });
    thread.postMessage('look');
  }

  return {
    note() {
      commits += 1;
      if (commits >= LOOK_AFTER && !isLooking) look();
    },
    async stop() {
      isLooking = true;
      await thread?.terminate();
    },
  };
}

export const LOG_SETTINGS = `PRAGMA wal_autocheckpoint = ${MOST_PAGES}`;

/** Without it, as when it cannot be started, the log grows to its most before each checkpoint. */
function startThread(path: string, report: (isNearlyDone: boolean) => void): Worker {
  const cache = getCompileCacheDir();
  const thread = new Worker(new URL('./sqlite-checkpointer.ts', import.meta.url), {
    workerData: path,
    // What has been compiled before takes half the memory.
    env: cache ? { NODE_COMPILE_CACHE: dirname(cache) } : {},
    // The thread opens a file that must stay open.
    trackUnmanagedFds: false,
    resourceLimits: { maxYoungGenerationSizeMb: 1, maxOldGenerationSizeMb: 16 },
  });
  thread.on('message', report);
  thread.on('error', () => {});
  thread.unref();
  return thread;
}
