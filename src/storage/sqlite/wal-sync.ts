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
  const state: SyncState = {
    flush: (done) => sync(file, done),
    timeout,
    running: undefined,
    next: undefined,
    stalled: undefined,
  };
  return {
    sync() {
      if (!state.running) return startSync(state, createDeferred());
      state.next ??= createDeferred();
      if (state.stalled) state.next.reject(state.stalled);
      return state.next.promise;
    },
    pendingSync: () => (state.next ?? state.running)?.promise,
    assertNotStalled() {
      if (state.stalled) throw state.stalled;
    },
    close() {
      state.next = undefined;
      closeSync(file);
    },
  };
}

interface SyncState {
  flush(done: (error: Error | null) => void): void;
  timeout: number;
  running: PromiseWithResolvers<void> | undefined;
  /** Starts when the running one is done. */
  next: PromiseWithResolvers<void> | undefined;
  /** Set while the running sync is overdue. */
  stalled: StorageUnavailable | undefined;
}

function startSync(state: SyncState, synced: PromiseWithResolvers<void>): Promise<void> {
  state.running = synced;
  state.next = undefined;
  // If this process itself was stopped, the sync may be done by now: its callback runs before the immediate.
  const timer = setTimeout(() => setImmediate(giveUp, state, synced), state.timeout);
  state.flush((error) => {
    // Ends the process: the system may have dropped pages that SQLite believes to be written.
    if (error) throw error;
    clearTimeout(timer);
    const { stalled, next } = state;
    state.running = state.stalled = undefined;
    if (next) startSync(state, stalled ? createDeferred() : next);
    synced.resolve();
  });
  return synced.promise;
}

/** Rejects all waiting commits, and later ones until the sync is done. */
function giveUp(state: SyncState, synced: PromiseWithResolvers<void>): void {
  if (state.running !== synced) return;
  const seconds = state.timeout / SECOND;
  state.stalled = new StorageUnavailable(`The disk has not confirmed a flush within ${seconds} seconds.`);
  synced.reject(state.stalled);
  state.next?.reject(state.stalled);
}

const IN_MEMORY: Wal = { sync: async () => {}, pendingSync: () => undefined, assertNotStalled() {}, close() {} };

/** Its rejection is never unhandled: the write that would await it may have failed before. */
export function createDeferred(): PromiseWithResolvers<void> {
  const deferred = Promise.withResolvers<void>();
  deferred.promise.catch(() => {});
  return deferred;
}
