import { HOUR } from '../../lib/clock.ts';
import { type Keyring, sign, verifySignature } from '../../lib/keyring.ts';

/**
 * The time of an authorize request, signed and appended to its query. `prompt=login` requires a sign-in after this time:
 * one sign-in is enough, and editing the URL cannot avoid it.
 */
const TIMESTAMPED = /^(.*)&asked=(\d{1,15})\.([\w-]{43})$/;
const TIMESTAMP_LIFETIME = HOUR;

export function appendTimestamp(keys: Keyring, query: string, now: number): string {
  return `${query}&asked=${now}.${sign(keys, 'authorize timestamp', `${now}?${query}`)}`;
}

/** The query without the timestamp, and the time: null if the timestamp is missing, forged or too old. */
export function readTimestamp(
  keys: Keyring,
  timestamped: string,
  now: number,
): { query: string; requestedAt: number | null } {
  const [, query = timestamped, time = '', signature = ''] = TIMESTAMPED.exec(timestamped) ?? [];
  const requestedAt = Number(time);
  const isValid =
    verifySignature(keys, 'authorize timestamp', `${time}?${query}`, signature) &&
    now - requestedAt < TIMESTAMP_LIFETIME;
  return { query, requestedAt: isValid ? requestedAt : null };
}

/** The query of a URL, byte for byte, unless it has characters that a header cannot carry. */
export function rawQuery(url: string): string {
  const start = url.indexOf('?');
  const query = start === -1 ? '' : url.slice(start + 1);
  return /^[\x21-\x7e]*$/.test(query) ? query : new URL(`?${query}`, 'http://localhost').search.slice(1);
}
