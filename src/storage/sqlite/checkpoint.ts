import { getCompileCacheDir } from 'node:module';
import { dirname, resolve } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { BUSY_TIMEOUT } from './connection.ts';

/** How many commits there are between two calls of `start`. */
export const COMMITS_PER_CHECKPOINT = 128;

/** What the thread needs to know. */
export interface CheckpointData {
  path: string;
  /** In milliseconds. */
  timeout: number;
}

export interface Checkpoints {
  /** Runs one if the log is long enough, and none is running. */
  start(): void;
  stop(): Promise<void>;
}

/**
 * A checkpoint copies the write-ahead log into the database file and waits for the disk, for longer the larger the
 * database is. A thread does that while this one writes, except for the last pages, which are copied here, within
 * `commit`: after that the log restarts. A process that commits little never starts the thread.
 */
export function createCheckpoints(
  path: string,
  file: DatabaseSync,
  commit: (then: () => void) => Promise<void>,
): Checkpoints {
  let thread: Worker | undefined;
  let isRunning = path === ':memory:';

  function end(): void {
    isRunning = false;
  }

  return {
    start() {
      if (isRunning) return;
      isRunning = true;
      try {
        thread ??= startThread(resolve(path))
          .on('message', (isNearlyDone) => (isNearlyDone ? commit(() => checkpoint(file)).then(end) : end()))
          .on('exit', () => {
            thread = undefined;
            end();
          });
        thread.postMessage('checkpoint');
      } catch {
        // The system allows no further thread. Later it may.
        end();
      }
    },
    async stop() {
      await thread?.terminate();
      isRunning = true;
    },
  };
}

function checkpoint(file: DatabaseSync): void {
  try {
    file.exec('PRAGMA wal_checkpoint(PASSIVE)');
  } catch {
    // The pages stay in the log.
  }
}

/** No listener for `error`: an uncaught error of the thread ends the process. */
function startThread(path: string): Worker {
  const cache = getCompileCacheDir();
  const thread = new Worker(new URL('./checkpoint-thread.ts', import.meta.url), {
    workerData: { path, timeout: BUSY_TIMEOUT } satisfies CheckpointData,
    // Compiled code from the cache takes half the memory.
    env: cache ? { NODE_COMPILE_CACHE: dirname(cache) } : {},
    // The thread keeps a file open for as long as the process runs.
    trackUnmanagedFds: false,
    resourceLimits: { maxYoungGenerationSizeMb: 1, maxOldGenerationSizeMb: 16 },
  });
  thread.unref();
  return thread;
}
