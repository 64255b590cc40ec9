import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  Kysely,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
} from 'kysely';
import { StorageUnavailable } from '../errors.ts';
import { addShortcut } from '../prepared.ts';
import { statementLog } from '../statements.ts';
import type { Storage } from '../storage.ts';
import type { Tables } from '../tables.ts';
import { newCheckpoints } from './checkpoints.ts';
import { type Connection, openConnection } from './connection.ts';
import { translate } from './errors.ts';
import { type Lock, newLock } from './file-lock.ts';
import { hasPagesToRelease, RELEASE_PAGES } from './free-pages.ts';
import { type Commits, type Durability, newCommits } from './group-commit.ts';
import { newReads, type ReadInTurn } from './reads.ts';
import { withoutRowLocks } from './row-locks.ts';
import { type Enter, newEntrance } from './write-lock.ts';

export function openSqlite(path: string): Storage {
  const connection = openConnection(path);
  const { file, log } = connection;
  const lock = newLock();
  const commits = newCommits(connection, () => setImmediate(commitInTurn, checkpoints.note));
  const commitInTurn = async (andThen: () => void) => {
    await lock.take();
    try {
      commits.commit();
      andThen();
    } finally {
      lock.release();
    }
  };
  const checkpoints = newCheckpoints(path, () => commitInTurn(() => finishCheckpoint(file)));
  const enter = newEntrance(lock, commits);
  const engine = { ...connection, lock, commits, enter, readInTurn: newReads(connection, lock, commits) };
  const common = { plugins: [withoutRowLocks], ...statementLog() };
  const durable = new Kysely<Tables>({ dialect: dialect(engine, 'durable'), ...common });
  const recoverable = new Kysely<Tables>({ dialect: dialect(engine, 'recoverable'), ...common });
  addShortcut(durable, executeAlone(engine, 'durable'));
  addShortcut(recoverable, executeAlone(engine, 'recoverable'));
  return {
    durable,
    relaxed: recoverable,
    migratesItself: true,
    types: {
      id: sql`text`,
      bytes: sql`blob`,
      integer: sql`integer`,
      time: sql`integer`,
      amount: sql`text`,
      updatedInPlace: sql``,
      appendOnly: (table, retention) => {
        const reject = (verb: string, when: string) =>
          `create trigger ${table}_no_${verb} before ${verb} on ${table} ${when} begin select raise(abort, '${table} is append-only'); end`;
        return [
          reject('update', ''),
          reject('delete', `when not exists (select 1 from ${retention} where old.at < removable_before)`),
          // `insert or replace` removes a row without firing delete triggers.
          reject('insert', `when exists (select 1 from ${table} where id = new.id)`),
        ];
      },
    },
    transaction: (work) =>
      durable.transaction().execute((db) => {
        addShortcut(db, executeWithin(engine));
        return work(db);
      }),
    async check() {
      // It has to look into the file: a bare `select 1` would not notice that it is locked or gone.
      await sql`select 1 from sqlite_schema limit 1`.execute(durable);
    },
    flushed: log.syncing,
    releaseFreePages: () => releaseFreePages(engine),
    async close() {
      await lock.take();
      commits.commit();
      // Nobody was told that a write succeeded which the disk has not confirmed.
      await log.syncing()?.catch(() => {});
      await checkpoints.stop();
      if (file.isOpen) {
        log.close();
        file.close();
      }
      lock.release();
    },
  };
}

function finishCheckpoint(file: DatabaseSync): void {
  try {
    file.exec('PRAGMA wal_checkpoint(PASSIVE)');
  } catch {
    // What could not be brought over stands in the log as before.
  }
}

/**
 * One connection serves both durability classes: two that write in one thread would block each other, since a
 * transaction may span an `await`.
 */
