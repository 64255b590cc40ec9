import { isIPv6 } from 'node:net';

/** Where a translator puts IPv4 addresses (RFC 6052 §2.1): each is someone else. */
const TRANSLATED = '0064ff9b000000000000';

/**
 * Whom to count an attempt against. An IPv4 address is one customer or a few; of IPv6 addresses everyone has a whole /64
 * at least, so that counting them one by one would limit nobody.
 */
export function networkOf(address: string): string {
  if (!address.includes(':') || !isIPv6(address)) return address;
  const groups = groupsOf(address);
  const digits = groups.join('');
  const isIPv4Within = digits.startsWith(`${'0'.repeat(20)}ffff`) || digits.startsWith(TRANSLATED);
  if (isIPv4Within) return toIPv4(digits.slice(-8));
  return `${groups.slice(0, 4).join(':')}::/64`;
}

/** All eight, with four digits each. */
function groupsOf(address: string): string[] {
  const bare = address.replace(/%.*$/, '');
  const [before = '', behind] = new URL(`http://[${bare}]`).hostname.slice(1, -1).split('::');
  const left = before === '' ? [] : before.split(':');
  const right = behind === undefined || behind === '' ? [] : behind.split(':');
  const between = Array<string>(8 - left.length - right.length).fill('0');
  return [...left, ...between, ...right].map((group) => group.padStart(4, '0'));
}

function toIPv4(digits: string): string {
  return [...Buffer.from(digits, 'hex')].join('.');
}
