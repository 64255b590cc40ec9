import { type Connection, translateError } from './connection.ts';
import type { GroupCommit } from './group-commit.ts';
import type { ConnectionLock } from './write-lock.ts';

/** A full batch runs at once, so that the first reads do not wait for many others. */
const MAX_BATCH = 64;

export type BatchRead = <Found>(read: () => Found) => Promise<Found>;

interface PendingRead {
  read(): unknown;
  resolve(found: unknown): void;
  reject(reason: unknown): void;
}

/**
 * Runs the reads of one event loop iteration at its end, in one transaction. Alone, each read would lock the file, and
 * find SQLite's code and data evicted from the processor's caches (docs/decisions/0016). A read that fails fails alone.
 */
export function createReadBatch({ file, run }: Connection, lock: ConnectionLock, commits: GroupCommit): BatchRead {
  let pending: PendingRead[] = [];

  async function runPending(): Promise<void> {
    const batch = pending;
    pending = [];
    if (batch.length === 0) return;
    if (lock.isTaken) await lock.acquire();
    try {
      // Reads see committed rows only: a commit that fails rolls back what was written before it.
      commits.commit();
      // All of them see the same snapshot.
      const isTransaction = batch.length > 1;
      if (isTransaction) run('begin');
      for (const { read, resolve, reject } of batch) {
        try {
          resolve(read());
        } catch (error) {
          reject(error);
        }
      }
      // Nothing was written. A rollback cannot fail, as a commit could. After an I/O error SQLite has rolled back already.
      if (isTransaction && file.isTransaction) run('rollback');
    } catch (error) {
      const reason = translateError(error);
      for (const { reject } of batch) reject(reason);
    } finally {
      lock.release();
    }
  }

  return <Found>(read: () => Found) =>
    new Promise<Found>((resolve, reject) => {
      pending.push({ read, resolve: resolve as PendingRead['resolve'], reject });
      if (pending.length === 1) setImmediate(runPending);
      if (pending.length === MAX_BATCH) runPending();
    });
}
