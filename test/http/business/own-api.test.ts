import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listEndpoints } from '../../../src/business/routes.ts';
import { RESOURCES } from '../../../src/resources/all.ts';
import { eventTypesOf } from '../../../src/resources/resource.ts';
import { SCOPES } from '../../support/scopes.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer({ BUSINESS_API: 'off' });
const RESOURCE_EVENTS = RESOURCES.flatMap(eventTypesOf);

test('with BUSINESS_API=off, no resource has a route, even for a token with its scope', async () => {
  const { access_token } = await server.connect();
  const headers = { authorization: `Bearer ${access_token}`, 'x-business-id': server.acme.id };
  const kept = listEndpoints(false).map(({ path }) => path);

  assert.deepEqual(kept, ['/api/v1/me', '/api/v1/businesses']);
  for (const path of kept) assert.equal((await server.get(path, headers)).status, 200, path);
  for (const { path, method } of listEndpoints(true)) {
    if (kept.includes(path)) continue;
    const response = await fetch(server.api + path.replace(':id', server.acme.id), { method, headers });
    assert.equal(response.status, 404, `${method} ${path}`);
  }
});

test('with BUSINESS_API=off, the API reference has no resources and no events of theirs', async () => {
  const { body: document } = await server.get('/openapi.json');
  const paths = Object.keys(document.paths);

  for (const { path, title } of RESOURCES) {
    assert.ok(!paths.some((each) => each.startsWith(path)), path);
    assert.ok(!Object.keys(document.components.schemas).some((name) => name.startsWith(title)), title);
  }
  assert.deepEqual(
    Object.keys(document.webhooks).filter((type) => RESOURCE_EVENTS.includes(type)),
    [],
  );
  assert.equal(
    RESOURCE_EVENTS.some((type) => JSON.stringify(document.components.schemas.Event).includes(type)),
    false,
  );
  assert.match(document.info.description, /The platform has an API of its own/);
});

test('with BUSINESS_API=off, webhook endpoints are offered no events of resources', async () => {
  const browser = await server.signedIn();
  const page = await browser.open(`/settings/developer/${server.ledger.id}/endpoints/new`);

  assert.equal(page.status, 200);
  assert.match(page.text, /value="grant.created"/);
  for (const type of RESOURCE_EVENTS) assert.ok(!page.text.includes(`value="${type}"`), type);
});

test('with BUSINESS_API=off, scopes, tokens and introspection work as before', async () => {
  const metadata = await server.get('/.well-known/oauth-authorization-server');
  const { access_token } = await server.connect({ scope: 'read:invoices' });

  assert.deepEqual(metadata.body.scopes_supported, SCOPES);
  assert.equal((await server.introspect(access_token)).body.scope, 'read:invoices');
});