function dialect(engine: Engine, durability: Durability): Dialect {
  const { file, lock, run } = engine;
  const connection = connect(engine, durability);
  const driver: Driver = {
    async init() {},
    async acquireConnection() {
      await lock.take();
      return connection;
    },
    releaseConnection: async () => lock.giveBack(),
    async beginTransaction() {
      await enterFor(engine, durability);
      attempt(engine, () => run('savepoint work'));
      lock.isInTransaction = true;
    },
    async commitTransaction() {
      attempt(engine, () => run('release work'));
    },
    // SQLite undoes all by itself after some failures (disk full, I/O error).
    async rollbackTransaction() {
      if (file.isTransaction) attempt(engine, () => file.exec('rollback to work; release work'));
    },
    async destroy() {},
  };
  return {
    createDriver: () => driver,
    createAdapter: () => adapter,
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createIntrospector: (db) => new SqliteIntrospector(db),
  };
}

/** Kysely leaves both off for SQLite: our own lock guards the one connection, and SQLite does roll back its DDL. */
const adapter: SqliteAdapter = Object.create(new SqliteAdapter(), {
  supportsMultipleConnections: { value: true },
  supportsTransactionalDdl: { value: true },
});

function connect(engine: Engine, durability: Durability): DatabaseConnection {
  return {
    async executeQuery<Row>({ sql: text, parameters }: CompiledQuery) {
      const { kind } = attempt(engine, () => engine.prepare(text));
      if (kind === 'write' && !engine.lock.isInTransaction) await enterFor(engine, durability);
      return execute<Row>(engine, text, parameters);
    },
    streamQuery() {
      throw new Error('Nothing here streams: every list is read page by page.');
    },
  };
}

/** For whoever has the lock, and has entered if it writes. What only reads may do without while nobody has the lock. */
function execute<Row>(engine: Engine, text: string, parameters: readonly unknown[]) {
  const { file, lock, commits, prepare } = engine;
  return attempt(engine, (): QueryResult<Row> => {
    const { statement, readRows, kind } = prepare(text);
    if (lock.isInTransaction && !file.isTransaction) throw new StorageUnavailable('The transaction was undone.');
    // Reads see committed rows only, and what is neither a read nor a write belongs in no transaction.
    if (kind !== 'write' && !lock.isInTransaction) commits.commit();
    const values = parameters as readonly SQLInputValue[];
    if (readRows) return { rows: readRows<Row>(statement.all(...values)) };
    return { rows: [], numAffectedRows: BigInt(statement.run(...values).changes) };
  });
}

/** One statement by itself, as Kysely would have it. */
function executeAlone(engine: Engine, durability: Durability) {
  const { lock, prepare, readInTurn } = engine;
  return async <Row>(text: string, values: unknown[]) => {
    const { kind } = attempt(engine, () => prepare(text));
    if (kind === 'read') return readInTurn(() => execute<Row>(engine, text, values));
    await lock.take();
    try {
      if (kind === 'write') await enterFor(engine, durability);
      return execute<Row>(engine, text, values);
    } finally {
      const written = lock.giveBack();
      if (written) await written;
    }
  };
}

/** The same for a statement of a transaction, whose is the lock. */
function executeWithin(engine: Engine) {
  return async <Row>(text: string, values: unknown[]) => execute<Row>(engine, text, values);
}

/** `exec`, since a prepared statement would release a single page. */
async function releaseFreePages(engine: Engine): Promise<boolean> {
  const { file, lock } = engine;
  await lock.take();
  try {
    if (!hasPagesToRelease(file)) return false;
    await enterFor(engine, 'recoverable');
    attempt(engine, () => file.exec(RELEASE_PAGES));
  } finally {
    const written = lock.giveBack();
    if (written) await written;
  }
  return true;
}

async function enterFor({ enter }: Engine, durability: Durability): Promise<void> {
  try {
    await enter(durability);
  } catch (error) {
    throw translate(error);
  }
}

function attempt<Result>({ commits }: Engine, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    const translated = translate(error);
    commits.looksAfter(translated);
    throw translated;
  }
}

interface Engine extends Connection {
  lock: Lock;
  commits: Commits;
  enter: Enter;
  readInTurn: ReadInTurn;
}
