/** Milliseconds since 1970. Time is always a parameter, so that tests control it. */
export type Clock = () => number;

export const systemClock: Clock = Date.now;

/** Like `systemClock`, with microseconds, for measurements only. */
export const preciseClock: Clock = () => performance.timeOrigin + performance.now();

/** For durations: not affected when the system clock is set. */
export const monotonicClock: Clock = () => performance.now();

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** The start of a day in UTC, in milliseconds since 1970: `2030-01-31`. Undefined if there is no such day. */
export function parseDay(text: string): number | undefined {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return undefined;
  const start = Date.parse(`${text}T00:00:00Z`);
  // JavaScript reads 2030-02-31 as a day in March.
  return Number.isNaN(start) || start < 0 || new Date(start).toISOString().slice(0, 10) !== text ? undefined : start;
}
