import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { constants, DatabaseSync, type StatementSync } from 'node:sqlite';
import { SECOND, systemClock } from '../../lib/clock.ts';
import { StorageError, StorageUnavailable } from '../storage.ts';
import { openWal, type Wal } from './wal-sync.ts';

/** How long to wait for another process: the command line, a backup, another worker. */
export const BUSY_TIMEOUT = 5 * SECOND;

/**
 * 64 MB. Checkpoints usually run in a thread; from this size on, each commit runs one as well. A reader can keep the log
 * from restarting, so that it grows further; it is truncated to this size when it restarts.
 */
const MAX_WAL_PAGES = 16384;
export const WAL_SETTINGS = `PRAGMA wal_autocheckpoint = ${MAX_WAL_PAGES}; PRAGMA journal_size_limit = ${MAX_WAL_PAGES * 4096}`;

const MAX_STATEMENTS = 300;

/** One open database file with a cache of compiled statements. */
export interface Connection {
  file: DatabaseSync;
  wal: Wal;
  prepare(text: string): Prepared;
  /** For statements without parameters and rows. Not for pragmas: some take effect when they are compiled. */
  run(text: string): void;
}

export function openConnection(path: string): Connection {
  try {
    const file = openFile(path);
    const prepare = createStatementCache(file);
    return { file, wal: openWal(path), prepare, run: (text) => void prepare(text).statement.run() };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StorageError(`DATABASE_URL points at ${path}, which cannot be opened as a database: ${reason}.`);
  }
}

function openFile(path: string): DatabaseSync {
  if (path !== ':memory:') mkdirSync(dirname(resolve(path)), { recursive: true });
  assertNotTruncated(path);
  const isNew = !existsSync(path);
  const file = new DatabaseSync(path, { timeout: BUSY_TIMEOUT });
  // Has no effect once there are tables, but would wait for other writers.
  if (isNew) file.exec('PRAGMA auto_vacuum = INCREMENTAL');
  enableWal(file);
  file.exec('PRAGMA foreign_keys = ON');
  // 16 MB: the upper pages of every index over millions of grants.
  file.exec('PRAGMA cache_size = -16384');
  // Statement journals would otherwise be written to temporary files.
  file.exec('PRAGMA temp_store = MEMORY');
  file.exec(WAL_SETTINGS);
  // SQLite's own `lower` knows only ASCII.
  file.function('lower', { deterministic: true }, (text) => (typeof text === 'string' ? text.toLowerCase() : text));
  return file;
}

/** With NORMAL a commit does not wait for the disk; durable writes wait for `wal.sync`. */
function enableWal(file: DatabaseSync): void {
  const mode = file.prepare('PRAGMA journal_mode = WAL').get()?.journal_mode;
  if (mode !== 'wal' && mode !== 'memory') throw new Error(`its file system does not support WAL mode (${mode})`);
  // SQLite creates the log file at the first read.
  file.exec('PRAGMA synchronous = NORMAL; SELECT 1 FROM sqlite_schema');
}

/** A new database is an empty file until its first page is written; for no longer than this. */
const CREATED_WITHIN = 2 * SECOND;
const POLL_INTERVAL = 50;

/**
 * SQLite takes an empty file for a new database. Without this check, a database whose file was truncated would start
 * empty and reject every token.
 */
function assertNotTruncated(path: string): void {
  const since = systemClock();
  while (statSync(path, { throwIfNoEntry: false })?.size === 0) {
    if (systemClock() - since > CREATED_WITHIN) {
      throw new Error('the file is empty. To start with a new database, remove it; otherwise restore a backup');
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, POLL_INTERVAL);
  }
}

/** `other` statements, such as VACUUM and PRAGMA, run outside of transactions. */
export type Access = 'read' | 'write' | 'other';

export interface Prepared {
  statement: StatementSync;
  access: Access;
  /** Undefined if the statement returns no rows. */
  toRows: ToRows | undefined;
}

function createStatementCache(file: DatabaseSync): (text: string) => Prepared {
  const cache = new Map<string, Prepared>();
  // SQLite reports every action of a statement while it compiles it.
  const actions = new Set<number>();
  file.setAuthorizer((action) => {
    actions.add(action);
    return constants.SQLITE_OK;
  });
  return (text) => {
    const known = cache.get(text);
    if (known) return known;
    actions.clear();
    const statement = file.prepare(text);
    const prepared = { statement, access: accessOf(actions), toRows: returnArrays(statement) };
    if (cache.size >= MAX_STATEMENTS) cache.clear();
    cache.set(text, prepared);
    return prepared;
  };
}

const { SQLITE_SELECT, SQLITE_READ, SQLITE_FUNCTION, SQLITE_RECURSIVE } = constants;
const { SQLITE_PRAGMA, SQLITE_TRANSACTION, SQLITE_SAVEPOINT, SQLITE_ATTACH, SQLITE_DETACH } = constants;
const READ_ACTIONS = new Set([SQLITE_SELECT, SQLITE_READ, SQLITE_FUNCTION, SQLITE_RECURSIVE]);
const OTHER_ACTIONS = new Set([SQLITE_PRAGMA, SQLITE_TRANSACTION, SQLITE_SAVEPOINT, SQLITE_ATTACH, SQLITE_DETACH]);

function accessOf(actions: Set<number>): Access {
  if (actions.size === 0 || !actions.isDisjointFrom(OTHER_ACTIONS)) return 'other';
  return actions.isSubsetOf(READ_ACTIONS) ? 'read' : 'write';
}

export type ToRows = <Row>(found: unknown) => Row[];

/** Makes a statement return arrays, which is faster than the binding's objects, and returns a function that converts them to rows. */
export function returnArrays(statement: StatementSync): ToRows | undefined {
  statement.setReturnArrays(true);
  const readNames = () => statement.columns().map(({ name }) => name);
  let names = readNames();
  if (names.length === 0) return undefined;
  // A copy of an object that has all properties is faster to fill than an empty one.
  let empty = rowOfNulls(names);
  return <Row>(found: unknown) => {
    const arrays = found as unknown[][];
    // Another process may have added a column: SQLite compiles `select *` again then.
    if (arrays[0] && arrays[0].length !== names.length) {
      names = readNames();
      empty = rowOfNulls(names);
    }
    const rows: Record<string, unknown>[] = [];
    for (const values of arrays) {
      const row = { ...empty };
      for (let i = 0; i < names.length; i++) row[names[i] as string] = values[i];
      rows.push(row);
    }
    return rows as Row[];
  };
}

function rowOfNulls(names: string[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, null]));
}

/** SQLite's result codes about the file, the disk or another process, and not about the statement. */
const UNAVAILABLE = new Map([
  [5, 'locked by another process'],
  [6, 'locked'],
  [8, 'read-only'],
  [10, 'failing to read or write'],
  [11, 'damaged'],
  [13, 'out of disk space'],
  [14, 'impossible to open'],
  [26, 'not a database'],
]);

function resultCode(error: unknown): number | undefined {
  return error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : undefined;
}

export const isBusy = (error: unknown): boolean => resultCode(error) === 5;

/** A StorageUnavailable if the error is one of the file or the disk; any other error as it is. */
export function translateError(error: unknown): unknown {
  const condition = UNAVAILABLE.get(resultCode(error) ?? 0);
  return condition ? new StorageUnavailable(`The database file is ${condition}.`, { cause: error }) : error;
}
