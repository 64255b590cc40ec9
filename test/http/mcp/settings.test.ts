import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callTool, connectTo, messageOf, postMessage } from '../../support/mcp.ts';
import { redirectParams } from '../../support/raw-http.ts';
import { startTestServer } from '../../support/test-server.ts';

test('with MCP=off there is no MCP server', async () => {
  const server = await startTestServer({ MCP: 'off' });
  for (const path of ['/mcp', `/mcp/${server.acme.id}`]) {
    const { status, body } = await callTool({ url: server.api + path }, 'get_me');
    assert.deepEqual([status, body.reason], [404, 'not_found']);
  }
});

test('with MCP=off no token is issued for the MCP server, and no client is accepted that is only for it', async () => {
  const server = await startTestServer({ MCP: 'off', DYNAMIC_REGISTRATION: 'on' });
  const resource = `${server.api}/mcp`;

  const { leftTo } = await (await server.signedIn()).open(server.authorizeUrl({ resource }));
  const metadata = await server.get('/.well-known/oauth-authorization-server');

  const { error, reason } = redirectParams(leftTo?.href);
  assert.deepEqual([error, reason], ['invalid_target', 'resource_unknown']);
  assert.equal(metadata.body.registration_endpoint, undefined);
  assert.equal(metadata.body.client_id_metadata_document_supported, undefined);
});

test('with BUSINESS_API=off there is no MCP server, unless MCP=on enables the one remaining tool', async () => {
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
