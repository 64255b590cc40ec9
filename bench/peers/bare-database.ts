import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { type Checkpoints, LOG_SETTINGS, newCheckpoints } from '../../src/storage/sqlite/checkpoints.ts';
import type { Durability } from '../../src/storage/sqlite/group-commit.ts';
import { type ReadRows, returnArrays } from '../../src/storage/sqlite/rows.ts';
import { type Log, openLog } from '../../src/storage/sqlite/wal-sync.ts';
import { STATEMENTS } from './bare-statements.ts';

type Name = keyof typeof STATEMENTS;

/** A row as it comes. */
// biome-ignore lint/suspicious/noExplicitAny: whoever asks knows what they asked for.
export type Row = any;

export interface BareDatabase {
  one(name: Name, ...values: SQLInputValue[]): Row;
  all(name: Name, ...values: SQLInputValue[]): Row[];
  write(durability: Durability, name: Name, ...values: SQLInputValue[]): void;
  atomically<Result>(work: () => Result): Result;
  /** Goes on once all that was written is committed: at once if nothing was. */
  onceCommitted(next: () => void): void;
  close(): Promise<void>;
}

/** The same file and the same pragmas as Gatehouse has, and every statement prepared once. */
export function openBareDatabase(path: string): BareDatabase {
  const file = new DatabaseSync(path, { timeout: 5000 });
  file.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY',
  );
  file.exec(LOG_SETTINGS);
  const prepared = Object.entries(STATEMENTS).map(([name, text]) => [name, file.prepare(text)]);
  const statements = Object.fromEntries(prepared) as Record<Name, StatementSync>;
  const readers = Object.fromEntries(
    Object.entries(statements).map(([name, statement]) => [name, returnArrays(statement)]),
  ) as Record<Name, ReadRows>;
  const all = (name: Name, values: SQLInputValue[]) => readers[name]<Row>(statements[name].all(...values));
  const checkpoints = newCheckpoints(path, async () => commits.finishCheckpoint());
  const log = openLog(path);
  const commits = newCommits(file, { statements, checkpoints, log });
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
      await log.syncing();
      await checkpoints.stop();
      log.close();
      file.close();
    },
  };
}

interface Parts {
  statements: Record<Name, StatementSync>;
  checkpoints: Checkpoints;
  log: Log;
}

/** As in Gatehouse, those who write in one turn of the event loop share a commit, and are answered once it is kept. */
function newCommits(file: DatabaseSync, { statements, checkpoints, log }: Parts) {
  let waiting: (() => void)[] | undefined;
  let isDurable = false;

  function commit(): void {
    const answered = waiting ?? [];
    if (waiting) statements.commit.run();
    const answer = () => {
      for (const next of answered) next();
    };
    if (isDurable) log.sync().then(answer);
    else answer();
    waiting = undefined;
    isDurable = false;
    checkpoints.note();
  }

  return {
    join(durability: Durability): void {
      if (durability === 'durable') isDurable = true;
      if (waiting) return;
      statements.begin.run();
      waiting = [];
      setImmediate(commit);
    },
    finishCheckpoint(): void {
      commit();
      file.exec('PRAGMA wal_checkpoint(PASSIVE)');
    },
    onceCommitted(next: () => void): void {
      if (waiting) waiting.push(next);
      else next();
    },
  };
}
