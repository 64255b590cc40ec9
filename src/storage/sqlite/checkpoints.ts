import { getCompileCacheDir } from 'node:module';
import { dirname, resolve } from 'node:path';
import { Worker } from 'node:worker_threads';

/**
 * Once the log has so many pages (64 MB), each commit tries to checkpoint, as if there were no thread. While another
 * process reads, the log can outgrow that; it is truncated to the same size when it restarts.
 */
export const LOG_SETTINGS = `PRAGMA wal_autocheckpoint = 16384; PRAGMA journal_size_limit = ${16384 * 4096}`;

/** After so many commits it may be worth a look. */
const LOOK_AFTER = 128;

export interface Checkpoints {
  /** Something was committed. */
  note(): void;
  stop(): Promise<void>;
}

/**
 * What is committed stands in the write-ahead log, and has to be brought over into the database now and then, which
 * waits for the disk, longer the larger the database. A thread of its own does that while others write, all but the
 * last few pages; those are for `finish`, after which the log begins anew. Whoever commits only a few times never starts it.
 */
export function newCheckpoints(path: string, finish: () => Promise<void>): Checkpoints {
  let thread: Worker | undefined;
  let [commits, isBusy] = [0, path === ':memory:'];

  function rest(): void {
    [commits, isBusy] = [0, false];
  }

  function look(): void {
    isBusy = true;
    try {
      thread ??= startThread(resolve(path))
        .on('message', (isNearlyDone) => (isNearlyDone ? finish().then(rest) : rest()))
        .on('exit', () => {
          thread = undefined;
          rest();
        });
      thread.postMessage('look');
    } catch {
      // There is no room for a thread; there may be later.
      rest();
    }
  }

  return {
    note() {
      commits += 1;
      if (commits >= LOOK_AFTER && !isBusy) look();
    },
    async stop() {
      await thread?.terminate();
      isBusy = true;
    },
  };
}

/** Nobody listens for its errors: what it does not catch ends the process. */
function startThread(path: string): Worker {
  const cache = getCompileCacheDir();
  const thread = new Worker(new URL('./checkpoint-thread.ts', import.meta.url), {
    workerData: path,
    // What has been compiled before takes half the memory.
    env: cache ? { NODE_COMPILE_CACHE: dirname(cache) } : {},
    // It opens a file that must stay open.
    trackUnmanagedFds: false,
    resourceLimits: { maxYoungGenerationSizeMb: 1, maxOldGenerationSizeMb: 16 },
  });
  thread.unref();
  return thread;
}
