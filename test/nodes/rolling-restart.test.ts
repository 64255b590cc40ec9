import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, test } from 'node:test';
import { DRAIN_TIMEOUT } from '../../src/cli/serve.ts';
import type { Client } from '../support/client.ts';
import { databaseUrl, TEMPLATE } from '../support/databases.ts';
import { startNodes } from '../support/nodes.ts';
import { createTemplate, startPostgres } from '../support/postgres-server.ts';

const postgres = await startPostgres();
after(() => postgres.remove());
await createTemplate(postgres.url);
const { nodes, clients } = await startNodes(3, databaseUrl(postgres.url, TEMPLATE));

/** When each node was told to stop. */
const stoppedAt = new Map<number, number>();

/**
 * As a load balancer does: a node to which no connection can be made is passed over. What was sent is sent again only if the node
 * closes the connection after it has drained: then the connection was idle, and the request arrived at that moment.
 */
async function viaSome<Result>(turn: number, ask: (client: Client) => Promise<Result>): Promise<Result> {
  for (let i = 0; i < clients.length; i++) {
    const place = (turn + i) % clients.length;
    const client = clients[place];
    try {
      if (client) return await ask(client);
    } catch (error) {
      const cause =
        error instanceof Error ? (error.cause as { syscall?: string; code?: string } | undefined) : undefined;
      const isDrained = Date.now() - (stoppedAt.get(place) ?? Date.now()) >= DRAIN_TIMEOUT;
      const isClosed = isDrained && cause?.code === 'UND_ERR_SOCKET';
      if (cause?.syscall !== 'connect' && !isClosed) throw error;
    }
  }
  throw new Error('no node takes connections');
}

test('a rolling restart of three nodes under load drops no request, and each node stops within ten seconds', {
  timeout: 300_000,
}, async (context) => {
  const [first] = clients as [Client];
  const { access_token } = await first.connect();
  let isOver = false;
  let answered = 0;
  const failures: string[] = [];
  const load = Array.from({ length: 8 }, async (_, worker) => {
    for (let turn = worker; !isOver; turn++) {
      const outcome = await viaSome(turn, (client) => client.listInvoices(access_token)).then(
        ({ status }) => String(status),
        (error) => String(error.cause ?? error),
      );
      if (outcome === '200') answered += 1;
      else failures.push(outcome);
    }
  });

  for (const [place, node] of nodes.entries()) {
    stoppedAt.set(place, Date.now());
    assert.equal(await node.stop('SIGTERM'), 0);
    await node.start();
    stoppedAt.delete(place);
  }
  isOver = true;
  await Promise.all(load);

  context.diagnostic(`${answered} requests answered, ${failures.length} failed`);
  assert.deepEqual(failures, []);
  assert.ok(answered > 100);
});

test('a client that never completes its request cannot keep a node from stopping', {
  timeout: 300_000,
}, async () => {
  const node = nodes[1];
  assert.ok(node);
  const { hostname, port } = new URL(node.api);
  const socket = connect(Number(port), hostname).on('error', () => {});
  socket.write(
    'POST /api/v1/oauth/token HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
  );
  await once(socket, 'connect');

  const code = await node.stop('SIGTERM');

  assert.equal(code, 0);
  socket.destroy();
});
