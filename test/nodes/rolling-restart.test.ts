import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, type ClientRequest, type IncomingMessage, type OutgoingHttpHeaders, request } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { DRAIN_TIMEOUT } from '../../src/cli/serve.ts';
import type { Client } from '../support/client.ts';
import { databaseUrl, TEMPLATE } from '../support/databases.ts';
import { startNodes } from '../support/nodes.ts';
import { createTemplate, startPostgres } from '../support/postgres-server.ts';

const postgres = await startPostgres();
after(() => postgres.remove());
await createTemplate(postgres.url);
const { nodes, clients, acme } = await startNodes(3, databaseUrl(postgres.url, TEMPLATE));

/** When each node received SIGTERM, by its index. */
const stoppedAt = new Map<number, number>();

const agents = nodes.map(() => new Agent({ keepAlive: true }));

/** A failed write sends nothing: the node had closed the idle connection before. */
const UNSENT = ['connect', 'write'];

/**
 * Acts as a load balancer: it skips nodes to which it cannot send. It repeats a sent request only if the node cannot have read it:
 * it closed its listener before it accepted the new connection, or the idle connection after it had drained.
 */
async function sendToAnyNode(index: number, path: string, headers: OutgoingHttpHeaders): Promise<number | undefined> {
  for (let i = 0; i < nodes.length; i++) {
    const nodeIndex = (index + i) % nodes.length;
    const sent = request(`${nodes[nodeIndex]?.api}${path}`, { agent: agents[nodeIndex], headers });
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      sent.on('response', resolve).on('error', reject).end();
    }).catch((error) => {
      if (!isUnread(nodeIndex, sent, error)) throw error;
    });
    if (!response) continue;
    await text(response);
    return response.statusCode;
  }
  throw new Error('no node accepts connections');
}

function isUnread(nodeIndex: number, { reusedSocket }: ClientRequest, { code, syscall = '' }: NodeJS.ErrnoException) {
  if (UNSENT.includes(syscall)) return true;
  const stopped = stoppedAt.get(nodeIndex);
  if (stopped === undefined || code !== 'ECONNRESET') return false;
  return Date.now() - stopped >= DRAIN_TIMEOUT || (!reusedSocket && syscall === 'read');
}

test('a rolling restart of three nodes under load drops no request, and each node stops within ten seconds', {
  timeout: 300_000,
}, async (context) => {
  const [first] = clients as [Client];
  const { access_token } = await first.connect();
  const headers = { authorization: `Bearer ${access_token}`, 'x-business-id': acme.id };
  let isOver = false;
  let completed = 0;
  const failures: string[] = [];
  const load = Array.from({ length: 8 }, async (_, worker) => {
    for (let index = worker; !isOver; index++) {
      const outcome = await sendToAnyNode(index, '/api/v1/accounting/invoices', headers).then(String, String);
      if (outcome === '200') completed += 1;
      else failures.push(outcome);
    }
  });

  // First opens the connections: a request that a stopping node cuts off counts as failed only on one that was used before.
  while (completed < 200) await setTimeout(10);
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
  assert.ok(completed > 300);
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
