import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callTool, connectTo, messageOf, postMessage } from '../../support/mcp.ts';
import { startTestServer } from '../../support/test-server.ts';

test('with MCP=off there is no MCP server', async () => {
  const server = await startTestServer({ MCP: 'off' });
  for (const path of ['/mcp', `/mcp/${server.acme.id}`]) {
    const { status, body } = await callTool({ url: server.api + path }, 'get_me');
    assert.deepEqual([status, body.reason], [404, 'not_found']);
  }
});

test('with BUSINESS_API=off there is no MCP server, unless MCP=on asks for the one tool that is left', async () => {
  const off = await startTestServer({ BUSINESS_API: 'off' });
  const on = await startTestServer({ BUSINESS_API: 'off', MCP: 'on' });
  const token = await connectTo(on, '/mcp');
  const url = `${on.api}/mcp`;

  const listed = await postMessage({ url, token, ...messageOf('2026-07-28', 'tools/list') });

  assert.equal((await callTool({ url: `${off.api}/mcp` }, 'get_me')).status, 404);
  assert.deepEqual(
    listed.body.result.tools.map(({ name }: { name: string }) => name),
    ['get_me'],
  );
  assert.equal((await callTool({ url, token }, 'get_me')).result.structuredContent.business.name, 'Acme');
  assert.equal((await callTool({ url, token }, 'list_invoices')).error.code, -32602);
});
