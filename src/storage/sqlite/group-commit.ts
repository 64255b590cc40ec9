import { BUSY_TIMEOUT, type Connection, translateError } from './connection.ts';
import { createDeferred } from './wal-sync.ts';

/** A durable write is on disk before its promise resolves; a power cut may undo a relaxed one (docs/decisions/0002). */
export type Durability = 'durable' | 'relaxed';

/** Writes that share one commit: all of them are kept, or none. */
interface Group {
  committed: PromiseWithResolvers<void>;
  /** If any of them is durable. */
  onDisk: PromiseWithResolvers<void> | undefined;
}

export interface GroupCommit {
  /**
   * Adds the next write to the current group, or to a new one. The promise resolves when the group is committed, and on
   * disk for a durable write. Throws if another process is writing, or if the disk has not confirmed earlier commits.
   */
  join(durability: Durability): Promise<void>;
  /** To be called after a failed statement: some errors make SQLite roll back the whole group. */
  onStatementError(error: unknown): void;
  /** Commits the group, if there is one. No transaction may be open within it. */
  commit(): void;
}

/** Writes of one event loop iteration share a commit. `scheduleCommit` has to call `commit` at the end of it. */
export function createGroupCommit(connection: Connection, scheduleCommit: () => void): GroupCommit {
  const { file, wal, run } = connection;
  let group: Group | undefined;

  return {
    join(durability) {
      // A refresh that cannot be confirmed would replace a token whose successor the app never receives.
      if (wal.stalled) throw wal.stalled;
      if (!group) {
        begin(connection);
        scheduleCommit();
        group = { committed: createDeferred(), onDisk: undefined };
      }
      if (durability === 'relaxed') return group.committed.promise;
      group.onDisk ??= createDeferred();
      return group.onDisk.promise;
    },
    onStatementError(error) {
      if (!group || file.isTransaction) return;
      reject(group, error);
      group = undefined;
    },
    commit() {
      const ended = group;
      group = undefined;
      if (!ended) return;
      try {
        run('commit');
      } catch (error) {
        reject(ended, translateError(error));
        if (file.isTransaction) file.exec('rollback');
        return;
      }
      // Before anything else runs: `wal.pendingSync()` must include this commit.
      if (ended.onDisk) wal.sync().then(ended.onDisk.resolve, ended.onDisk.reject);
      ended.committed.resolve();
    },
  };
}

function begin({ file, run }: Connection): void {
  // SQLite would wait on the event loop; `write-lock.ts` waits asynchronously.
  file.exec('pragma busy_timeout = 0');
  try {
    // A deferred transaction fails at its first write if another process wrote since its first read.
    run('begin immediate');
  } finally {
    file.exec(`pragma busy_timeout = ${BUSY_TIMEOUT}`);
  }
}

function reject({ committed, onDisk }: Group, reason: unknown): void {
  committed.reject(reason);
  onDisk?.reject(reason);
}
