import { closeSync, fdatasync, openSync } from 'node:fs';

/** The write-ahead log. What is committed stands in it, but a power cut could still take that away. */
export interface Log {
  /** Resolves once all that stands in it now is on disk. */
  sync(): Promise<void>;
  /** Kept once all that is on its way to the disk is there; undefined if nothing is. */
  syncing(): Promise<void> | undefined;
  close(): void;
}

type Flush = (file: number, done: (error: Error | null) => void) => void;

/**
 * A disk may take milliseconds, in which the work for others can go on: so SQLite is told not to wait for it, and another
 * thread does. What is committed meanwhile goes to the disk next, all of it at once. The file is there for as long as the
 * database is open; SQLite has no locks on it that closing it could give up.
 */
export function openLog(path: string, flush: Flush = fdatasync): Log {
  if (path === ':memory:') return NONE;
  const file = openSync(`${path}-wal`, 'r');
  let running: PromiseWithResolvers<void> | undefined;
  let next: PromiseWithResolvers<void> | undefined;

  function start(those: PromiseWithResolvers<void>): void {
    running = those;
    next = undefined;
    flush(file, (error) => {
      // Nobody's to catch: the system may have dropped what SQLite takes for written.
      if (error) throw error;
      running = undefined;
      if (next) start(next);
      those.resolve();
    });
  }

  return {
    sync() {
      const those = next ?? Promise.withResolvers<void>();
      if (running) next = those;
      else start(those);
      return those.promise;
    },
    syncing: () => (next ?? running)?.promise,
    close: () => closeSync(file),
  };
}

const NONE: Log = { sync: async () => {}, syncing: () => undefined, close() {} };
