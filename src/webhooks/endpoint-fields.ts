import { EVENT_TYPES, type EventType } from '../events/event-types.ts';
import { FormError } from '../lib/errors.ts';
import { isLoopbackHost } from '../lib/ip-addresses.ts';

const LONGEST_URL = 2000;

/** What an endpoint can ask to hear of; a test it hears of in any case. */
export const CHOICES = EVENT_TYPES.filter((type) => type !== 'endpoint.test');

/** Where the address leads is looked at each time something is sent; here only its form. */
export function readUrl(text: string): string {
  const url = URL.parse(text.trim());
  if (!url || url.href.length > LONGEST_URL) throw new FormError('url', 'This is not a complete URL.');
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopbackHost(url.hostname))) {
    throw new FormError('url', 'An endpoint starts with https://, unless its host is localhost.');
  }
  if (url.username || url.password || url.hash) {
    throw new FormError('url', 'An endpoint has no user name, password or fragment.');
  }
  return url.href;
}

/** Said at once: otherwise nothing would ever arrive there, and only the log would tell. */
export function refuseLoopback(text: string, { allowsLoopback }: { allowsLoopback: boolean }): void {
  const hostname = URL.parse(text.trim())?.hostname ?? '';
  if (allowsLoopback || !isLoopbackHost(hostname)) return;
  throw new FormError('url', 'Events reach this very machine only where Gatehouse runs with WEBHOOKS_TO_LOOPBACK=yes.');
}

export function readEventTypes(types: string[]): EventType[] {
  const known = CHOICES.filter((type) => types.includes(type));
  if (known.length === 0 || known.length < new Set(types).size) {
    throw new FormError('events', `Choose from ${CHOICES.join(', ')}.`);
  }
  return known;
}
