import { mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  Kysely,
  type KyselyPlugin,
  type SelectQueryNode,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
} from 'kysely';
import { StorageRefused, StorageUnavailable } from '../errors.ts';
import type { Storage } from '../storage.ts';
import type { Tables } from '../tables.ts';

/** How long a writer waits for another process (the command line, a backup) to finish. */
const BUSY_MS = 5000;
const MOST_STATEMENTS = 300;

export function openSqlite(path: string): Storage {
  const file = openFile(path);
  const lock = newLock();
  const engine = { file, lock, prepare: newPreparer(file) };
  const durable = new Kysely<Tables>({ dialect: dialect(engine, 'FULL'), plugins: [withoutRowLocks] });
  const recoverable = new Kysely<Tables>({ dialect: dialect(engine, 'NORMAL'), plugins: [withoutRowLocks] });
  return {
    durable,
    recoverable,
    migratesItself: true,
    types: {
      id: sql`text`,
      bytes: sql`blob`,
      integer: sql`integer`,
      time: sql`integer`,
      amount: sql`text`,
      updatedInPlace: sql``,
      // `insert or replace` removes a row without asking the trigger for removals.
      appendOnly: (table) =>
        ['update', 'delete', 'insert'].map((verb) => {
          const when = verb === 'insert' ? `when exists (select 1 from ${table} where id = new.id)` : '';
          return `create trigger ${table}_no_${verb} before ${verb} on ${table} ${when} begin select raise(abort, '${table} is append-only'); end`;
        }),
    },
    atomically: (work) => durable.transaction().execute(work),
    async check() {
      // It has to look into the file: a bare `select 1` would not notice that it is locked or gone.
      await sql`select 1 from sqlite_schema limit 1`.execute(durable);
    },
    async close() {
      await lock.take();
      if (file.isOpen) file.close();
      lock.release();
    },
  };
}

/** Here a transaction has the whole database: `for update skip locked` means nothing, and is not even understood. */
const withoutRowLocks: KyselyPlugin = {
  transformQuery: ({ node }) => (node.kind === 'SelectQueryNode' ? omit(node) : node),
  transformResult: async ({ result }) => result,
};

function omit({ endModifiers: _, ...node }: SelectQueryNode): SelectQueryNode {
  return node;
}

function openFile(path: string): DatabaseSync {
  try {
    if (path !== ':memory:') mkdirSync(dirname(resolve(path)), { recursive: true });
    const file = new DatabaseSync(path, { timeout: BUSY_MS });
    file.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON');
    // SQLite's own knows the letters of English only, and people search for names in any language.
    file.function('lower', { deterministic: true }, (text) => (typeof text === 'string' ? text.toLowerCase() : text));
    return file;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StorageRefused(`DATABASE_URL points at ${path}, which cannot be opened as a database: ${reason}.`);
  }
}

/**
 * One connection serves both durability classes: two that write in one thread would block each other, since a
 * transaction may span an `await`.
 */
function dialect(engine: Engine, synchronous: Synchronous): Dialect {
  const { file, lock } = engine;
  const connection = connect(engine, synchronous);
  const run = (text: string) => connection.executeQuery(CompiledQuery.raw(text));
  const driver: Driver = {
    async init() {},
    async acquireConnection() {
      await lock.take();
      return connection;
    },
    async releaseConnection() {
      lock.release();
    },
    // IMMEDIATE: a transaction that reads first and writes later could otherwise lose the race for the write lock.
    async beginTransaction() {
      await run('begin immediate');
    },
    async commitTransaction() {
      await run('commit');
    },
    // SQLite ends the transaction by itself after some failures (disk full, I/O error).
    async rollbackTransaction() {
      if (file.isTransaction) await run('rollback');
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

interface Prepared {
  statement: StatementSync;
  returnsRows: boolean;
  writes: boolean;
}

function newPreparer(file: DatabaseSync): (text: string) => Prepared {
  const prepared = new Map<string, Prepared>();
  return (text) => {
    const known = prepared.get(text);
    if (known) return known;
    const statement = file.prepare(text);
    const fresh = { statement, returnsRows: statement.columns().length > 0, writes: !/^select\b/i.test(text) };
    if (prepared.size >= MOST_STATEMENTS) prepared.clear();
    prepared.set(text, fresh);
    return fresh;
  };
}

/** Whoever writes first sets `synchronous` to what its class needs; a transaction does so before it begins. */
function connect({ file, lock, prepare }: Engine, synchronous: Synchronous): DatabaseConnection {
  return {
    async executeQuery<Result>({ sql: text, parameters }: CompiledQuery) {
      try {
        const { statement, returnsRows, writes } = prepare(text);
        if (writes && lock.synchronous !== synchronous) {
          file.exec(`PRAGMA synchronous = ${synchronous}`);
          lock.synchronous = synchronous;
        }
        const values = parameters as readonly SQLInputValue[];
        if (returnsRows) return { rows: statement.all(...values) as Result[] };
        return { rows: [], numAffectedRows: BigInt(statement.run(...values).changes) };
      } catch (error) {
        throw translate(error);
      }
    },
    streamQuery() {
      throw new Error('Nothing here streams: every list is read page by page.');
    },
  };
}

/** SQLite's result codes that speak of the disk, the file or another process, and not of the statement. */
const UNAVAILABLE = new Map([
  [5, 'locked by another process'],
  [6, 'locked'],
  [8, 'read-only'],
  [10, 'failing to read or write'],
  [11, 'damaged'],
  [13, 'out of disk space'],
  [14, 'not to be opened'],
  [26, 'not a database'],
]);

function translate(error: unknown): unknown {
  if (!(error instanceof Error && 'errcode' in error)) return error;
  const trouble = UNAVAILABLE.get(Number(error.errcode) & 0xff);
  return trouble ? new StorageUnavailable(`The database file is ${trouble}.`, { cause: error }) : error;
}

interface Engine {
  file: DatabaseSync;
  lock: Lock;
  prepare(text: string): Prepared;
}

type Synchronous = 'FULL' | 'NORMAL';

interface Lock {
  synchronous: Synchronous;
  take(): Promise<void>;
  release(): void;
}

function newLock(): Lock {
  const waiting: (() => void)[] = [];
  let taken = false;
  return {
    synchronous: 'FULL',
    async take() {
      if (taken) await new Promise<void>((resolve) => waiting.push(resolve));
      taken = true;
    },
    release() {
      const next = waiting.shift();
      if (next) next();
      else taken = false;
    },
  };
}
