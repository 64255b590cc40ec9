import { closeSync, fdatasync, openSync } from 'node:fs';
import { SECOND } from '../../lib/clock.ts';
import { StorageUnavailable } from '../errors.ts';

/** The write-ahead log. Commits are written to it, but a power cut can still lose them until it is flushed. */
export interface Log {
  /** Resolves once every commit so far is on disk. Rejects if the disk does not confirm that in time. */
  sync(): Promise<void>;
  /** The same for the commits that are being flushed; undefined if there are none. */
  syncing(): Promise<void> | undefined;
  /** Throws while the disk has not confirmed a flush in time. */
  assertNotStalled(): void;
  close(): void;
}

type Flush = (file: number, done: (error: Error | null) => void) => void;

/** As long as PostgreSQL is given to respond. */
const FLUSH_WITHIN = 4 * SECOND;

/**
 * A flush may take milliseconds, and the event loop should go on meanwhile: so SQLite does not flush at commit, and a
 * thread of Node does. Commits that arrive during a flush share the next one. The file exists for as long as the
 * database is open; SQLite has no locks on it that closing it could release.
 */
export function openLog(path: string, flush: Flush = fdatasync, limit = FLUSH_WITHIN): Log {
  if (path === ':memory:') return NONE;
  const file = openSync(`${path}-wal`, 'r');
  let running: PromiseWithResolvers<void> | undefined;
  let next: PromiseWithResolvers<void> | undefined;
  let stalled: StorageUnavailable | undefined;

  function start(flushed: PromiseWithResolvers<void>): Promise<void> {
    running = flushed;
    next = undefined;
    // If this process itself was stopped, the flush may be done by now: its callback runs before the immediate.
    const timer = setTimeout(() => setImmediate(giveUp, flushed), limit);
    flush(file, (error) => {
      // Ends the process: the system may have dropped what SQLite believes to be written.
      if (error) throw error;
      clearTimeout(timer);
      const wasStalled = stalled;
      running = stalled = undefined;
      if (next) start(wasStalled ? newPromise() : next);
      flushed.resolve();
    });
    return flushed.promise;
  }

  /** Everyone who waits is rejected, and so are those who come later, until the flush is done after all. */
  function giveUp(flushed: PromiseWithResolvers<void>): void {
    if (running !== flushed) return;
    stalled = new StorageUnavailable(`The disk has not confirmed a flush within ${limit / SECOND} seconds.`);
    running.reject(stalled);
    next?.reject(stalled);
  }

  return {
    sync() {
      if (!running) return start(newPromise());
      next ??= newPromise();
      if (stalled) next.reject(stalled);
      return next.promise;
    },
    syncing: () => (next ?? running)?.promise,
    assertNotStalled() {
      if (stalled) throw stalled;
    },
    close() {
      next = undefined;
      closeSync(file);
    },
  };
}

/** Its rejection is not an unhandled one, whether or not anything waits for it. */
function newPromise(): PromiseWithResolvers<void> {
  const made = Promise.withResolvers<void>();
  made.promise.catch(() => {});
  return made;
}

const NONE: Log = { sync: async () => {}, syncing: () => undefined, assertNotStalled() {}, close() {} };
