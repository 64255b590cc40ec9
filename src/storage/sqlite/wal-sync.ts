import { closeSync, fdatasync, openSync } from 'node:fs';
import { SECOND } from '../../lib/clock.ts';
import { StorageUnavailable } from '../storage.ts';

/** The write-ahead log. A power cut can lose commits until the log is synced. */
export interface Wal {
  /** Resolves when every commit so far is on disk. Rejects if the disk does not confirm that in time. */
  sync(): Promise<void>;
  /** Resolves when the commits that are being synced are on disk; undefined if there are none. */
  pendingSync(): Promise<void> | undefined;
  /** Set while a sync is overdue: no write may begin. */
  stalled: StorageUnavailable | undefined;
  close(): void;
}

type Sync = (file: number, done: (error: Error | null) => void) => void;

/** Equals the time limit for a response of PostgreSQL. */
const SYNC_TIMEOUT = 4 * SECOND;

/**
 * A sync takes up to some milliseconds. SQLite would block the event loop meanwhile; `fdatasync` runs on a thread of
 * Node. Commits that arrive during a sync share the next one. The log file exists for as long as the database is open,
 * and SQLite has no locks on it that closing it could release.
 */
export function openWal(path: string, sync: Sync = fdatasync, timeout = SYNC_TIMEOUT): Wal {
  if (path === ':memory:') return IN_MEMORY;
  const file = openSync(`${path}-wal`, 'r');
  const wal: WalOnDisk = {
    flush: (done) => sync(file, done),
    timeout,
    running: undefined,
    next: undefined,
    stalled: undefined,
    sync() {
      if (!wal.running) return startSync(wal, createDeferred());
      wal.next ??= createDeferred();
      if (wal.stalled) wal.next.reject(wal.stalled);
      return wal.next.promise;
    },
    pendingSync: () => (wal.next ?? wal.running)?.promise,
    close() {
      wal.next = undefined;
      closeSync(file);
    },
  };
  return wal;
}

interface WalOnDisk extends Wal {
  flush(done: (error: Error | null) => void): void;
  timeout: number;
  running: PromiseWithResolvers<void> | undefined;
  /** Starts when the running one is done. */
  next: PromiseWithResolvers<void> | undefined;
}

function startSync(wal: WalOnDisk, synced: PromiseWithResolvers<void>): Promise<void> {
  wal.running = synced;
  wal.next = undefined;
  // If this process itself was stopped, the sync may be done by now: its callback runs before the immediate.
  const timer = setTimeout(() => setImmediate(giveUp, wal, synced), wal.timeout);
  wal.flush((error) => {
    // Ends the process: the system may have dropped pages that SQLite believes to be written.
    if (error) throw error;
    clearTimeout(timer);
    const { stalled, next } = wal;
    wal.running = wal.stalled = undefined;
    if (next) startSync(wal, stalled ? createDeferred() : next);
    synced.resolve();
  });
  return synced.promise;
}

/** Rejects all waiting commits, and later ones until the sync is done. */
function giveUp(wal: WalOnDisk, synced: PromiseWithResolvers<void>): void {
  if (wal.running !== synced) return;
  const seconds = wal.timeout / SECOND;
  wal.stalled = new StorageUnavailable(`The disk has not confirmed a flush within ${seconds} seconds.`);
  synced.reject(wal.stalled);
  wal.next?.reject(wal.stalled);
}

const IN_MEMORY: Wal = { sync: async () => {}, pendingSync: () => undefined, stalled: undefined, close() {} };

/** Its rejection is never unhandled: the write that would await it may have failed before. */
export function createDeferred(): PromiseWithResolvers<void> {
  const deferred = Promise.withResolvers<void>();
  deferred.promise.catch(() => {});
  return deferred;
}
