import { DAY, MINUTE } from '../lib/clock.ts';

export const CODE_LIFETIME = 10 * MINUTE;
export const REFRESH_LIFETIME = 30 * DAY;

/** A row is kept this long after its last token has expired, so that a late request still gets the reason. */
const RETENTION = DAY;

/** The columns that each new pair of tokens sets. */
export function rotatedNow(now: number) {
  const refresh_expires_at = now + REFRESH_LIFETIME;
  return { rotated_at: now, refresh_expires_at, removable_on: removableOn(refresh_expires_at) };
}

/** The types of these columns in PostgreSQL. */
export const ROTATED_TYPES = { rotated_at: 'bigint', refresh_expires_at: 'bigint', removable_on: 'bigint' } as const;

/** In days since 1970. */
export function removableOn(expiresAt: number): number {
  return Math.ceil((expiresAt + RETENTION) / DAY);
}
