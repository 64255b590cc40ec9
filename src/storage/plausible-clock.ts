import { type Clock, DAY, MINUTE, monotonicClock } from '../lib/clock.ts';
import type { Database } from './storage.ts';

/** How far the clock may be ahead of the stored reading plus the time that has passed since. */
export const MAX_JUMP = DAY;
const STORE_EVERY = MINUTE;
const ONLY_ROW = 1;

interface PlausibleTime {
  /** Never later than the clock; it ignores a jump until an operator confirms it. */
  time: number;
  /** The size of such a jump, in milliseconds; 0 while the clock is plausible. */
  jump: number;
}

/**
 * The time by which data may be removed. It follows the clock while that is plausible. After a forward jump of more
 * than a day it continues from the last reading, at the pace of the monotonic clock, until an operator confirms it.
 * Nodes share the reading, and each compares only its own clock with it.
 */
export function createPlausibleClock(
  db: Database,
  clock: Clock,
  monotonic: Clock = monotonicClock,
): () => Promise<PlausibleTime> {
  let seen: { reading: number; at: number } | undefined;
  return async () => {
    const [at, now] = [monotonic(), clock()];
    const stored = (await readLastReading(db)) ?? (await storeFirstReading(db, now));
    // Another node has stored a later reading, or an operator has confirmed the clock.
    if (seen?.reading !== stored) seen = { reading: stored, at };
    const expected = stored + Math.floor(at - seen.at);
    const jump = now - expected;
    const isPlausible = jump <= MAX_JUMP;
    const reading = isPlausible ? Math.max(now, expected) : expected;
    if (reading - stored >= STORE_EVERY && (await replaceReading(db, stored, reading))) seen = { reading, at };
    return { time: Math.min(now, reading), jump: isPlausible ? 0 : jump };
  };
}

export async function readLastReading(db: Database): Promise<number | undefined> {
  return (await db.selectFrom('clock').select('reading').executeTakeFirst())?.reading;
}

/** Accepts the clock as it is, whatever the last reading was. */
export async function confirmReading(db: Database, now: number): Promise<void> {
  await db
    .insertInto('clock')
    .values({ id: ONLY_ROW, reading: now })
    .onConflict((conflict) => conflict.column('id').doUpdateSet({ reading: now }))
    .execute();
}

/** A new database has no reading to compare with. */
async function storeFirstReading(db: Database, now: number): Promise<number> {
  const row = { id: ONLY_ROW, reading: now };
  await db
    .insertInto('clock')
    .values(row)
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute();
  return (await readLastReading(db)) ?? now;
}

/** Only one of several nodes replaces a reading, so that together they do not advance it faster than time passes. */
async function replaceReading(db: Database, from: number, reading: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('clock')
    .set({ reading })
    .where('reading', '=', from)
    .executeTakeFirstOrThrow();
  return numUpdatedRows === 1n;
}
