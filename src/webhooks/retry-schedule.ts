import { DAY, HOUR, MINUTE, SECOND } from '../lib/clock.ts';

/** After each failed attempt, how long until the next: about three days in all. */
const DELAYS = [5 * SECOND, MINUTE, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, DAY];

/** An endpoint that has failed for so long, and so often, and never succeeded meanwhile, is switched off. */
export const DISABLED_AFTER = 3 * DAY;
const MIN_FAILURES = 10;

/** Its owner is warned well before. */
export const WARNED_AFTER = DAY;

const MAX_BACKOFF = 5 * MINUTE;

/** Two failures far apart are no reason: between them there may have been nothing to send. */
export function shouldDisable({ failingFor, failures }: { failingFor: number; failures: number }): boolean {
  return failingFor >= DISABLED_AFTER && failures >= MIN_FAILURES;
}

/** When to try again after so many attempts; null when enough have been made. `chance` is from 0 to 1. */
export function nextAttemptAt(attempts: number, chance: number, now: number): number | null {
  const delay = DELAYS[attempts - 1];
  return delay === undefined ? null : now + withJitter(delay, chance);
}

/** A failing endpoint gets less and less: so a dead one costs next to nothing, however much waits for it. */
export function backoffAfter(failures: number, chance: number): number {
  return failures === 0 ? 0 : withJitter(Math.min(MAX_BACKOFF, SECOND * 2 ** (failures - 1)), chance);
}

/** Within a fifth of it either way, so that what failed together does not come back together. */
function withJitter(delay: number, chance: number): number {
  return Math.round(delay * (0.8 + 0.4 * chance));
}
