import { DAY } from '../lib/clock.ts';
import { preparedQuery } from '../storage/prepared.ts';
import type { Database } from '../storage/storage.ts';

/** No window is longer. */
const LONGEST_WINDOW = DAY;

/**
 * Counts how often something happened within a window that begins with the first time. Atomic: of several at once, one
 * counts as the first. Commit it together with the entry of the log that it decides about.
 */
export async function countRepeat(
  db: Database,
  { key, window }: { key: string; window: number },
  now: number,
): Promise<number> {
  const { rows } = await addRepeat(db, { key, now, endedBy: now - window });
  return rows[0]?.times ?? 1;
}

const addRepeat = preparedQuery((db, { key, now, endedBy }: { key: string; now: number; endedBy: number }) =>
  db
    .insertInto('act_repeats')
    .values({ key, since: now, times: 1 })
    .onConflict((conflict) =>
      conflict.column('key').doUpdateSet(({ eb, ref, val }) => {
        const isOver = eb('act_repeats.since', '<=', endedBy);
        const more = eb('act_repeats.times', '+', 1);
        return {
          times: eb.case().when(isOver).then(1).else(more).end(),
          since: eb.case().when(isOver).then(val(now)).else(ref('act_repeats.since')).end(),
        };
      }),
    )
    .returning('times'),
);

/** Reads what `countRepeat` has committed, without a lock. */
export async function isRepeat(
  db: Database,
  { key, window }: { key: string; window: number },
  now: number,
): Promise<boolean> {
  return (await findRepeat(db, { key, endedBy: now - window })).rows.length > 0;
}

const findRepeat = preparedQuery((db, { key, endedBy }: { key: string; endedBy: number }) =>
  db.selectFrom('act_repeats').select('times').where('key', '=', key).where('since', '>', endedBy),
);

export async function removeOldRepeats(db: Database, limit: number, now: number): Promise<number> {
  const end = now - LONGEST_WINDOW;
  const old = db.selectFrom('act_repeats').select('key').where('since', '<', end).orderBy('since').limit(limit);
  const result = await db.deleteFrom('act_repeats').where('key', 'in', old).where('since', '<', end).executeTakeFirst();
  return Number(result.numDeletedRows);
}
