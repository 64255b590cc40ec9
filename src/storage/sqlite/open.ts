import { Kysely, sql } from 'kysely';
import { setRunner } from '../prepared-query.ts';
import { statementLog } from '../statement-log.ts';
import { type ColumnTypes, type Database, inTransaction, type Storage } from '../storage.ts';
import type { Tables } from '../tables.ts';
import { COMMITS_PER_CHECKPOINT, createCheckpoints } from './checkpoint.ts';
import { openConnection } from './connection.ts';
import { createDialect, type Engine, omitRowLocks, runAlone, runInTransaction, vacuumStep } from './dialect.ts';
import { createGroupCommit, type Durability } from './group-commit.ts';
import { createReadBatch } from './read-batch.ts';
import { createConnectionLock, createWriteLock } from './write-lock.ts';

/** One connection serves both durability classes: two connections that write in one thread would block each other. */
export function openSqlite(path: string): Storage {
  const { engine, close } = openEngine(path);
  const durable = openDatabase(engine, 'durable');
  return {
    engine: 'sqlite',
    durable,
    relaxed: openDatabase(engine, 'relaxed'),
    migratesOnStart: true,
    types: COLUMN_TYPES,
    transaction: (work) => inTransaction(durable, work),
    async check() {
      // Reads the file: a bare `select 1` would succeed while it is locked or gone.
      await sql`select 1 from sqlite_schema limit 1`.execute(durable);
    },
    flushed: engine.wal.pendingSync,
    releaseFreePages: () => vacuumStep(engine),
    close,
  };
}

function openDatabase(engine: Engine, durability: Durability): Database {
  const dialect = createDialect(engine, durability);
  const db = new Kysely<Tables>({ dialect, plugins: [omitRowLocks], ...statementLog() });
  setRunner(db, { alone: runAlone(engine, durability), inTransaction: runInTransaction(engine) });
  return db;
}

function openEngine(path: string): { engine: Engine; close(): Promise<void> } {
  const connection = openConnection(path);
  const { file, wal } = connection;
  const lock = createConnectionLock();
  let scheduled = 0;
  const commits = createGroupCommit(connection, () => {
    setImmediate(commit);
    scheduled += 1;
    if (scheduled % COMMITS_PER_CHECKPOINT === 0) checkpoints.start();
  });
  const commit = async (then?: () => void) => {
    await lock.acquire();
    try {
      commits.commit();
      then?.();
    } finally {
      lock.release();
    }
  };
  const checkpoints = createCheckpoints(path, file, commit);
  const [beginWrite, batchRead] = [createWriteLock(lock, commits), createReadBatch(connection, lock, commits)];
  return {
    engine: { ...connection, lock, commits, beginWrite, batchRead },
    async close() {
      await lock.acquire();
      commits.commit();
      // If the sync fails, so do the writes that wait for it.
      await wal.pendingSync()?.catch(() => {});
      await checkpoints.stop();
      if (file.isOpen) {
        wal.close();
        file.close();
      }
      lock.release();
    },
  };
}

const COLUMN_TYPES: ColumnTypes = {
  id: sql`text`,
  bytes: sql`blob`,
  integer: sql`integer`,
  time: sql`integer`,
  amount: sql`text`,
  // Every connection has it (`connection.ts`).
  updatedInPlace: sql``,
  appendOnly(table, retention) {
    const reject = (verb: string, when: string) =>
      `create trigger ${table}_no_${verb} before ${verb} on ${table} ${when} begin select raise(abort, '${table} is append-only'); end`;
    return [
      reject('update', ''),
      reject('delete', `when not exists (select 1 from ${retention} where old.at < removable_before)`),
      // `insert or replace` removes a row without firing delete triggers.
      reject('insert', `when exists (select 1 from ${table} where id = new.id)`),
    ];
  },
};
