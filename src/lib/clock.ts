/** Milliseconds since 1970. Time is always a parameter, so that tests control it. */
export type Clock = () => number;

export const systemClock: Clock = Date.now;

/** The same with microseconds, for measurements only. */
export const preciseClock: Clock = () => performance.timeOrigin + performance.now();

/** For durations: not affected when the system clock is set. */
export const monotonicClock: Clock = () => performance.now();

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
