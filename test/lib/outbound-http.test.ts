import assert from 'node:assert/strict';
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { after, afterEach, test } from 'node:test';
import { ForbiddenAddress, type OutboundPost, postToPublicAddress } from '../../src/lib/outbound-http.ts';
import { startDnsServer } from '../support/dns-server.ts';

const names = await startDnsServer();

/** Listens on every address of this machine, and records all connections. */
const canary = await (async () => {
  const received = { at: [] as (string | undefined)[] };
  const server = createServer((socket) => {
    received.at.push(socket.localAddress?.replace('::ffff:', ''));
    socket.on('error', () => {});
    socket.on('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'));
  });
  server.listen(0);
  await once(server, 'listening');
  after(() => server.close());
  return { received, port: (server.address() as AddressInfo).port };
})();

afterEach(() => {
  names.respondWith(() => undefined);
  canary.received.at = [];
});

const post = (host: string, changes: Partial<OutboundPost> = {}) =>
  postToPublicAddress({
    url: `http://${host}:${canary.port}/hook`,
    headers: {},
    body: '{}',
    timeout: 2000,
    allowsLoopback: false,
    ...changes,
  });

const LOOPBACK = ['127.0.0.1', '127.1', '127.0.1', '2130706433', '0x7f000001', '0x7f.1', '0177.0.0.1', '017700000001'];
const NAMES = ['localhost', 'LOCALHOST', 'loc%61lhost', '127.0.0.1.', '①②⑦.⓪.⓪.①', '127。0。0。1'];
const IPV6 = ['[::1]', '[0:0:0:0:0:0:0:1]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::127.0.0.1]', '[::7f00:1]'];
const TRANSLATED = [
  '[64:ff9b::7f00:1]',
  '[64:ff9b::127.0.0.1]',
  '[2002:7f00:1::]',
  '[2001:0:7f00:1::]',
  '[::ffff:0:7f00:1]',
];
const UNSPECIFIED = ['0.0.0.0', '0', '0x0', '[::]', '[::ffff:0.0.0.0]'];
const PRIVATE = [
  '10.0.0.1',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.0.1',
  '100.64.0.1',
  '[fc00::1]',
  '[fd12::1]',
  '[fe80::1]',
];
const METADATA = ['169.254.169.254', '[::ffff:169.254.169.254]', '[fd00:ec2::254]', '2852039166', '100.100.100.200'];
const OTHERS = ['224.0.0.1', '255.255.255.255', '[ff02::1]', '[ff0e::1]', '192.0.2.1', '198.18.0.1', '240.0.0.1'];
const OWN = Object.values(networkInterfaces()).flatMap((each = []) => each.map(({ address }) => address));
const own = OWN.map((address) => (address.includes(':') ? `[${address}]` : address));

for (const host of [
  ...LOOPBACK,
  ...NAMES,
  ...IPV6,
  ...TRANSLATED,
  ...UNSPECIFIED,
  ...PRIVATE,
  ...METADATA,
  ...OTHERS,
  ...own,
]) {
  test(`nothing is sent to ${host} [W4]`, async () => {
    await assert.rejects(post(host), ForbiddenAddress);

    assert.equal(canary.received.at.length, 0);
  });
}

test('nothing is sent to a subdomain of localhost, or to localhost with a trailing dot [W4]', async () => {
  for (const host of ['localhost.', 'app.localhost', 'APP.localhost.']) {
    await assert.rejects(post(host), ForbiddenAddress, host);
  }

  assert.equal(canary.received.at.length, 0);
});

test('the canary notices a request that does arrive', async () => {
  const socket = connect(canary.port, '127.0.0.1');
  await once(socket, 'connect');
  socket.end('x');
  await once(socket.resume(), 'close');

  assert.equal(canary.received.at.length, 1);
});

