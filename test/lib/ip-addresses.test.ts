import assert from 'node:assert/strict';
import { test } from 'node:test';
import { networkOf } from '../../src/lib/ip-addresses.ts';

const COUNTED: [address: string, network: string, why: string][] = [
  ['203.0.113.7', '203.0.113.7', 'an IPv4 address is counted as it is'],
  ['2001:db8:1:2:3:4:5:6', '2001:0db8:0001:0002::/64', 'an IPv6 address is counted by its /64'],
  ['2001:db8:1:2::1', '2001:0db8:0001:0002::/64', 'however it is written'],
  ['2001:DB8:1:2:FFFF::', '2001:0db8:0001:0002::/64', 'in whatever letters'],
  ['2001:db8:1::1', '2001:0db8:0001:0000::/64', 'with zeros left out'],
  ['::1', '0000:0000:0000:0000::/64', 'loopback is a network like any other'],
  ['::', '0000:0000:0000:0000::/64', 'and so is no address at all'],
  ['fe80::1%eth0', 'fe80:0000:0000:0000::/64', 'an interface does not make another'],
  ['::ffff:203.0.113.7', '203.0.113.7', 'an IPv4 address in IPv6 is that IPv4 address'],
  ['::ffff:cb00:7107', '203.0.113.7', 'also in hexadecimal'],
  ['64:ff9b::203.0.113.7', '203.0.113.7', 'and behind a translator'],
  ['nonsense', 'nonsense', 'what is no address is counted by its letters'],
];

for (const [address, network, why] of COUNTED) {
  test(`${why}: ${address} [S9]`, () => {
    assert.equal(networkOf(address), network);
  });
}
