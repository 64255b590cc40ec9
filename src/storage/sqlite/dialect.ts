import type { SQLInputValue } from 'node:sqlite';
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type KyselyPlugin,
  type QueryResult,
  type SelectQueryNode,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import type { RunQuery } from '../prepared-query.ts';
import { StorageUnavailable } from '../storage.ts';
import { type Connection, type Prepared, translateError } from './connection.ts';
import type { Durability, GroupCommit } from './group-commit.ts';
import type { BatchRead } from './read-batch.ts';
import type { BeginWrite, ConnectionLock } from './write-lock.ts';

export interface Engine extends Connection {
  lock: ConnectionLock;
  commits: GroupCommit;
  beginWrite: BeginWrite;
  batchRead: BatchRead;
}

/** Each transaction is a savepoint of the group that is committed next. */
export function createDialect(engine: Engine, durability: Durability): Dialect {
  const { file, lock, run } = engine;
  const connection = createConnection(engine, durability);
  const driver: Driver = {
    async init() {},
    async acquireConnection() {
      await lock.acquire();
      return connection;
    },
    releaseConnection: async () => lock.release(),
    async beginTransaction() {
      await engine.beginWrite(durability);
      attempt(engine, () => run('savepoint work'));
      lock.isInTransaction = true;
    },
    async commitTransaction() {
      attempt(engine, () => run('release work'));
    },
    // After some errors (disk full, I/O error) SQLite has rolled back everything already.
    async rollbackTransaction() {
      if (file.isTransaction) attempt(engine, () => file.exec('rollback to work; release work'));
    },
    async destroy() {},
  };
  return {
    createDriver: () => driver,
    createAdapter,
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createIntrospector: (db) => new SqliteIntrospector(db),
  };
}

/** Kysely turns both off for SQLite, but our lock guards the connection, and SQLite can roll back DDL. */
const createAdapter = (): SqliteAdapter =>
  Object.create(new SqliteAdapter(), {
    supportsMultipleConnections: { value: true },
    supportsTransactionalDdl: { value: true },
  });

function createConnection(engine: Engine, durability: Durability): DatabaseConnection {
  return {
    async executeQuery<Row>({ sql, parameters }: CompiledQuery) {
      const prepared = attempt(engine, () => engine.prepare(sql));
      if (prepared.access === 'write' && !engine.lock.isInTransaction) await engine.beginWrite(durability);
      return execute<Row>(engine, prepared, parameters);
    },
    streamQuery() {
      throw new Error('Streaming is not supported: lists are read page by page.');
    },
  };
}

/** Needs the connection lock, and `beginWrite` for a write. A read needs the lock only if a transaction has it. */
function execute<Row>(engine: Engine, prepared: Prepared, parameters: readonly unknown[]): QueryResult<Row> {
  const { file, lock, commits } = engine;
  const { statement, toRows, access } = prepared;
  return attempt(engine, () => {
    if (lock.isInTransaction && !file.isTransaction) throw new StorageUnavailable('The transaction was rolled back.');
    // Reads see committed rows only, and other statements must run outside of a transaction.
    if (access !== 'write' && !lock.isInTransaction) commits.commit();
    const values = parameters as readonly SQLInputValue[];
    if (toRows) return { rows: toRows<Row>(statement.all(...values)) };
    return { rows: [], numAffectedRows: BigInt(statement.run(...values).changes) };
  });
}

export function runAlone(engine: Engine, durability: Durability): RunQuery {
  const { lock, prepare, batchRead } = engine;
  return async <Row>({ sql }: CompiledQuery, values: unknown[]) => {
    const prepared = attempt(engine, () => prepare(sql));
    if (prepared.access === 'read') return batchRead(() => execute<Row>(engine, prepared, values));
    await lock.acquire();
    try {
      if (prepared.access === 'write') await engine.beginWrite(durability);
      return execute<Row>(engine, prepared, values);
    } finally {
      const pendingCommit = lock.release();
      if (pendingCommit) await pendingCommit;
    }
  };
}

/** The transaction holds the connection lock. */
export function runInTransaction(engine: Engine): RunQuery {
  return async <Row>({ sql }: CompiledQuery, values: unknown[]) => {
    const prepared = attempt(engine, () => engine.prepare(sql));
    return execute<Row>(engine, prepared, values);
  };
}

/** 128 KB at a time: it blocks the event loop for a few milliseconds. */
const PAGES_PER_VACUUM = 32;
/** Rows that come and go reuse free pages; without them the file would shrink and grow all day. */
const FREE_SHARE = 1 / 4;
/** A file that was created without `auto_vacuum = INCREMENTAL` cannot be vacuumed in steps. */
const INCREMENTAL = 2;

/** Returns free pages to the file system; false if there are too few. */
export async function vacuumStep(engine: Engine): Promise<boolean> {
  const { file, lock } = engine;
  const read = (name: string) => Number(Object.values(file.prepare(`PRAGMA ${name}`).get() ?? {})[0]);
  await lock.acquire();
  try {
    if (read('auto_vacuum') !== INCREMENTAL || read('freelist_count') <= read('page_count') * FREE_SHARE) return false;
    await engine.beginWrite('relaxed');
    // With `exec`: a prepared statement would release a single page.
    attempt(engine, () => file.exec(`PRAGMA incremental_vacuum(${PAGES_PER_VACUUM})`));
  } finally {
    const pendingCommit = lock.release();
    if (pendingCommit) await pendingCommit;
  }
  return true;
}

function attempt<Result>({ commits }: Engine, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    const translated = translateError(error);
    commits.onStatementError(translated);
    throw translated;
  }
}

/** A transaction locks the whole database, so `for update` and `for share` are unnecessary, and a syntax error. */
export const omitRowLocks: KyselyPlugin = {
  transformQuery: ({ node }) => (node.kind === 'SelectQueryNode' ? omitEndModifiers(node) : node),
  transformResult: async ({ result }) => result,
};

function omitEndModifiers({ endModifiers: _, ...node }: SelectQueryNode): SelectQueryNode {
  return node;
}
