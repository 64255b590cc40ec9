import { existsSync, rmSync } from 'node:fs';
import { backup, DatabaseSync } from 'node:sqlite';
import { StorageError } from '../storage.ts';
import { BUSY_TIMEOUT, isBusy } from './connection.ts';

/** Pages between two progress reports. */
const PAGES_PER_STEP = 2500;

export type OnProgress = (remainingPages: number, totalPages: number) => void;

/**
 * Copies a snapshot of a database while other processes write to it: in WAL mode a read transaction blocks no writer.
 * A database at `to` is replaced in one transaction.
 */
export async function copyDatabase(from: string, to: string, onProgress: OnProgress = () => {}): Promise<void> {
  let source: DatabaseSync | undefined;
  try {
    source = new DatabaseSync(from, { readOnly: true, timeout: BUSY_TIMEOUT });
    source.exec('begin; select count(*) from sqlite_schema');
    const progress = ({ remainingPages, totalPages }: Progress) => onProgress(remainingPages, totalPages);
    await backup(source, to, { rate: PAGES_PER_STEP, progress });
  } catch (error) {
    const reason = error instanceof Error ? error.message : error;
    throw new StorageError(`${from} cannot be copied to ${to}: ${reason}.`);
  } finally {
    source?.close();
  }
}

interface Progress {
  remainingPages: number;
  totalPages: number;
}

/** Leaves WAL mode, so that the database is one file. */
export function makeSingleFile(file: string): void {
  const database = new DatabaseSync(file);
  try {
    database.exec('pragma journal_mode = delete');
  } finally {
    database.close();
  }
}

/** Describes what is wrong with a file; undefined if it is an intact database of Gatehouse. Does not change it. */
export function findFault(file: string): string | undefined {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(file, { readOnly: true });
    const isOurs = database.prepare("select 1 from sqlite_schema where type = 'table' and name = 'migrations'").get();
    const applied = isOurs && database.prepare("select 1 from migrations where name = '001-initial'").get();
    if (!applied) return 'it is a database of another program';
    const [first] = database.prepare('pragma integrity_check(1)').all();
    const result = String(Object.values(first ?? {})[0]);
    return result === 'ok' ? undefined : `it is damaged (${result.split('\n').at(-1)})`;
  } catch (error) {
    return `it cannot be read as a database (${error instanceof Error ? error.message : error})`;
  } finally {
    database?.close();
  }
}

/** Whether another connection, such as that of a running server, has the file open. */
export function isInUse(file: string): boolean {
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    database.exec('pragma locking_mode = exclusive; begin exclusive; rollback');
    return false;
  } catch (error) {
    if (isBusy(error)) return true;
    throw error;
  } finally {
    database.close();
  }
}

/** With its log and journal files. */
export function removeDatabase(file: string): void {
  for (const ending of ['', '-wal', '-shm', '-journal']) {
    if (existsSync(file + ending)) rmSync(file + ending);
  }
}
