import type { Connection } from './sqlite-connection.ts';
import { translate } from './sqlite-errors.ts';
import type { Begin } from './sqlite-turns.ts';

/** FULL: a commit waits for the disk. NORMAL: it does not, and a power cut may undo it. */
export type Synchronous = 'FULL' | 'NORMAL';

/** Writes that are committed together: either all of them are kept, or none. */
interface Group {
  synchronous: Synchronous;
  committed: Promise<void>;
  resolve(): void;
  reject(reason: unknown): void;
}

export interface Commits {
  /** Whatever is written next belongs to a group, whose promise is kept once that is committed. */
  join(synchronous: Synchronous): Promise<void>;
  /** After a statement that failed: some failures undo all that had been written since the last commit. */
  looksAfter(error: unknown): void;
  /** Commits what there is to commit. Nobody may be in the middle of a transaction. */
  commit(): void;
  /** What has been written and is not committed yet. */
  pending(): Promise<void> | undefined;
}

/**
 * A commit that waits for the disk takes longer than all the rest of a request, and while it waits nothing else is done.
 * So it is put off until the end of this turn of the event loop, for all who write in the same turn: `later` has to
 * call `commit` then. Nobody is answered before.
 */
export function newCommits(connection: Connection, begin: Begin, later: () => void): Commits {
  const { file, run } = connection;
  let current: Synchronous | undefined;
  let group: Group | undefined;

  function end(finish: (group: Group) => void): void {
    const ended = group;
    group = undefined;
    if (ended) finish(ended);
  }

  function commit(): void {
    end(({ resolve, reject }) => {
      try {
        run('commit');
        resolve();
      } catch (error) {
        reject(translate(error));
        if (file.isTransaction) file.exec('rollback');
      }
    });
  }

  function open(synchronous: Synchronous): Group {
    if (current !== synchronous) file.exec(`PRAGMA synchronous = ${synchronous}`);
    current = synchronous;
    begin(connection);
    const { promise: committed, resolve, reject } = Promise.withResolvers<void>();
    committed.catch(() => {});
    group = { synchronous, committed, resolve, reject };
    later();
    return group;
  }

  return {
    join(synchronous) {
      // What must be on disk cannot join those who need not; the other way round it can.
      if (group?.synchronous === 'NORMAL' && synchronous === 'FULL') commit();
      return (group ?? open(synchronous)).committed;
    },
    looksAfter(error) {
      if (group && !file.isTransaction) end(({ reject }) => reject(error));
    },
    commit,
    pending: () => group?.committed,
  };
}
