import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createApi, GatehouseError, type Tokens } from '../../../sdk/typescript/src/index.ts';
import { startTestServer } from '../../support/test-server.ts';
import { connect, createSdkApp, expired, passThrough, recordFetch } from './connected.ts';
import { BUSINESS, send, startFaultyServer } from './faulty-server.ts';

const server = await startTestServer();

/** An `Api` with these tokens, whose requests are recorded. */
function connected(tokens: Tokens) {
  const { requests, fetch } = recordFetch(passThrough);
  const saved: Tokens[] = [];
  const api = createSdkApp(server, { fetch }).api({ tokens, save: (newer) => void saved.push(newer) });
  return { api, requests, saved };
}

test('a request to any path refreshes the tokens before they expire', async () => {
  const { api, requests } = connected(expired(await connect(server)));

  const { status, headers, json } = await api.request('/api/v1/accounting/invoices', {
    businessId: server.acme.id,
    query: { limit: 1, status: undefined },
  });

  assert.deepEqual([status, Array.isArray(json), headers.has('x-request-id')], [200, true, true]);
  assert.deepEqual(requests, ['token refresh_token', 'invoices']);
});

test('a request to any path is repeated once if its token was revoked', async () => {
  const tokens = await connect(server);
  await server.revoke(tokens.accessToken);
  const { api, requests } = connected(tokens);

  await api.request('/api/v1/me');

  assert.deepEqual(requests, ['me', 'token refresh_token', 'me']);
});

test('a rejected request to any path is an error', async () => {
  const { api } = connected(await connect(server));

  await assert.rejects(api.request('/api/v1/nowhere'), (error) => {
    assert.ok(error instanceof GatehouseError);
    assert.deepEqual([error.status, error.code], [404, 'not_found']);
    return true;
  });
});

test('a write to any path is repeated after a failure with the same idempotency key', async () => {
  const faulty = await startFaultyServer(send(503, {}, { 'retry-after': '0' }), send(200, { id: BUSINESS }));

  const { json } = await faulty.api().request('/api/v1/crm/contacts?x=1', {
    method: 'POST',
    businessId: BUSINESS,
    query: { dry: true },
    body: { name: 'Mara' },
    ifMatch: '"1"',
  });

  const [first, second] = faulty.requests;
  assert.deepEqual([json, faulty.requests.length], [{ id: BUSINESS }, 2]);
  assert.deepEqual([first?.path, first?.body], ['/api/v1/crm/contacts?x=1&dry=true', { name: 'Mara' }]);
  assert.equal(first?.headers['x-business-id'], BUSINESS);
  assert.equal(first?.headers['if-match'], '"1"');
  assert.match(String(first?.headers['idempotency-key']), /^[0-9a-f-]{36}$/);
  assert.equal(second?.headers['idempotency-key'], first?.headers['idempotency-key']);
});

test('an access token for requests of your own is refreshed before it expires', async () => {
  const { api, requests, saved } = connected(expired(await connect(server)));

  const first = await api.getAccessToken();
  const second = await api.getAccessToken();

  assert.deepEqual([first, second], [saved[0]?.accessToken, first]);
  assert.deepEqual(requests, ['token refresh_token']);
  assert.equal((await server.listInvoices(first)).status, 200);
  assert.equal(await createApi({ baseUrl: server.api, accessToken: 'gat_1' }).getAccessToken(), 'gat_1');
});

test('if baseUrl is the address of the pages, the error names the address of the API', async () => {
  const api = createApi({ baseUrl: server.web, accessToken: 'gat_1' });

  await assert.rejects(api.me(), (error) => {
    assert.ok(error instanceof GatehouseError);
    assert.equal(error.status, 404);
    assert.ok(error.message.includes(`The API is at ${server.api}:`), error.message);
    return true;
  });
});
