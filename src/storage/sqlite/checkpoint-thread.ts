// A worker thread that checkpoints the database whenever it receives a message and the log is long enough. It imports no
// other file of the product, so that it starts quickly and takes little memory.
import { fsyncSync, openSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { parentPort, workerData } from 'node:worker_threads';
import type { CheckpointData } from './checkpoint.ts';

/** SQLite's own default for automatic checkpoints. */
const MIN_PAGES = 1000;

/** So few pages are copied in an instant, by the thread that writes. */
const FEW_PAGES = 64;

flushCompileCache();
const { noop, passive, descriptor } = open(workerData) ?? process.exit();
parentPort?.on('message', () => parentPort?.postMessage(checkpoint()));

/** Undefined if the file is locked or gone; the thread is started again later. */
function open({ path, timeout }: CheckpointData) {
  const url = pathToFileURL(path);
  // Does not create a missing file.
  url.search = '?mode=rw';
  try {
    const file = new DatabaseSync(url, { timeout });
    const prepare = (mode: string) => file.prepare(`PRAGMA wal_checkpoint(${mode})`);
    // Never closed: closing any descriptor of a file releases all POSIX locks that the process has on it.
    return { noop: prepare('NOOP'), passive: prepare('PASSIVE'), descriptor: openSync(path, 'r') };
  } catch {
    return undefined;
  }
}

/** Repeats while the log is written to, as long as each pass leaves fewer pages. True if only a few are left. */
function checkpoint(): boolean {
  let left = pagesLeft(noop);
  if (left < MIN_PAGES) return false;
  for (let before = Number.POSITIVE_INFINITY; left >= FEW_PAGES && left < before; left = pagesLeft(noop)) {
    before = left;
    if (Number.isNaN(pagesLeft(passive))) return false;
    // SQLite syncs the file only after the last page, which is copied on the event loop. An error here ends the process:
    // the system may have dropped pages that SQLite believes to be written.
    fsyncSync(descriptor);
  }
  return left < FEW_PAGES;
}

/** NaN if the checkpoint failed: the disk may be full, or the file locked. */
function pagesLeft(checkpoint: StatementSync): number {
  try {
    const { log, checkpointed } = checkpoint.get() ?? {};
    return Number(log) - Number(checkpointed);
  } catch {
    return Number.NaN;
  }
}
