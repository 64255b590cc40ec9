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

/** When each node received SIGTERM, by its index. */
const stoppedAt = new Map<number, number>();

/** A failed write sends nothing: the node had closed the idle connection before. */
const UNSENT = ['connect', 'write'];

/**
 * Acts as a load balancer: it skips nodes to which it cannot send. It repeats a sent request only if the node closes the connection
 * after it has drained: the request then reached an idle connection while the node closed it.
 */
async function sendToAnyNode<Result>(index: number, send: (client: Client) => Promise<Result>): Promise<Result> {
  for (let i = 0; i < clients.length; i++) {
    const nodeIndex = (index + i) % clients.length;
    const client = clients[nodeIndex];
    try {
      if (client) return await send(client);
    } catch (error) {
      const cause =
        error instanceof Error ? (error.cause as { syscall?: string; code?: string } | undefined) : undefined;
      const isDrained = Date.now() - (stoppedAt.get(nodeIndex) ?? Date.now()) >= DRAIN_TIMEOUT;
      const isClosed = isDrained && ['UND_ERR_SOCKET', 'ECONNRESET'].includes(cause?.code ?? '');
      if (!UNSENT.includes(cause?.syscall ?? '') && !isClosed) throw error;
    }
  }
  throw new Error('no node accepts connections');
}

test('a rolling restart of three nodes under load drops no request, and each node stops within ten seconds', {
  timeout: 300_000,
}, async (context) => {
  const [first] = clients as [Client];
  const { access_token } = await first.connect();
  let isOver = false;
  let completed = 0;
  const failures: string[] = [];
  const load = Array.from({ length: 8 }, async (_, worker) => {
    for (let index = worker; !isOver; index++) {
      const outcome = await sendToAnyNode(index, (client) => client.listInvoices(access_token)).then(
        ({ status }) => String(status),
        (error) => String(error.cause ?? error),
      );
      if (outcome === '200') completed += 1;
      else failures.push(outcome);
    }
  });

  for (const [nodeIndex, node] of nodes.entries()) {
    stoppedAt.set(nodeIndex, Date.now());
    assert.equal(await node.stop('SIGTERM'), 0);
    await node.start();
    stoppedAt.delete(nodeIndex);
  }
  isOver = true;
  await Promise.all(load);

  context.diagnostic(`${completed} requests completed, ${failures.length} failed`);
  assert.deepEqual(failures, []);
  assert.ok(completed > 100);
});

test('a client that never completes its request cannot prevent a node from stopping', {
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
