import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeDynamicClientId } from '../../../src/apps/dynamic-client-ids.ts';
import { createKeyring } from '../../../src/lib/keyring.ts';
import { CALLBACK, countStored, externalRequest, VERIFIER } from '../../support/client-document-host.ts';
import { fetchOnce } from '../../support/raw-http.ts';
import { SCOPES } from '../../support/scopes.ts';
import { startTestServer, type TestServer } from '../../support/test-server.ts';

const FIRST = 'the-first-key-that-the-tests-sign-their-ids-with';
const ON = { DYNAMIC_REGISTRATION: 'on', PRIVATE_REDIRECT_SCHEMES: 'cursor', LIMIT_EXTERNAL_CLIENTS: '1000000' };
const server = await startTestServer({ ...ON, SECRET_KEYS: FIRST });
const METADATA = '/.well-known/oauth-authorization-server';
const CLIENT = { client_name: 'Assistant', redirect_uris: [CALLBACK, 'http://127.0.0.1:33418/'] };

const register = (changes: object = {}, at: TestServer = server) =>
  at.sendJson('POST', '/api/v1/oauth/register', { ...CLIENT, ...changes });
const newClientId = async (changes: object = {}): Promise<string> => (await register(changes)).body.client_id;
const open = (clientId: string, changes: object = {}, at: TestServer = server) =>
  fetchOnce(at.authorizeUrl({ ...externalRequest(at, clientId), ...changes }));

async function refuse(clientId: string, sentence: RegExp, at: TestServer = server): Promise<void> {
  const { status, location, text } = await open(clientId, {}, at);
  assert.deepEqual([status, location], [400, null], clientId);
  assert.match(text, sentence);
}

test('a client registers itself, and nothing is stored [G3]', async () => {
  const { status, body, headers } = await register({ token_endpoint_auth_method: 'client_secret_post' });

  assert.equal(status, 201);
  assert.equal(headers.get('cache-control'), 'no-store');
  const { client_id, ...rest } = body;
  assert.match(client_id, /^dyn_[\w-]+\.[\w-]{43}$/);
  assert.deepEqual(rest, {
    client_id_issued_at: Math.floor(server.clock() / 1000),
    ...CLIENT,
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    scope: SCOPES.join(' '),
  });
  assert.equal(await countStored(server), 0);
});

test('without the setting there is no registration, it is not advertised, and no such client is known [G3]', async () => {
  const strict = await startTestServer({ SECRET_KEYS: FIRST });
  const on = (await server.get(METADATA)).body;
  const off = (await strict.get(METADATA)).body;

  assert.equal(on.registration_endpoint, `${server.api}/api/v1/oauth/register`);
  assert.equal(Object.hasOwn(off, 'registration_endpoint'), false);
  const response = await fetch(`${strict.api}/api/v1/oauth/register`, { method: 'POST', body: '{}' });
  assert.equal(response.status, 404);
  await refuse(await newClientId(), /This server does not know the app/, strict);
});

test('without the setting, the registration endpoint and the authorize endpoint name the setting and what to use instead', async () => {
  const strict = await startTestServer({ SECRET_KEYS: FIRST });
  const origin = { origin: 'https://inspector.example' };

  const { status, body, headers } = await strict.sendJson('POST', '/api/v1/oauth/register', CLIENT, origin);
  const preflight = await fetch(`${strict.api}/api/v1/oauth/register`, { method: 'OPTIONS', headers: origin });
  const page = await open(await newClientId(), {}, strict);

  assert.deepEqual([status, body.error], [404, 'not_found']);
  assert.match(body.error_description, /DYNAMIC_REGISTRATION is off\. .*client metadata document.*public app/);
  assert.deepEqual([headers.get('access-control-allow-origin'), preflight.status], ['*', 204]);
  assert.match(page.text, /DYNAMIC_REGISTRATION is off/);
});

const INVALID: [changes: object, error: string, sentence: RegExp][] = [
  [{ redirect_uris: undefined }, 'invalid_redirect_uri', /has to be a list/],
  [{ redirect_uris: 'https://a.example/' }, 'invalid_redirect_uri', /has to be a list/],
  [{ redirect_uris: [CALLBACK, 'http://a.example/'] }, 'invalid_redirect_uri', /use https/],
  [
    { redirect_uris: ['https://a.example/?code=x'] },
    'invalid_redirect_uri',
    /its query has code, which the response adds/,
  ],
  [{ redirect_uris: ['javascript:alert(1)'] }, 'invalid_redirect_uri', /use https/],
  [{ redirect_uris: ['vscode://a/b'] }, 'invalid_redirect_uri', /use https/],
  [{ redirect_uris: ['cursor:alert'] }, 'invalid_redirect_uri', /not a complete URL/],
  [{ redirect_uris: ['cursor://user@host/'] }, 'invalid_redirect_uri', /not a complete URL/],
  [{ redirect_uris: [`https://a.example/${'x'.repeat(1900)}`] }, 'invalid_redirect_uri', /too long/],
  [{ client_name: 'A\u202eb' }, 'invalid_client_metadata', /without hidden/],
  [{ client_name: 'x'.repeat(81) }, 'invalid_client_metadata', /1 to 80/],
  [{ client_name: 5 }, 'invalid_client_metadata', /has to be text/],
  [{ scope: ['read:invoices'] }, 'invalid_client_metadata', /scope has to be text/],
  [{ grant_types: ['client_credentials'] }, 'invalid_client_metadata', /authorization_code/],
  [{ response_types: ['token'] }, 'invalid_client_metadata', /include code/],
];

