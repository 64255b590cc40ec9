import { DAY } from '../lib/clock.ts';
import { preparedQuery } from '../storage/prepared-query.ts';
import { retentionStep } from '../storage/retention.ts';
import type { Database } from '../storage/storage.ts';

/** The longest `window` of a caller. */
const LONGEST_WINDOW = DAY;

/**
 * Counts occurrences within a window that starts with the first. Atomic: of concurrent calls, exactly one returns 1.
 * Commit it in the transaction of the audit entry that depends on the count.
 */
export async function countRepeat(
  db: Database,
  { key, window }: { key: string; window: number },
  now: number,
): Promise<number> {
  const { rows } = await addRepeat(db, { key, now, endedBy: now - window });
  return rows[0]?.count ?? 1;
}

const addRepeat = preparedQuery((db, { key, now, endedBy }: { key: string; now: number; endedBy: number }) =>
  db
    .insertInto('audit_repeats')
    .values({ key, window_start: now, count: 1 })
    .onConflict((conflict) =>
      conflict.column('key').doUpdateSet(({ eb, ref, val }) => {
        const isOver = eb('audit_repeats.window_start', '<=', endedBy);
        const more = eb('audit_repeats.count', '+', 1);
        return {
          count: eb.case().when(isOver).then(1).else(more).end(),
          window_start: eb.case().when(isOver).then(val(now)).else(ref('audit_repeats.window_start')).end(),
        };
      }),
    )
    .returning('count'),
);

/** Reads what `countRepeat` has committed, without a lock. */
export async function isRepeat(
  db: Database,
  { key, window }: { key: string; window: number },
  now: number,
): Promise<boolean> {
  return (await findRepeat(db, { key, endedBy: now - window })).rows.length > 0;
}

const findRepeat = preparedQuery(selectRepeat);

export function selectRepeat(db: Database, { key, endedBy }: { key: string; endedBy: number }) {
  return db.selectFrom('audit_repeats').select('count').where('key', '=', key).where('window_start', '>', endedBy);
}

export const oldRepeats = retentionStep('audit_repeats', ['key'], 'window_start', (now) => now - LONGEST_WINDOW);
