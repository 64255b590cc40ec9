import { HOUR } from '../lib/clock.ts';
import { isSigned, type Keyring, sign } from '../lib/keyring.ts';

/**
 * When an authorize request was asked, sealed onto it. `prompt=login` is satisfied only by a sign-in after this moment,
 * so it asks once, cannot loop, and cannot be talked round by editing the address.
 */
const NAME = 'asked';
const GOOD_FOR = HOUR;

export function stamp(keys: Keyring, query: string, now: number): string {
  return `${query}&${NAME}=${now}.${sign(keys, 'authorize stamp', `${now}?${query}`)}`;
}

export function readStamp(
  keys: Keyring,
  stamped: string,
  now: number,
): { query: string; askedAt: number } | { query: string; askedAt: null } {
  const [, query = stamped, asked = '', signature = ''] = /^(.*)&asked=(\d{1,15})\.([\w-]{43})$/.exec(stamped) ?? [];
  const askedAt = Number(asked);
  const holds = isSigned(keys, 'authorize stamp', `${asked}?${query}`, signature) && now - askedAt < GOOD_FOR;
  return { query, askedAt: holds ? askedAt : null };
}
