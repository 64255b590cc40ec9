import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isLoopbackAddress, isPublicAddress } from '../../src/lib/ip-addresses.ts';

/** The first and the last address of each range, to detect a prefix that is off by one bit. */
const OTHER: Record<string, string[]> = {
  'this network': ['0.0.0.0', '0.255.255.255', '::'],
  loopback: ['127.0.0.0', '127.0.0.1', '127.255.255.255', '::1'],
  private: ['10.0.0.0', '10.255.255.255', '172.16.0.0', '172.31.255.255', '192.168.0.0', '192.168.255.255'],
  'link-local': ['169.254.0.0', '169.254.255.255', 'fe80::1', 'febf:ffff::1', 'fe80::1%eth0'],
  'metadata of a cloud': [
    '169.254.169.254',
    '169.254.170.2',
    '169.254.170.23',
    '169.254.0.23',
    '169.254.42.42',
    '168.63.129.16',
    '100.100.100.200',
    '192.0.0.192',
    'fd00:ec2::254',
    'fd00:ec2::23',
    'fd20:ce::254',
    'fd00:42::42',
    'fe80::a9fe:a9fe',
  ],
  'carrier-grade NAT': ['100.64.0.0', '100.127.255.255'],
  'mapped and compatible IPv4': ['::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:8.8.8.8', '::127.0.0.1', '::8.8.8.8'],
  'translated IPv4': ['64:ff9b::7f00:1', '64:ff9b::808:808', '64:ff9b:1::1', '::ffff:0:7f00:1'],
  '6to4 and Teredo': ['2002:7f00:1::', '2002:808:808::', '192.88.99.1', '2001::1', '2001:0:7f00:1::'],
  'unique local and site-local': ['fc00::', 'fd00::1', 'fdff:ffff::1', 'fec0::1'],
  multicast: ['224.0.0.0', '239.255.255.255', 'ff02::1', 'ff0e::1'],
  'reserved and broadcast': ['240.0.0.0', '255.255.255.255', '4000::1', '100::1', '5f00::1'],
  'documentation and benchmarks': ['192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1', '198.18.0.1'],
  'protocol assignments': ['192.0.0.0', '192.0.0.255', '2001:1ff::1'],
};

for (const [kind, addresses] of Object.entries(OTHER)) {
  test(`no address for ${kind} is public [W4]`, () => {
    for (const address of addresses) assert.equal(isPublicAddress(address), false, address);
  });
}

test('the addresses just outside these ranges are public', () => {
  const neighbours = ['1.0.0.0', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '126.255.255.255'];
  const more = ['128.0.0.0', '169.253.255.255', '169.255.0.0', '172.15.255.255', '172.32.0.0', '192.167.255.255'];
  const last = [
    '168.63.129.15',
    '168.63.129.17',
    '192.169.0.0',
    '198.17.255.255',
    '198.20.0.0',
    '223.255.255.255',
    '8.8.8.8',
    '192.0.1.0',
  ];
  const ipv6 = ['2001:200::1', '2001:4860:4860::8888', '2003::1', '2606:4700::1111', '2a00:1450::1', '3ffe:ffff::1'];

  for (const address of [...neighbours, ...more, ...last, ...ipv6])
    assert.equal(isPublicAddress(address), true, address);
});

test('text that is not an address is not public', () => {
  for (const text of [
    '',
    'localhost',
    '127.1',
    '2130706433',
    '0x7f000001',
    '0177.0.0.1',
    '[::1]',
    '8.8.8.8.',
    '8.8.8.8/8',
  ]) {
    assert.equal(isPublicAddress(text), false, text);
  }
});

test('loopback is 127.0.0.0/8 and ::1, also when written as a mapped address, and nothing else', () => {
  for (const address of ['127.0.0.1', '127.255.255.255', '::1', '0:0:0:0:0:0:0:1', '::ffff:127.0.0.1']) {
    assert.equal(isLoopbackAddress(address), true, address);
  }
  for (const address of ['126.255.255.255', '128.0.0.0', '0.0.0.0', '10.0.0.1', '169.254.169.254', '8.8.8.8']) {
    assert.equal(isLoopbackAddress(address), false, address);
  }
  for (const address of ['::', '::2', 'fe80::1', 'fd00::1', '::ffff:10.0.0.1', '64:ff9b::7f00:1', '2002:7f00:1::']) {
    assert.equal(isLoopbackAddress(address), false, address);
  }
});
