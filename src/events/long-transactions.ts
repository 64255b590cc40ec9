import { type Clock, DAY } from '../lib/clock.ts';
import { newId } from '../lib/ids.ts';
import { retentionStep } from '../storage/retention.ts';
import { type Database, inTransaction } from '../storage/storage.ts';

/**
 * Runs `work` in a transaction that may last longer than `LISTED_AFTER`. While it runs, no events are listed that are
 * as new as its own: a reader that has seen them would never see those that are committed at the end.
 *
 * A row that is committed before the transaction stores when it began. The transaction locks this row while it runs, so
 * the row of a process that was killed has no effect. On SQLite there are no row locks and none are needed: no other
 * transaction can write meanwhile.
 */
export async function inLongTransaction<Result>(
  db: Database,
  work: (tx: Database, now: number) => Promise<Result>,
  clock: Clock,
): Promise<Result> {
  const row = { id: newId(clock()), started_at: clock() };
  await db.insertInto('long_transactions').values(row).execute();
  const remove = (from: Database) => from.deleteFrom('long_transactions').where('id', '=', row.id).execute();
  try {
    return await inTransaction(db, async (tx) => {
      await remove(tx);
      return await work(tx, clock());
    });
  } catch (error) {
    // A row that stays has no effect without its lock.
    await remove(db).catch(() => {});
    throw error;
  }
}

/** The start of the oldest long transaction that still runs; undefined if there is none. */
export async function findLongTransaction(db: Database): Promise<number | undefined> {
  const all = await listLongTransactions(db);
  if (all.length === 0) return undefined;
  const unlocked = await db.selectFrom('long_transactions').select('id').forShare().skipLocked().execute();
  return all.find(({ id }) => !unlocked.some((row) => row.id === id))?.started_at;
}

/** The oldest first, with those of processes that were killed in the last day. */
export function listLongTransactions(db: Database) {
  return db.selectFrom('long_transactions').selectAll().orderBy('started_at').execute();
}

/** Left by processes that were killed. */
export const oldLongTransactions = retentionStep('long_transactions', ['id'], 'started_at', (now) => now - DAY);