test('with loopback allowed, it is reached in any notation, and no other address is [W4]', async () => {
  const reached = [...LOOPBACK, 'localhost', 'app.localhost', '127.0.0.1.'];
  for (const host of reached) assert.equal((await post(host, { allowsLoopback: true })).status, 200, host);
  assert.equal(canary.received.at.length, reached.length);

  const outside = own.filter((host) => !/^127\.|^\[::1\]$/.test(host));
  for (const host of [...UNSPECIFIED, ...TRANSLATED, ...PRIVATE, ...METADATA, ...OTHERS, ...outside, '[::127.0.0.1]']) {
    await assert.rejects(post(host, { allowsLoopback: true }), ForbiddenAddress, host);
  }
  assert.equal(canary.received.at.length, reached.length);
});

/** Resolves every name to the first list at the first query, and so on. The last list is used from then on. */
function resolveTo(...lists: string[][]): void {
  names.respondWith((_, nth) => lists[Math.min(nth, lists.length - 1)]);
}

const RESOLVED = [
  '127.0.0.1',
  '::1',
  '::ffff:127.0.0.1',
  '0.0.0.0',
  '::',
  '10.0.0.1',
  '169.254.169.254',
  'fd00:ec2::254',
];

for (const address of [...RESOLVED, '100.64.0.1', '64:ff9b::7f00:1', '2002:7f00:1::', 'fe80::1', ...OWN]) {
  test(`nothing is sent to a name that resolves to ${address} [W4]`, async () => {
    resolveTo([address]);

    await assert.rejects(post('inward.example'), ForbiddenAddress);

    assert.equal(canary.received.at.length, 0);
  });
}

test('a host with a public and a private address is rejected, whichever comes first [W4]', async () => {
  for (const addresses of [
    ['203.0.114.1', '127.0.0.1'],
    ['127.0.0.1', '203.0.114.1'],
    ['2606:4700::1111', '::1'],
  ]) {
    resolveTo(addresses);
    await assert.rejects(post('mixed.example'), ForbiddenAddress);
  }

  assert.equal(canary.received.at.length, 0);
});

test('a host is resolved once per connection, and the address that was checked is the one used [W5]', async () => {
  // Both are loopback addresses, so that the canary sees which one is used.
  resolveTo(['127.0.0.1'], ['::1']);

  assert.equal((await post('rebinding.example', { allowsLoopback: true })).status, 200);

  assert.equal(names.queryCount('rebinding.example'), 1);
  assert.deepEqual(canary.received.at, ['127.0.0.1']);
});

test('a host that changes to a private address between two deliveries is rejected at the second [W5]', async () => {
  resolveTo(['127.0.0.1'], ['10.0.0.1']);

  assert.equal((await post('rebinding.example', { allowsLoopback: true })).status, 200);
  await assert.rejects(post('rebinding.example', { allowsLoopback: true }), ForbiddenAddress);

  assert.equal(names.queryCount('rebinding.example'), 2, 'nothing is remembered, and no connection is kept');
  assert.equal(canary.received.at.length, 1);
});

test('a rejected host is not resolved again, so DNS rebinding has no effect [W5]', async () => {
  resolveTo(['240.0.0.1'], ['127.0.0.1']);

  await assert.rejects(post('rebinding.example'), ForbiddenAddress);

  assert.equal(names.queryCount('rebinding.example'), 1);
  assert.equal(canary.received.at.length, 0);
});

test('a host with addresses of one family is reached, and one with none is not', async () => {
  names.respondWith((name) => ({ 'four.example': ['127.0.0.1'], 'six.example': ['::1'], 'none.example': [] })[name]);

  for (const host of ['four.example', 'six.example']) {
    assert.equal((await post(host, { allowsLoopback: true })).status, 200, host);
  }
  for (const host of ['none.example', 'unknown.example']) await assert.rejects(post(host), { code: /^ENO/ }, host);
});

