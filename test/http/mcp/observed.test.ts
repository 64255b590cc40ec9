import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callTool, connectTo, messageOf, postMessage } from '../../support/mcp.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer({ LIMIT_PER_GRANT: '8' });
const url = `${server.api}/mcp`;

/** The requests and the scope uses of an app, which are stored when the server stops. */
async function readLog(appId: string) {
  await server.restart();
  const { durable } = server.storage();
  const requests = await durable
    .selectFrom('logged_requests')
    .select(['method', 'route', 'status', 'reason'])
    .where('app_id', '=', appId)
    .where('route', 'like', '/mcp%')
    .orderBy('id')
    .execute();
  const uses = await durable.selectFrom('scope_uses').select(['scope', 'uses']).where('app_id', '=', appId).execute();
  return {
    lines: requests.map(({ method, route, status, reason }) => [method, route, status, reason].join(' ').trim()),
    uses: uses.map(({ scope, uses: count }) => `${scope} ${count}`).sort(),
  };
}

test('the request log names the tools and their errors, and successful calls count as uses of their scope', async () => {
  const token = await connectTo(server, '/mcp', { scopes: ['read:invoices', 'write:contacts'] });
  await postMessage({ url, token, ...messageOf('2026-07-28', 'tools/list') });
  await callTool({ url, token }, 'list_invoices');
  await callTool({ url, token }, 'list_invoices', { limit: 5 });
  await callTool({ url, token }, 'get_invoice', { id: server.acme.id });
  await callTool({ url, token }, 'create_contact', { name: 'Mara' });
  await callTool({ url, token }, 'list_deals');
  await callTool({ url, token }, 'nonsense');
  const { result } = await callTool({ url, token }, 'get_me');

  const { lines, uses } = await readLog(result.structuredContent.app.id);

  assert.deepEqual(lines, [
    'POST /mcp tools/list 200',
    'POST /mcp list_invoices 200',
    'POST /mcp list_invoices 200',
    'POST /mcp get_invoice 404 not_found',
    'POST /mcp create_contact 200',
    'POST /mcp list_deals 403 insufficient_scope',
    'POST /mcp tools/call 200',
    'POST /mcp get_me 200',
  ]);
  assert.deepEqual(uses, ['read:invoices 2', 'write:contacts 1']);
});

test('the calls of one grant are limited', async () => {
  const token = await connectTo(server, '/mcp');
  const statuses: number[] = [];
  for (let count = 0; count < 9; count += 1) statuses.push((await callTool({ url, token }, 'get_me')).status);

  const { status, headers, body } = await callTool({ url, token }, 'get_me');

  assert.deepEqual(statuses, [...Array(8).fill(200), 429]);
  assert.deepEqual([status, body.reason], [429, 'too_many_requests']);
  assert.ok(Number(headers.get('retry-after')) > 0);
});

test('a tool that fails is a 500 without details', async () => {
  const token = await connectTo(server, `/mcp/${server.acme.id}`);
  await server.storage().durable.schema.alterTable('orders').renameTo('lost_orders').execute();

  const { status, body, text } = await callTool({ url: `${url}/${server.acme.id}`, token }, 'list_orders');

  await server.storage().durable.schema.alterTable('lost_orders').renameTo('orders').execute();
  assert.deepEqual([status, body.reason], [500, 'server_error']);
  assert.doesNotMatch(text, /orders/);
});
