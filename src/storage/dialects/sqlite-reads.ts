import type { Connection } from './sqlite-connection.ts';
import { translate } from './sqlite-errors.ts';
import type { Lock } from './sqlite-lock.ts';

/** So many are read at once; to wait for more would only keep the first of them waiting. */
const MOST_AT_ONCE = 64;

/** Reads as soon as it is its turn, and gives what was found. */
export type ReadInTurn = <Found>(read: () => Found) => Promise<Found>;

interface Asked {
  read(): unknown;
  resolve(found: unknown): void;
  reject(reason: unknown): void;
}

/**
 * What is read in one turn of the event loop is read at its end, all at once. One by one, every read would lock the file
 * by itself, and find the processor busy with all else that a request takes.
 */
export function newReads(connection: Connection, lock: Lock): ReadInTurn {
  let asked: Asked[] = [];

  async function readAll(): Promise<void> {
    const all = asked;
    asked = [];
    if (lock.isTaken()) await lock.take();
    try {
      inOneState(connection, () => answer(all));
    } catch (error) {
      const reason = translate(error);
      for (const { reject } of all) reject(reason);
    } finally {
      lock.release();
    }
  }

  return <Found>(read: () => Found) =>
    new Promise<Found>((resolve, reject) => {
      asked.push({ read, resolve: resolve as Asked['resolve'], reject });
      if (asked.length === 1) setImmediate(readAll);
      if (asked.length === MOST_AT_ONCE) readAll();
    });
}

/** One that cannot be read is nobody else's concern. */
function answer(all: Asked[]): void {
  for (const { read, resolve, reject } of all) {
    try {
      resolve(read());
    } catch (error) {
      reject(error);
    }
  }
}

/** What has been written in this turn is seen, too, and nobody is answered before it is committed. */
function inOneState({ file, run }: Connection, work: () => void): void {
  if (file.isTransaction) {
    work();
    return;
  }
  run('begin');
  work();
  // After some failures (an I/O error) SQLite has ended it by itself.
  if (file.isTransaction) run('commit');
}
