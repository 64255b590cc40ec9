import type { Connection } from './connection.ts';
import { translate } from './errors.ts';
import type { Lock } from './file-lock.ts';
import type { Commits } from './group-commit.ts';

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
 * by itself, and find in the processor's caches all else that a request takes instead of what it needs. One that cannot
 * be read is nobody else's concern.
 */
export function newReads(connection: Connection, lock: Lock, commits: Commits): ReadInTurn {
  let asked: Asked[] = [];

  async function readAll(): Promise<void> {
    const all = asked;
    asked = [];
    if (all.length === 0) return;
    if (lock.isTaken()) await lock.take();
    try {
      // Reads see committed rows only: a commit that fails takes back what was written before it.
      commits.commit();
      answer(all, connection);
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

/** All reads see the same state of the database. */
function answer(all: Asked[], { file, run }: Connection): void {
  const isOurs = all.length > 1;
  if (isOurs) run('begin');
  for (const { read, resolve, reject } of all) {
    try {
      resolve(read());
    } catch (error) {
      reject(error);
    }
  }
  // Nothing was written. A commit could fail, and leave everyone who comes later in this state; going back cannot. After
  // some failures (an I/O error) SQLite has done so by itself.
  if (isOurs && file.isTransaction) run('rollback');
}
