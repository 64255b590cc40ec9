import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const MCP = `${server.api}/mcp`;

async function tokenFor(resource: string | undefined): Promise<string> {
  const { body } = await server.exchange(await server.allow({ resource }));
  return body.access_token;
}

test('a token without resource, or for the business API, works at the business API [G2]', async () => {
  for (const resource of [undefined, `${server.api}/api/v1`, `${server.api}/api/v1/`]) {
    const { status } = await server.listInvoices(await tokenFor(resource));
    assert.equal(status, 200, `resource ${resource}`);
  }
});

test('a token for an MCP server does not work at the business API [G2]', async () => {
  for (const resource of [MCP, `${MCP}/`, `${MCP}/${server.acme.id}`]) {
    const { status, body, headers } = await server.listInvoices(await tokenFor(resource));
    assert.deepEqual([status, body.error, body.reason], [401, 'invalid_token', 'token_for_other_resource'], resource);
    assert.match(headers.get('www-authenticate') ?? '', /^Bearer error="invalid_token"/);
  }
});
