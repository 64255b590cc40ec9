import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newRandomId } from '../../../src/lib/ids.ts';
import { SCOPES } from '../../../src/oauth/scopes.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const PATH = '/.well-known/oauth-protected-resource';
const SERVER = { authorization_servers: [server.api], scopes_supported: SCOPES.map(({ name }) => name) };

/** The parameters of a challenge. */
function parametersOf(headers: Headers): Record<string, string> {
  const list = (headers.get('www-authenticate') ?? '').matchAll(/(\w+)="([^"]*)"/g);
  return Object.fromEntries([...list].map(([, name, value]) => [name, value]));
}

test('each resource has metadata at the well-known path before its own, for any origin', async () => {
  for (const path of ['/api/v1', '/mcp', `/mcp/${server.acme.id}`]) {
    const { status, headers, body } = await server.get(PATH + path, { origin: 'https://inspector.example' });
    const { resource_name, resource_documentation, ...metadata } = body;

    assert.equal(status, 200);
    assert.equal(headers.get('access-control-allow-origin'), '*');
    assert.deepEqual(metadata, { resource: server.api + path, ...SERVER, bearer_methods_supported: ['header'] });
    assert.match(resource_name, path === '/api/v1' ? / API$/ : / MCP server$/);
    assert.equal(resource_documentation, `${server.api}/docs`);
  }
});

test('the metadata of a business is the same whether it exists or not, and anything but a UUID is not found', async () => {
  const [real, invented] = [server.acme.id, newRandomId()];
  const responses = [];
  for (const id of [real, invented]) {
    const { status, body } = await server.get(`${PATH}/mcp/${id}`);
    responses.push([status, JSON.stringify(body).replaceAll(id, 'ID')]);
  }

  assert.deepEqual(responses[0], responses[1]);
  for (const path of ['/mcp/acme', `/mcp/${real.toUpperCase()}`, `/mcp/${real}/x`, '/api/v2', '']) {
    assert.equal((await server.get(PATH + path)).status, 404, path);
  }
});

test('a 401 names the metadata of the resource and the scope of the call, with and without an error code [P1][P2]', async () => {
  const metadata = `${server.api}${PATH}/api/v1`;
  const missing = parametersOf((await server.get('/api/v1/accounting/invoices')).headers);
  const unknown = parametersOf((await server.listInvoices('gat_x')).headers);
  const me = parametersOf((await server.get('/api/v1/me')).headers);

  assert.deepEqual(missing, { resource_metadata: metadata, scope: 'read:invoices' });
  assert.deepEqual(
    [unknown.error, unknown.resource_metadata, unknown.scope],
    ['invalid_token', metadata, missing.scope],
  );
  assert.deepEqual(me, { resource_metadata: metadata });
});

test('a 403 for a scope names the metadata and the scope of the call [P3]', async () => {
  const { access_token } = await server.connect({ scope: 'read:contacts' });
  const { error, resource_metadata, scope } = parametersOf((await server.listInvoices(access_token)).headers);

  assert.deepEqual([error, scope], ['insufficient_scope', 'read:invoices']);
  assert.equal(resource_metadata, `${server.api}${PATH}/api/v1`);
});

test('the MCP server and that of each business name their own metadata, which leads back to them [G2]', async () => {
  for (const path of ['/mcp', `/mcp/${server.acme.id}`]) {
    const response = await fetch(server.api + path, { method: 'POST' });
    const { error, resource_metadata = '', scope } = parametersOf(response.headers);
    const { resource } = await (await fetch(resource_metadata)).json();

    assert.deepEqual([response.status, error, resource], [401, undefined, server.api + path]);
    assert.deepEqual(scope?.split(' ').toSorted(), SERVER.scopes_supported.toSorted());
  }
});

test('without the MCP server, only the business API has metadata', async () => {
  const other = await startTestServer({ MCP: 'off' });
  const statuses = [];
  for (const path of ['/api/v1', '/mcp', `/mcp/${other.acme.id}`]) statuses.push((await other.get(PATH + path)).status);

  assert.deepEqual(statuses, [200, 404, 404]);
});
