import { DAY } from '../lib/clock.ts';
import { retentionStep } from '../storage/retention.ts';
import type { Database } from '../storage/storage.ts';

/**
 * An import of an earlier release records events in a transaction that may last longer than `LISTED_AFTER`. While it runs, no events
 * are listed that are as new as its own: a reader that has seen them would never see those that are committed at the end. This
 * release records happenings instead, and adds no rows to the table. Once no node or command of an earlier release can run, this
 * file can go, with its table.
 *
 * A row that is committed before the transaction stores when it began. The transaction locks this row while it runs, so
 * the row of a process that was killed has no effect. On SQLite there are no row locks and none are needed: no other
 * transaction can write meanwhile.
 */

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
