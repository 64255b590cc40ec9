// A thread of its own: brings what stands in the write-ahead log over into the database, whenever it is told to look.
import { fsyncSync, openSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { parentPort, workerData } from 'node:worker_threads';
import { BUSY_MS } from './busy.ts';

/** Pages that are worth the wait for the disk; SQLite's own choice. */
const ENOUGH = 1000;

/** So few anyone can bring over in a moment. */
const FEW = 64;

flushCompileCache();
const { count, passOver, onDisk } = openFor(workerData) ?? process.exit();
parentPort?.on('message', () => parentPort?.postMessage(bringOver()));

/** Nothing if it is locked, or gone: the thread may be started again. */
function openFor(path: string) {
  const url = pathToFileURL(path);
  // A file that is gone should not be made anew.
  url.search = '?mode=rw';
  try {
    const file = new DatabaseSync(url, { timeout: BUSY_MS });
    const ask = (kind: string) => file.prepare(`PRAGMA wal_checkpoint(${kind})`);
    // Never closed: whoever closes a file, however they opened it, gives up all locks that their process has on it.
    return { count: ask('NOOP'), passOver: ask('PASSIVE'), onDisk: openSync(path, 'r') };
  } catch {
    return undefined;
  }
}

/** While others write, something is always left, but less with each pass. Says whether it is so little that anyone can finish it. */
function bringOver(): boolean {
  let left = pagesLeft(count);
  if (left < ENOUGH) return false;
  for (let before = Number.POSITIVE_INFINITY; left >= FEW && left < before; left = pagesLeft(count)) {
    before = left;
    if (Number.isNaN(pagesLeft(passOver))) return false;
    // SQLite waits for the database only once nothing is left, and that would be for all of it, and in everyone's way.
    // What fails here is nobody's to catch: the system may have dropped pages that SQLite takes for written.
    fsyncSync(onDisk);
  }
  return left < FEW;
}

/** NaN if it cannot be told: a disk that is full, or a file that is locked, may be better next time. */
function pagesLeft(checkpoint: StatementSync): number {
  try {
    const { log, checkpointed } = checkpoint.get() ?? {};
    return Number(log) - Number(checkpointed);
  } catch {
    return Number.NaN;
  }
}