test('a DNS query without a response delays no other, and times out', async () => {
  names.respondWith((name) => (name === 'quick.example' ? ['127.0.0.1'] : null));
  let ended = 0;
  const stuck = Array.from({ length: 20 }, async (_, index) => {
    await assert.rejects(post(`tarpit${index}.example`, { timeout: 3000 }), { name: 'TimeoutError' });
    ended += 1;
  });

  assert.equal((await post('quick.example', { allowsLoopback: true })).status, 200);
  assert.equal(ended, 0);
  // This needs a thread of the pool, which `dns.lookup` would block.
  await stat(import.meta.filename);
  assert.equal(ended, 0);
  await Promise.all(stuck);
});

/** Raw responses of a receiver, and the expected results. */
const RESPONSES: [what: string, text: string, outcome: number | 'fails'][] = [
  ['a redirect', 'HTTP/1.1 307 Elsewhere\r\nlocation: http://127.0.0.1/\r\n\r\n', 307],
  ['a body that never ends', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n', 200],
  ['a body that is broken', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzzzz\r\n', 200],
  ['two responses', 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\nHTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n', 200],
  ['no HTTP', 'good morning\r\n\r\n', 'fails'],
  ['headers without end', `HTTP/1.1 200 OK\r\nx: ${'x'.repeat(20_000)}`, 'fails'],
  ['only interim responses', 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(50), 'fails'],
  ['half a response', 'HTTP/1.1 200 OK\r\nx: ', 'fails'],
  ['nothing', '', 'fails'],
  ['another protocol', 'HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n', 'fails'],
];

for (const [what, text, outcome] of RESPONSES) {
  test(`a request ends in time if the receiver sends ${what} [W6]`, { timeout: 10_000 }, async () => {
    const { port } = await answerRaw(text);
    // A machine may be too busy to receive a response in 300 ms.
    const timeout = outcome === 'fails' ? 300 : 5000;
    const sent = post('', { url: `http://127.0.0.1:${port}/`, allowsLoopback: true, timeout });

    if (outcome === 'fails') await assert.rejects(sent);
    else assert.equal((await sent).status, outcome);
  });
}

test('a timeout is reported as a timeout, not as an unreachable host', async () => {
  const { port } = await answerRaw('');

  const sent = post('', { url: `http://127.0.0.1:${port}/`, allowsLoopback: true, timeout: 100 });

  await assert.rejects(sent, { name: 'TimeoutError' });
});

test('no more than 1 kB of the head is kept, and nothing of the body [W6]', async () => {
  const { port } = await answerRaw(`HTTP/1.1 200 OK\r\nx: ${'x'.repeat(2000)}\r\n\r\nthe body`);

  const { head } = await post('', { url: `http://127.0.0.1:${port}/`, allowsLoopback: true });

  assert.equal(head.length, 1024);
  assert.ok(!head.includes('the body'));
});

test('ten interim responses are accepted, and the eleventh fails the request', async () => {
  for (const interim of ['HTTP/1.1 103 Early Hints\r\n\r\n', 'HTTP/1.1 100 Continue\r\n\r\n']) {
    const [few, many] = [
      await answerRaw(`${interim.repeat(10)}HTTP/1.1 204 x\r\n\r\n`),
      await answerRaw(interim.repeat(11)),
    ];
    const to = (port: number) => post('', { url: `http://127.0.0.1:${port}/`, allowsLoopback: true });

    assert.equal((await to(few.port)).status, 204);
    await assert.rejects(to(many.port), /too many interim responses/);
  }
});

test('control characters are replaced in the head that is kept', async () => {
  const { port } = await answerRaw('HTTP/1.1 200 \x1b]0;owned\x07O\0K\x9b2J\r\nx: caf\xe9\r\n\r\n');

  const { head } = await post('', { url: `http://127.0.0.1:${port}/`, allowsLoopback: true });

  assert.equal(head, '200 \ufffd]0;owned\ufffdO\ufffdK\ufffd2J\nx: caf\xe9');
});

async function answerRaw(text: string): Promise<{ port: number }> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.write(text, 'latin1'));
    after(() => socket.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => server.close());
  return { port: (server.address() as AddressInfo).port };
}
