import { existsSync, rmSync } from 'node:fs';
import { backup, DatabaseSync } from 'node:sqlite';
import { StorageError } from '../storage.ts';

/** So many pages are copied before anyone is told how far it has come. */
const PAGES_AT_ONCE = 2500;

export type Tell = (pagesLeft: number, pagesInAll: number) => void;

/**
 * Copies a database as it is at one moment, though others write to it meanwhile: a transaction that only reads holds on
 * to that moment, and in WAL mode it is in nobody's way. What stands at `to` is replaced in one transaction.
 */
export async function copyDatabase(from: string, to: string, tell: Tell = () => {}): Promise<void> {
  let source: DatabaseSync | undefined;
  try {
    source = new DatabaseSync(from, { readOnly: true, timeout: 5000 });
    source.exec('begin; select count(*) from sqlite_schema');
    const progress = ({ remainingPages, totalPages }: Progress) => tell(remainingPages, totalPages);
    await backup(source, to, { rate: PAGES_AT_ONCE, progress });
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

/** Makes one file of it, which can be moved and read without any other beside it. */
export function makeSingleFile(file: string): void {
  const database = new DatabaseSync(file);
  try {
    database.exec('pragma journal_mode = delete');
  } finally {
    database.close();
  }
}

/** What is wrong with a file, in words; nothing if it is a sound database of ours. It is not changed by this. */
export function findFault(file: string): string | undefined {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(file, { readOnly: true });
    const isOurs = database.prepare("select 1 from sqlite_schema where type = 'table' and name = 'migrations'").get();
    const applied = isOurs && database.prepare("select 1 from migrations where name = '001-initial'").get();
    if (!applied) return 'it is a database of another program';
    const [first] = database.prepare('pragma integrity_check(1)').all();
    const answer = String(Object.values(first ?? {})[0]);
    return answer === 'ok' ? undefined : `it is damaged (${answer.split('\n').at(-1)})`;
  } catch (error) {
    return `it cannot be read as a database (${error instanceof Error ? error.message : error})`;
  } finally {
    database?.close();
  }
}

/** Whether any other connection has it open, as a server that runs does. */
export function isHeld(file: string): boolean {
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    database.exec('pragma locking_mode = exclusive; begin exclusive; rollback');
    return false;
  } catch (error) {
    if (error instanceof Error && 'errcode' in error && error.errcode === 5) return true;
    throw error;
  } finally {
    database.close();
  }
}

/** With what stands beside it. */
export function removeDatabase(file: string): void {
  for (const ending of ['', '-wal', '-shm', '-journal']) {
    if (existsSync(file + ending)) rmSync(file + ending);
  }
}
