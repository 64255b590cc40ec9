import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { type Checkpoints, COMMITS_PER_CHECKPOINT, createCheckpoints } from '../../src/storage/sqlite/checkpoint.ts';
import { returnArrays, type ToRows, WAL_SETTINGS } from '../../src/storage/sqlite/connection.ts';
import type { Durability } from '../../src/storage/sqlite/group-commit.ts';
import { openWal, type Wal } from '../../src/storage/sqlite/wal-sync.ts';
import { STATEMENTS } from './bare-statements.ts';

type Name = keyof typeof STATEMENTS;

// biome-ignore lint/suspicious/noExplicitAny: each caller knows the columns of its statement.
export type Row = any;

export interface BareDatabase {
  one(name: Name, ...values: SQLInputValue[]): Row;
  all(name: Name, ...values: SQLInputValue[]): Row[];
  write(durability: Durability, name: Name, ...values: SQLInputValue[]): void;
  atomically<Result>(work: () => Result): Result;
  /** Calls back when all writes are committed; at once if there are none. */
  onceCommitted(next: () => void): void;
  close(): Promise<void>;
}

/** The same file and the same pragmas as Gatehouse has, and every statement prepared once. */
export function openBareDatabase(path: string): BareDatabase {
  const file = new DatabaseSync(path, { timeout: 5000 });
  file.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY',
  );
  file.exec(WAL_SETTINGS);
  const prepared = Object.entries(STATEMENTS).map(([name, text]) => [name, file.prepare(text)]);
  const statements = Object.fromEntries(prepared) as Record<Name, StatementSync>;
  const readers = Object.fromEntries(
    Object.entries(statements).map(([name, statement]) => [name, returnArrays(statement)]),
  ) as Record<Name, ToRows>;
  const all = (name: Name, values: SQLInputValue[]) => readers[name]<Row>(statements[name].all(...values));
  const checkpoints = createCheckpoints(path, file, async (then) => {
    commits.commit();
    then();
  });
  const wal = openWal(path);
  const commits = createGroupCommit({ statements, checkpoints, wal });
  return {
    one: (name, ...values) => all(name, values)[0],
    all: (name, ...values) => all(name, values),
    write(durability, name, ...values) {
      commits.join(durability);
      statements[name].run(...values);
    },
    atomically(work) {
      commits.join('durable');
      statements.savepoint.run();
      const result = work();
      statements.release.run();
      return result;
    },
    onceCommitted: commits.onceCommitted,
    async close() {
      await wal.pendingSync();
      await checkpoints.stop();
      wal.close();
      file.close();
    },
  };
}

interface Deps {
  statements: Record<Name, StatementSync>;
  checkpoints: Checkpoints;
  wal: Wal;
}

/** As in Gatehouse, the writes of one event loop iteration share a commit. */
function createGroupCommit({ statements, checkpoints, wal }: Deps) {
  let waiting: (() => void)[] | undefined;
  let isDurable = false;
  let commits = 0;

  function commit(): void {
    const callbacks = waiting ?? [];
    if (waiting) statements.commit.run();
    const callAll = () => {
      for (const next of callbacks) next();
    };
    if (isDurable) wal.sync().then(callAll);
    else callAll();
    waiting = undefined;
    isDurable = false;
    commits += 1;
    if (commits % COMMITS_PER_CHECKPOINT === 0) checkpoints.start();
  }

  return {
    join(durability: Durability): void {
      if (durability === 'durable') isDurable = true;
      if (waiting) return;
      statements.begin.run();
      waiting = [];
      setImmediate(commit);
    },
    commit,
    onceCommitted(next: () => void): void {
      if (waiting) waiting.push(next);
      else next();
    },
  };
}
