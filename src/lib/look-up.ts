import type { LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import { SECOND } from './clock.ts';

/** For all that is asked about one name. */
const TIME_LIMIT = 5 * SECOND;

const LOOPBACK: LookupAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
];

/**
 * All addresses of a host. The names' servers are asked directly, and not through the operating system: its look-up keeps
 * one of the few threads that passwords and files need, too, for as long as whoever runs the name's server likes. Each name
 * has a resolver of its own, so that one that is never answered is nobody else's trouble either.
 */
export async function lookUp(hostname: string, signal: AbortSignal): Promise<LookupAddress[]> {
  const literal = hostname.replace(/^\[|\]$/g, '');
  const family = isIP(literal);
  if (family !== 0) return [{ address: literal, family }];
  // No server of names knows these (RFC 6761 §6.3).
  if (/^(.+\.)?localhost\.?$/.test(hostname)) return LOOPBACK;
  const resolver = new Resolver({ timeout: TIME_LIMIT / 4, tries: 3 });
  const cancel = () => resolver.cancel();
  const timer = setTimeout(cancel, TIME_LIMIT);
  signal.addEventListener('abort', cancel, { once: true });
  try {
    return await askForBoth(resolver, hostname);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', cancel);
  }
}

/** Many names have addresses of one family only; then the other question fails, and that is no failure. */
async function askForBoth(resolver: Resolver, hostname: string): Promise<LookupAddress[]> {
  const [ipv4, ipv6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  if (ipv4.status === 'rejected' && ipv6.status === 'rejected') throw ipv4.reason;
  return [
    ...(ipv4.status === 'fulfilled' ? ipv4.value.map((address) => ({ address, family: 4 })) : []),
    ...(ipv6.status === 'fulfilled' ? ipv6.value.map((address) => ({ address, family: 6 })) : []),
  ];
}