for (const [changes, error, sentence] of INVALID) {
  test(`${JSON.stringify(changes).slice(0, 60)} is rejected with ${error} [G3]`, async () => {
    const { status, body } = await register(changes);

    assert.deepEqual([status, body.error], [400, error], JSON.stringify(body));
    assert.match(body.error_description, sentence);
  });
}

test('a client_id that was changed, cut or signed by another key is unknown [G3]', async () => {
  const clientId = await newClientId();
  const [payload = '', signature = ''] = clientId.slice(4).split('.');
  const forged = Buffer.from(JSON.stringify({ n: 'Claude', r: ['https://evil.example/'] })).toString('base64url');
  const others = createKeyring(['another-key-of-at-least-thirty-two-characters']);
  const metadata = { name: 'Assistant', redirectUris: [CALLBACK], scope: undefined };
  for (const wrong of [
    `dyn_${forged}.${signature}`,
    `dyn_${payload}.${signature.slice(0, -1)}`,
    `dyn_${payload}.`,
    `dyn_${payload}`,
    `dyn_${payload}.${signature}.${signature}`,
    `dyn_${payload}=.${signature}`,
    'dyn_',
    `dyn_${'A'.repeat(3000)}.${signature}`,
    encodeDynamicClientId(others, metadata),
  ]) {
    await refuse(wrong, /This server does not know the app/);
  }
  await refuse(` ${clientId}`, /No app has this client_id/);
  assert.equal(await countStored(server), 0);
});

test('a client registers once: its id works after the key was replaced, and not after that key was removed [G3]', async () => {
  const clientId = await newClientId();
  const second = 'the-second-key-that-the-tests-sign-their-ids-with';
  const other = await startTestServer({ ...ON, SECRET_KEYS: `${second},${FIRST}` });
  const pruned = await startTestServer({ ...ON, SECRET_KEYS: second });

  assert.equal((await open(clientId, {}, other)).status, 303);
  await refuse(clientId, /This server does not know the app/, pruned);
});

test('equal metadata has the same client_id, and other metadata another', async () => {
  const ids = [await newClientId(), await newClientId(), await newClientId({ client_name: 'Other' })];

  assert.equal(ids[0], ids[1]);
  assert.notEqual(ids[0], ids[2]);
});

test('a registered client connects with PKCE and without a secret, after the consent screen every time [G3]', async () => {
  const client_id = await newClientId({ scope: 'read:invoices offline_access' });
  const browser = await server.signedIn();
  const request = externalRequest(server, client_id);
  for (let round = 0; round < 2; round++) {
    const page = await browser.open(server.authorizeUrl(request));
    assert.equal(page.status, 200);
    assert.match(page.text, /registered itself/);
    const { leftTo } = await browser.submit(page, '/consent', { decision: 'allow' });
    const code = leftTo?.searchParams.get('code') ?? undefined;
    const fields = { grant_type: 'authorization_code', code, client_id, redirect_uri: CALLBACK };
    const { status, body } = await server.post('token', { ...fields, code_verifier: VERIFIER });
    assert.equal(status, 200, JSON.stringify(body));
    const again = await server.post('token', {
      grant_type: 'refresh_token',
      refresh_token: body.refresh_token,
      client_id,
    });
    assert.equal(again.status, 200, JSON.stringify(again.body));
  }
  const silent = await browser.open(server.authorizeUrl({ ...request, prompt: 'none' }));
  assert.equal(silent.leftTo?.searchParams.get('error'), 'consent_required');
});

test('the scope of a registration is no limit: a client may request more later, with the same client_id', async () => {
  const client_id = await newClientId({ scope: 'read:invoices offline_access' });
  const browser = await server.signedIn();

  const page = await browser.open(
    server.authorizeUrl({ ...externalRequest(server, client_id), scope: 'write:contacts' }),
  );

  assert.equal(page.status, 200);
  assert.equal(client_id, await newClientId());
});

test('a private-use scheme works only while the operator lists it [G3]', async () => {
  const redirect_uri = 'cursor://anysphere.cursor-mcp/oauth/callback';
  const clientId = await newClientId({ redirect_uris: [redirect_uri] });
  const browser = await server.signedIn();

  const page = await browser.open(server.authorizeUrl({ ...externalRequest(server, clientId), redirect_uri }));
  const { leftTo } = await browser.submit(page, '/consent', { decision: 'allow' });
  await server.restart({ settings: { externalClients: { ...server.settings.externalClients, privateSchemes: [] } } });
  const later = await open(clientId, { redirect_uri });
  await server.restart();

  assert.match(page.headers.get('content-security-policy') ?? '', /form-action 'self' cursor: /);
  assert.match(String(leftTo), /^cursor:\/\/anysphere\.cursor-mcp\/oauth\/callback\?code=/);
  assert.deepEqual([later.status, later.location], [400, null]);
});

test('registrations of one network are limited [G3]', async () => {
  const scarce = await startTestServer({ ...ON, LIMIT_EXTERNAL_CLIENTS: '2' });

  const statuses = [];
  for (let i = 0; i < 3; i++) statuses.push((await register({}, scarce)).status);

  assert.deepEqual(statuses, [201, 201, 429]);
});
