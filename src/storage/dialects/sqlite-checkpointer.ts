// A thread of its own: brings what stands in the write-ahead log over into the database, whenever it is told to look.
import { fsyncSync, openSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';

/** Pages that are worth the wait for the disk; SQLite's own choice. */
const ENOUGH = 1000;

/** So few anyone can bring over in a moment. */
const FEW = 64;

/** While others write, something is always left, but less each time. */
const PASSES = 6;

const file = new DatabaseSync(workerData);
// It is never closed: whoever closes a file, however they opened it, gives up all locks that their process has on it.
const onDisk = openSync(workerData, 'r');
const ask = (kind: string) => file.prepare(`PRAGMA wal_checkpoint(${kind})`);
const [count, bringOver] = [ask('NOOP'), ask('PASSIVE')];

flushCompileCache();
parentPort?.on('message', () => parentPort?.postMessage(isNearlyDone()));

/** A disk that is full, or a file that is locked, may be better next time. */
function isNearlyDone(): boolean {
  try {
    if (pagesLeft() < ENOUGH) return false;
    for (let pass = 0; pass < PASSES && pagesLeft() >= FEW; pass += 1) {
      bringOver.get();
      // SQLite waits for the disk only once nothing is left, and that would be for all of it, and in everyone's way.
      fsyncSync(onDisk);
    }
    return pagesLeft() < FEW;
  } catch {
    return false;
  }
}

function pagesLeft(): number {
  const { log, checkpointed } = count.get() ?? {};
  return Number(log) - Number(checkpointed);
}
