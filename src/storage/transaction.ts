import type { Database } from './storage.ts';

/** Runs `work` in a transaction: a new one, or the one that `db` already is. */
export function inTransaction<Result>(db: Database, work: (tx: Database) => Promise<Result>): Promise<Result> {
  return db.isTransaction ? work(db) : db.transaction().execute(work);
}
