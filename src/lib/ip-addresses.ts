import { BlockList, isIPv4, isIPv6 } from 'node:net';

/** Where a server listens. */
export interface Address {
  host: string;
  port: number;
}

/** NAT64 (RFC 6052 §2.1): the last 32 bits are an IPv4 address. */
const NAT64_PREFIX = '0064ff9b000000000000';

/**
 * The network that a rate limit counts. IPv4: the address. IPv6: its /64, because a single customer has at least that many
 * addresses.
 */
export function networkOf(address: string): string {
  if (!address.includes(':') || !isIPv6(address)) return address;
  const groups = expandGroups(address);
  const digits = groups.join('');
  const isIPv4Within = digits.startsWith(`${'0'.repeat(20)}ffff`) || digits.startsWith(NAT64_PREFIX);
  if (isIPv4Within) return toIPv4(digits.slice(-8));
  return `${groups.slice(0, 4).join(':')}::/64`;
}

/** All eight groups, with four digits each. */
function expandGroups(address: string): string[] {
  const bare = address.replace(/%.*$/, '');
  const [before = '', after] = new URL(`http://[${bare}]`).hostname.slice(1, -1).split('::');
  const left = before === '' ? [] : before.split(':');
  const right = after === undefined || after === '' ? [] : after.split(':');
  const between = Array<string>(8 - left.length - right.length).fill('0');
  return [...left, ...between, ...right].map((group) => group.padStart(4, '0'));
}

function toIPv4(digits: string): string {
  return [...Buffer.from(digits, 'hex')].join('.');
}

/** Hosts that may use plain http: their traffic never leaves the machine. */
export function isLoopbackHost(hostname: string): boolean {
  return ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
}

/** Only URLs have IPv6 addresses in brackets. */
export function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '');
}

/** Unspecified, private, CGNAT, loopback, link-local (cloud metadata), documentation, multicast, … */
const NON_PUBLIC_IPV4 = blockList('ipv4', [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['168.63.129.16', 32],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
]);

/** Global unicast. IPv4-mapped, NAT64, unique local and link-local addresses are outside it. */
const GLOBAL_IPV6 = blockList('ipv6', [['2000::', 3]]);

/** Ranges of global unicast that are not the public internet: Teredo and other protocols, documentation, 6to4. */
const NON_PUBLIC_IPV6 = blockList('ipv6', [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
]);

export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !NON_PUBLIC_IPV4.check(address, 'ipv4');
  if (!isIPv6(address) || address.includes('%')) return false;
  return GLOBAL_IPV6.check(address, 'ipv6') && !NON_PUBLIC_IPV6.check(address, 'ipv6');
}

export function isLoopbackAddress(address: string): boolean {
  return LOOPBACK.check(address, isIPv4(address) ? 'ipv4' : 'ipv6');
}

const LOOPBACK = blockList('ipv4', [['127.0.0.0', 8]]);
LOOPBACK.addAddress('::1', 'ipv6');

function blockList(family: 'ipv4' | 'ipv6', ranges: [string, number][]): BlockList {
  const list = new BlockList();
  for (const [network, prefix] of ranges) list.addSubnet(network, prefix, family);
  return list;
}
