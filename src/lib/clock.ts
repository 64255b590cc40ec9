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
  const start = isDay(text) ? Date.parse(text) : -1;
  return start < 0 ? undefined : start;
}

/** Whether it is a date like `2030-01-31`, before 1970 too. JavaScript reads 2030-02-31 as a day in March. */
export function isDay(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && new Date(`${text}T00:00:00Z`).toJSON()?.startsWith(text) === true;
}
