/** Milliseconds since 1970. Time is always passed in, so that a test can wind it. */
export type Clock = () => number;

export const systemClock: Clock = Date.now;

/** The same to the microsecond, for measuring; nothing is decided by it. */
export const preciseClock: Clock = () => performance.timeOrigin + performance.now();

/** Milliseconds since some moment; setting the clock does not change it. For how long something took. */
export const monotonicClock: Clock = () => performance.now();

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
