import { BUSY_MS } from './busy.ts';
import type { Connection } from './connection.ts';
import { translate } from './errors.ts';

/** What is durable is on disk before anyone is told; what is recoverable a power cut may undo (docs/decisions/0002). */
export type Durability = 'durable' | 'recoverable';

/** Writes that are committed together: either all of them are kept, or none. */
interface Group {
  committed: PromiseWithResolvers<void>;
  /** If any of them is durable. */
  onDisk: PromiseWithResolvers<void> | undefined;
}

export interface Commits {
  /**
   * Whatever is written next belongs to a group, whose promise is kept once that is as safe as it has to be. Fails if
   * another process is writing, or if the disk does not confirm what was written before.
   */
  join(durability: Durability): Promise<void>;
  /** After a statement that failed: some failures undo all that had been written since the last commit. */
  looksAfter(error: unknown): void;
  /** Commits what there is to commit. Nobody may be in the middle of a transaction. */
  commit(): void;
}

/**
 * To commit takes longer than to write. So it is put off until the end of this turn of the event loop, for all who write
 * in the same turn: `later` has to call `commit` then. Nobody is answered before.
 */
export function newCommits({ file, log, run }: Connection, later: () => void): Commits {
  let group: Group | undefined;

  function commit(): void {
    const ended = group;
    group = undefined;
    if (!ended) return;
    try {
      run('commit');
    } catch (error) {
      fail(ended, translate(error));
      if (file.isTransaction) file.exec('rollback');
      return;
    }
    // Before anything else runs: `log.syncing()` must include this commit.
    if (ended.onDisk) log.sync().then(ended.onDisk.resolve, ended.onDisk.reject);
    ended.committed.resolve();
  }

  function open(): Group {
    // To wait in here would keep everyone waiting.
    file.exec('pragma busy_timeout = 0');
    try {
      // Whoever reads first and writes later could otherwise lose the race for the write lock.
      run('begin immediate');
    } finally {
      file.exec(`pragma busy_timeout = ${BUSY_MS}`);
    }
    later();
    return { committed: newPromise(), onDisk: undefined };
  }

  return {
    join(durability) {
      // Nothing is committed that could not be confirmed: an app would lose the token that a refresh replaced.
      log.assertNotStalled();
      group ??= open();
      if (durability === 'recoverable') return group.committed.promise;
      group.onDisk ??= newPromise();
      return group.onDisk.promise;
    },
    looksAfter(error) {
      if (!group || file.isTransaction) return;
      fail(group, error);
      group = undefined;
    },
    commit,
  };
}

function fail({ committed, onDisk }: Group, reason: unknown): void {
  committed.reject(reason);
  onDisk?.reject(reason);
}

/** Whoever wrote waits for it; if nobody does, its failure is nobody's concern. */
function newPromise(): PromiseWithResolvers<void> {
  const made = Promise.withResolvers<void>();
  made.promise.catch(() => {});
  return made;
}
