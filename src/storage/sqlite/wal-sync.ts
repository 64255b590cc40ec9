import { closeSync, fdatasync, openSync } from 'node:fs';
import { SECOND } from '../../lib/clock.ts';
import { StorageUnavailable } from '../storage.ts';

/** The write-ahead log. A power cut can lose commits until the log is synced. */
export interface Wal {
  /** Resolves when every commit so far is on disk. Rejects if the disk does not confirm that in time. */
  sync(): Promise<void>;
  /** The same for commits that are being synced; undefined if there are none. */
  pendingSync(): Promise<void> | undefined;
  /** Throws while a sync is overdue. */
  assertNotStalled(): void;
  close(): void;
}

type Sync = (file: number, done: (error: Error | null) => void) => void;

/** The same as the time limit for a response of PostgreSQL. */
const SYNC_TIMEOUT = 4 * SECOND;

/**
 * A sync takes up to some milliseconds. SQLite would block the event loop meanwhile; `fdatasync` runs on a thread of
 * Node. Commits that arrive during a sync share the next one. The log file exists for as long as the database is open,
 * and SQLite has no locks on it that closing it could release.
 */
export function openWal(path: string, sync: Sync = fdatasync, timeout = SYNC_TIMEOUT): Wal {
  if (path === ':memory:') return IN_MEMORY;
  const file = openSync(`${path}-wal`, 'r');
  let running: PromiseWithResolvers<void> | undefined;
  let next: PromiseWithResolvers<void> | undefined;
  let stalled: StorageUnavailable | undefined;

  function start(synced: PromiseWithResolvers<void>): Promise<void> {
    running = synced;
    next = undefined;
    // If this process itself was stopped, the sync may be done by now: its callback runs before the immediate.
    const timer = setTimeout(() => setImmediate(giveUp, synced), timeout);
    sync(file, (error) => {
      // Ends the process: the system may have dropped pages that SQLite believes to be written.
      if (error) throw error;
      clearTimeout(timer);
      const wasStalled = stalled;
      running = stalled = undefined;
      if (next) start(wasStalled ? createDeferred() : next);
      synced.resolve();
    });
    return synced.promise;
  }

  /** Rejects all waiting commits, and later ones until the sync is done. */
  function giveUp(synced: PromiseWithResolvers<void>): void {
    if (running !== synced) return;
    stalled = new StorageUnavailable(`The disk has not confirmed a flush within ${timeout / SECOND} seconds.`);
    running.reject(stalled);
    next?.reject(stalled);
  }

  return {
    sync() {
      if (!running) return start(createDeferred());
      next ??= createDeferred();
      if (stalled) next.reject(stalled);
      return next.promise;
    },
    pendingSync: () => (next ?? running)?.promise,
    assertNotStalled() {
      if (stalled) throw stalled;
    },
    close() {
      next = undefined;
      closeSync(file);
    },
  };
}

const IN_MEMORY: Wal = { sync: async () => {}, pendingSync: () => undefined, assertNotStalled() {}, close() {} };

/** Its rejection is never unhandled: the write that would await it may have failed before. */
export function createDeferred(): PromiseWithResolvers<void> {
  const deferred = Promise.withResolvers<void>();
  deferred.promise.catch(() => {});
  return deferred;
}
