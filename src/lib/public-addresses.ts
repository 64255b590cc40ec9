import { BlockList, isIPv4, isIPv6 } from 'node:net';

/** IPv4 that is not the public internet: this network, private, CGNAT, loopback, link-local (metadata), test, multicast, … */
const OTHER_IPV4 = newList('ipv4', [
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

/** All of IPv6 that is the public internet; mapped, translated, unique local and link-local addresses lie outside. */
const GLOBAL_IPV6 = newList('ipv6', [['2000::', 3]]);

/** And within it, what leads elsewhere all the same: Teredo and other protocols, documentation, 6to4. */
const OTHER_IPV6 = newList('ipv6', [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
]);

export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !OTHER_IPV4.check(address, 'ipv4');
  if (!isIPv6(address) || address.includes('%')) return false;
  return GLOBAL_IPV6.check(address, 'ipv6') && !OTHER_IPV6.check(address, 'ipv6');
}

export function isLoopbackAddress(address: string): boolean {
  return LOOPBACK.check(address, isIPv4(address) ? 'ipv4' : 'ipv6');
}

const LOOPBACK = newList('ipv4', [['127.0.0.0', 8]]);
LOOPBACK.addAddress('::1', 'ipv6');

function newList(family: 'ipv4' | 'ipv6', ranges: [string, number][]): BlockList {
  const list = new BlockList();
  for (const [network, prefix] of ranges) list.addSubnet(network, prefix, family);
  return list;
}
