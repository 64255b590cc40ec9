import { HOUR } from '../../lib/clock.ts';
import { isSigned, type Keyring, sign } from '../../lib/keyring.ts';

/**
 * When an authorize request was asked, sealed onto it. `prompt=login` is satisfied only by a sign-in after this moment,
 * so it asks once, cannot loop, and cannot be talked round by editing the address.
 */
const STAMPED = /^(.*)&asked=(\d{1,15})\.([\w-]{43})$/;
const GOOD_FOR = HOUR;

export function stamp(keys: Keyring, query: string, now: number): string {
  return `${query}&asked=${now}.${sign(keys, 'authorize stamp', `${now}?${query}`)}`;
}

/** The request without its stamp, and when it was asked: null if the stamp is missing, forged or too old. */
export function readStamp(keys: Keyring, stamped: string, now: number): { query: string; askedAt: number | null } {
  const [, query = stamped, asked = '', signature = ''] = STAMPED.exec(stamped) ?? [];
  const askedAt = Number(asked);
  const holds = isSigned(keys, 'authorize stamp', `${asked}?${query}`, signature) && now - askedAt < GOOD_FOR;
  return { query, askedAt: holds ? askedAt : null };
}
