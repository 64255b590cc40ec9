// A thread of its own: brings what stands in the write-ahead log over into the database, whenever it is told to look.
import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';

/** Pages that are worth the wait for the disk; SQLite's own choice. */
const ENOUGH = 1000;

/** While others write, something is always left, but less each time, until it is about so much. */
const FEW = 64;
const PASSES = 6;

const file = new DatabaseSync(workerData);
const ask = (kind: string) => file.prepare(`PRAGMA wal_checkpoint(${kind})`);
const [count, bringOver] = [ask('NOOP'), ask('PASSIVE')];

parentPort?.on('message', () => parentPort?.postMessage(isNearlyDone()));

/** A disk that is full, or a file that is locked, may be better next time. */
function isNearlyDone(): boolean {
  try {
    if (pagesLeft() < ENOUGH) return false;
    for (let pass = 0; pass < PASSES && pagesLeft() >= FEW; pass += 1) bringOver.get();
    return pagesLeft() < ENOUGH;
  } catch {
    return false;
  }
}

function pagesLeft(): number {
  const { log, checkpointed } = count.get() ?? {};
  return Number(log) - Number(checkpointed);
}
