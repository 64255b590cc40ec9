import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { afterEach, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { SERVER_TIMEOUTS } from '../../src/http/timeouts.ts';
import { MINUTE, SECOND } from '../../src/lib/clock.ts';
import { startTestServer } from '../support/test-server.ts';

const server = await startTestServer();
const { host, hostname, port } = new URL(server.api);
const START = `GET /healthz HTTP/1.1\r\nHost: ${host}\r\n`;
const opened: Socket[] = [];
afterEach(() => {
  for (const socket of opened.splice(0)) socket.destroy();
});

/** A raw connection, and the bytes that it received. */
async function open() {
  const socket = connect(Number(port), hostname);
  opened.push(socket);
  const client = { socket, received: '', closed: new Promise((resolve) => socket.once('close', resolve)) };
  socket.setEncoding('latin1').on('error', () => {});
  socket.on('data', (chunk) => {
    client.received += chunk;
  });
  await once(socket, 'connect');
  return client;
}

/** Sends a few bytes at intervals, until the connection closes. */
async function drip(socket: Socket, piece: string): Promise<void> {
  for (; !socket.destroyed; await setTimeout(20)) socket.write(piece);
}

/** The response can be lost: data that arrives at a closed socket makes the kernel reset the connection. */
function assertToldWhy({ received }: { received: string }): void {
  assert.match(received, /^$|^HTTP\/1\.1 408 .*x-request-id: .*did not arrive in time/s);
}

/** Each test shortens only its own timeout, so that on a busy machine no other one ends a connection first. */
const useShort = (...names: (keyof typeof SERVER_TIMEOUTS)[]) =>
  server.restart({
    settings: {
      timeouts: {
        ...SERVER_TIMEOUTS,
        ...Object.fromEntries(names.map((name) => [name, SECOND / 4])),
        connectionsCheckingInterval: 20,
      },
    },
  });

test('slow clients are disconnected', async (t) => {
  await t.test('a client that sends headers slowly', async () => {
    await useShort('headersTimeout');
    const client = await open();
    client.socket.write(START);
    await Promise.all([drip(client.socket, 'x: y\r\n'), client.closed]);
    assertToldWhy(client);
  });

  await t.test('a client that sends its body slowly', async () => {
    await useShort('headersTimeout', 'requestTimeout');
    const client = await open();
    const type = 'Content-Type: application/json\r\nContent-Length: 60000';
    client.socket.write(`POST /api/v1/oauth/token HTTP/1.1\r\nHost: ${host}\r\n${type}\r\n\r\n`);
    await Promise.all([drip(client.socket, ' '), client.closed]);
    assertToldWhy(client);
  });

  await t.test('a client that sends nothing', async () => {
    await useShort('connectionTimeout');
    const client = await open();
    await client.closed;
    assert.ok(client.socket.destroyed);
  });

  await t.test('a client with an idle connection', async () => {
    await useShort('keepAliveTimeout');
    const client = await open();
    client.socket.write(`${START}\r\n`);
    await client.closed;
    assert.match(client.received, /^HTTP\/1\.1 200 /);
  });

  await t.test('a client that does not read the response', async () => {
    assert.equal(isConnected(await open()), true);
    await useShort('connectionTimeout');
    const client = await open();
    client.socket.pause();
    // More responses than the socket buffers can hold.
    const request = `GET /openapi.json HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
    client.socket.write(request.repeat(400));
    for (let i = 0; i < 3000 && isConnected(client); i++) await setTimeout(20);
    assert.equal(isConnected(client), false);
  });
});

/** Whether the kernel still lists the server's side of a connection. */
function isConnected({ socket }: { socket: Socket }): boolean {
  const hex = (number: number | undefined) => (number ?? 0).toString(16).toUpperCase().padStart(4, '0');
  const line = new RegExp(`:${hex(Number(port))} \\w+:${hex(socket.localPort)} 01 `);
  return readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .some((each) => line.test(each));
}

test('2,000 slow clients do not block other clients', async () => {
  const long = { headersTimeout: 5 * MINUTE, requestTimeout: 5 * MINUTE, connectionTimeout: 5 * MINUTE };
  await server.restart({ settings: { timeouts: { ...SERVER_TIMEOUTS, ...long } } });
  const { access_token, refresh_token } = await server.connect();
  const slow = await Promise.all(Array.from({ length: 2000 }, open));
  for (const { socket } of slow) socket.write(START);

  const responses = [await server.refresh(refresh_token), await server.listInvoices(access_token)];
  const page = await fetch(`${server.web}/sign-in`);

  assert.deepEqual(
    [...responses, page].map(({ status }) => status),
    [200, 200, 200],
  );
  assert.ok(slow.every(({ socket }) => !socket.destroyed));
});

test('connections over the limit are closed, and accepted again once one has ended', async () => {
  await server.restart({ settings: { timeouts: { ...SERVER_TIMEOUTS, maxConnections: 3 } } });
  const within = await Promise.all([open(), open(), open()]);
  for (const { socket } of within) socket.write(START);

  const surplus = await open();
  await surplus.closed;
  within[0]?.socket.destroy();
  await within[0]?.closed;
  while (!(await isHealthy())) await setTimeout(20);

  assert.equal(surplus.received, '');
});

const isHealthy = () =>
  fetch(`${server.api}/healthz`).then(
    ({ ok }) => ok,
    () => false,
  );

test('headers over 16 KiB are rejected with 431', async () => {
  await server.restart();
  const client = await open();
  client.socket.write(`${START}x: ${'x'.repeat(17_000)}\r\n\r\n`);
  await client.closed;

  assert.match(client.received, /^HTTP\/1\.1 431 /);
  assert.match(client.received, /"reason":"request_unreadable"/);
});
