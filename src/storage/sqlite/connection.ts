import { existsSync, mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { StorageError } from '../errors.ts';
import { refuseEmptied } from './assert-not-truncated.ts';
import { BUSY_MS } from './busy.ts';
import { LOG_SETTINGS } from './checkpoints.ts';
import { type Kind, kindOf } from './kinds.ts';
import { type ReadRows, returnArrays } from './rows.ts';
import { type Log, openLog } from './wal-sync.ts';

const MOST_STATEMENTS = 300;

/** The open file, its log, and whatever has been asked of it before, ready to be asked again. */
export interface Connection {
  file: DatabaseSync;
  log: Log;
  prepare(text: string): Prepared;
  /** For what takes no values and returns no rows; no pragma, since some of those act when they are prepared. */
  run(text: string): void;
}

export function openConnection(path: string): Connection {
  try {
    const file = openFile(path);
    const prepare = newPreparer(file);
    return { file, log: openLog(path), prepare, run: (text) => void prepare(text).statement.run() };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StorageError(`DATABASE_URL points at ${path}, which cannot be opened as a database: ${reason}.`);
  }
}

function openFile(path: string): DatabaseSync {
  if (path !== ':memory:') mkdirSync(dirname(resolve(path)), { recursive: true });
  refuseEmptied(path);
  const isNew = !existsSync(path);
  const file = new DatabaseSync(path, { timeout: BUSY_MS });
  // Only possible before anything is stored. On a file that exists it would wait for other writers, and change nothing.
  if (isNew) file.exec('PRAGMA auto_vacuum = INCREMENTAL');
  keepLog(file);
  file.exec('PRAGMA foreign_keys = ON');
  // 16 MB: room for the upper pages of every index over millions of grants.
  file.exec('PRAGMA cache_size = -16384');
  // While it may have to undo something, it would otherwise write parts of the database to files elsewhere.
  file.exec('PRAGMA temp_store = MEMORY');
  file.exec(LOG_SETTINGS);
  // SQLite's own knows the letters of English only, and people search for names in any language.
  file.function('lower', { deterministic: true }, (text) => (typeof text === 'string' ? text.toLowerCase() : text));
  return file;
}

/** NORMAL: to commit is not to wait for the disk. Whoever has to, waits for the log. */
function keepLog(file: DatabaseSync): void {
  const mode = file.prepare('PRAGMA journal_mode = WAL').get()?.journal_mode;
  if (mode !== 'wal' && mode !== 'memory') throw new Error(`no write-ahead log can be kept there (${mode})`);
  // The file of the log is there once something has been read.
  file.exec('PRAGMA synchronous = NORMAL; SELECT 1 FROM sqlite_schema');
}

interface Prepared {
  statement: StatementSync;
  /** Undefined if it returns no rows. */
  readRows: ReadRows | undefined;
  kind: Kind;
}

function newPreparer(file: DatabaseSync): (text: string) => Prepared {
  const prepared = new Map<string, Prepared>();
  return (text) => {
    const known = prepared.get(text);
    if (known) return known;
    const statement = file.prepare(text);
    const fresh = { statement, readRows: returnArrays(statement), kind: kindOf(text) };
    if (prepared.size >= MOST_STATEMENTS) prepared.clear();
    prepared.set(text, fresh);
    return fresh;
  };
}
