import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSettings } from '../../../src/config/settings.ts';
import { InvalidSetting } from '../../../src/lib/errors.ts';
import { redirectParams, sendRaw } from '../../support/raw-http.ts';
import { SCOPES } from '../../support/scopes.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const PATH = '/.well-known/oauth-authorization-server';

test('the metadata describe this server correctly [X1][X2]', async () => {
  const { status, body, headers } = await server.get(PATH);

  assert.equal(status, 200);
  assert.match(headers.get('content-type') ?? '', /^application\/json/);
  const { scopes_supported, ...rest } = body;
  assert.deepEqual(rest, {
    issuer: server.api,
    authorization_endpoint: `${server.api}/api/v1/oauth/authorize`,
    token_endpoint: `${server.api}/api/v1/oauth/token`,
    revocation_endpoint: `${server.api}/api/v1/oauth/revoke`,
    introspection_endpoint: `${server.api}/api/v1/oauth/introspect`,
    service_documentation: `${server.api}/docs`,
    ui_locales_supported: ['en', 'de'],
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic', 'none'],
    revocation_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic', 'none'],
    introspection_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
  });
  assert.deepEqual(scopes_supported, SCOPES);
});

test('every endpoint in the metadata exists', async () => {
  const { body } = await server.get(PATH);

  const authorize = await fetch(body.authorization_endpoint);
  assert.equal(authorize.status, 400);
  for (const name of ['token_endpoint', 'revocation_endpoint', 'introspection_endpoint']) {
    const { status } = await fetch(body[name], { method: 'POST', body: new URLSearchParams() });
    assert.ok(status === 400 || status === 401, name);
  }
});

test('neither Host nor X-Forwarded-Host changes the issuer, a link or a redirect [X3]', async () => {
  const headers: [string, string][] = [
    ['Host', 'evil.example'],
    ['X-Forwarded-Host', 'evil.example'],
    ['X-Forwarded-Proto', 'https'],
    ['Forwarded', 'host=evil.example'],
  ];
  const { pathname, search } = new URL(server.authorizeUrl());
  const rejected = new URL(server.authorizeUrl({ response_type: 'token' }));

  const metadata = await sendRaw(server.api, { path: PATH, headers });
  const sentOn = await sendRaw(server.api, { path: pathname + search, headers });
  const fault = await sendRaw(server.api, { path: rejected.pathname + rejected.search, headers });

  assert.equal(JSON.parse(metadata.text).issuer, server.api);
  assert.doesNotMatch(metadata.text, /evil/);
  assert.ok(sentOn.location?.startsWith(`${server.web}/consent?`));
  assert.equal(redirectParams(fault.location).iss, server.api);
});

test('a public issuer is an https origin with no path, query or fragment, or the server does not start [X1]', async () => {
  const keys = { SECRET_KEYS: 'a-key-of-at-least-thirty-two-characters' };

  for (const BASE_URL of [
    'http://auth.example.com',
    'https://auth.example.com/path',
    'https://auth.example.com?x=1',
    'https://auth.example.com#x',
    'https://me@auth.example.com',
    'ftp://auth.example.com',
    'auth.example.com',
  ]) {
    assert.throws(() => readSettings({ ...keys, BASE_URL }), InvalidSetting, BASE_URL);
  }
  assert.equal(readSettings({ ...keys, BASE_URL: 'https://auth.example.com/' }).baseUrl, 'https://auth.example.com');
});

const CROSS_ORIGIN = { origin: 'https://evil.example', 'access-control-request-method': 'GET' };
const corsOf = (headers: Headers) => [...headers].filter(([name]) => name.startsWith('access-control-'));

test('endpoints that need a client secret or a browser redirect send no CORS headers [A20][P12]', async () => {
  for (const endpoint of ['authorize', 'introspect']) {
    for (const method of ['GET', 'OPTIONS', 'POST']) {
      const { headers } = await fetch(`${server.api}/api/v1/oauth/${endpoint}`, { method, headers: CROSS_ORIGIN });
      assert.deepEqual(corsOf(headers), [], `${method} ${endpoint}`);
    }
  }
});

test('a public client in a page of any origin gets and revokes tokens, but sends no cookies [P12]', async () => {
  for (const endpoint of ['token', 'revoke']) {
    const url = `${server.api}/api/v1/oauth/${endpoint}`;
    const preflight = await fetch(url, { method: 'OPTIONS', headers: CROSS_ORIGIN });
    const body = new URLSearchParams({ token: 'grt_unknown' });
    const rejected = await fetch(url, { method: 'POST', headers: { origin: 'https://page.example' }, body });
    const elsewhere = await fetch(url, { method: 'POST', body });

    assert.equal(preflight.status, 204);
    for (const { headers } of [preflight, rejected]) {
      assert.equal(headers.get('access-control-allow-origin'), '*', endpoint);
      assert.equal(headers.get('access-control-allow-credentials'), null);
    }
    assert.deepEqual(corsOf(elsewhere.headers), []);
  }
});

const EXPOSED = 'etag, idempotency-replayed, link, location, retry-after, www-authenticate, x-request-id';

test('a page of any origin may call the business API with a token, but not with cookies [P12]', async () => {
  for (const path of [PATH, '/api/v1/accounting/invoices', '/api/v1/businesses', '/api/v1/me', '/openapi.json']) {
    const preflight = await fetch(server.api + path, { method: 'OPTIONS', headers: CROSS_ORIGIN });
    const response = await fetch(server.api + path, { headers: CROSS_ORIGIN });

    assert.equal(preflight.status, 204);
    assert.deepEqual(corsOf(preflight.headers), [
      ['access-control-allow-headers', 'authorization, content-type, idempotency-key, if-match, x-business-id'],
      ['access-control-allow-methods', 'GET, POST, PATCH'],
      ['access-control-allow-origin', '*'],
      ['access-control-expose-headers', EXPOSED],
      ['access-control-max-age', '7200'],
    ]);
    assert.deepEqual(corsOf(response.headers), [
      ['access-control-allow-origin', '*'],
      ['access-control-expose-headers', EXPOSED],
    ]);
  }
});

test('cacheable responses have CORS headers for every request, and other responses only for requests with an Origin', async () => {
  const isCombined = async (path: string) => corsOf((await fetch(server.api + path)).headers).length > 0;

  for (const path of [PATH, '/openapi.json']) assert.equal(await isCombined(path), true, path);
  for (const path of ['/api/v1/accounting/invoices', '/api/v1/businesses', '/api/v1/me']) {
    assert.equal(await isCombined(path), false, path);
    assert.equal((await fetch(server.api + path)).headers.get('cache-control'), 'no-store');
  }
});
