import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  generateCodeVerifier,
  OAuth2Client,
  OAuth2Error,
  OAuth2Fetch,
  OAuth2HttpError,
  type OAuth2Token,
} from '@badgateway/oauth2-client';
import { HOUR } from '../../../src/lib/clock.ts';
import { REDIRECT_URI, type RegisteredApp } from '../../support/fixtures.ts';
import { startTestServer } from '../../support/test-server.ts';
import { decide } from './visitor.ts';

const server = await startTestServer();
await server.addInvoice(server.acme, { number: 'INV-2001', total: '99.90' });

type Method = 'client_secret_post' | 'client_secret_basic' | 'client_secret_basic_interop';
const METHODS: Method[] = ['client_secret_post', 'client_secret_basic', 'client_secret_basic_interop'];

/** The server, the credentials and optionally how to send them. The client discovers the rest. */
function newOAuth2Client(app: Pick<RegisteredApp, 'id' | 'secret'> = server.ledger, authenticationMethod?: Method) {
  return new OAuth2Client({ server: server.api, clientId: app.id, clientSecret: app.secret, authenticationMethod });
}

async function depart(client: OAuth2Client, state = 'state-1') {
  const request = { redirectUri: REDIRECT_URI, state, codeVerifier: await generateCodeVerifier() };
  const address = await client.authorizationCode.getAuthorizeUri({ ...request, scope: ['read:invoices'] });
  return { request, address };
}

async function connect(client: OAuth2Client): Promise<OAuth2Token> {
  const { request, address } = await depart(client);
  return client.authorizationCode.getTokenFromCodeRedirect(await decide(server, address), request);
}

/** The client's own fetch, which refreshes automatically. Its timer is off, since it would keep the test running. */
function newFetch(client: OAuth2Client, token: OAuth2Token) {
  const stored: OAuth2Token[] = [];
  const wrapper = new OAuth2Fetch({
    client,
    getStoredToken: () => token,
    getNewToken: () => null,
    storeToken: (newer) => stored.push(newer),
    scheduleRefresh: false,
  });
  return { wrapper, stored };
}

async function listInvoices(wrapper: OAuth2Fetch): Promise<string[]> {
  const [business] = await (await wrapper.fetch(`${server.api}/api/v1/businesses`)).json();
  const headers = { 'x-business-id': business.id };
  const response = await wrapper.fetch(`${server.api}/api/v1/accounting/invoices`, { headers });
  assert.equal(response.status, 200);
  return (await response.json()).map(({ number }: { number: string }) => number);
}

test('@badgateway/oauth2-client finds the endpoints and how to send its credentials, connects and lists the invoices', async () => {
  const client = newOAuth2Client();

  const token = await connect(client);

  assert.equal(client.settings.authenticationMethod, 'client_secret_post');
  assert.equal(client.settings.tokenEndpoint, `${server.api}/api/v1/oauth/token`);
  assert.deepEqual(token.scope, ['read:invoices']);
  assert.equal(token.extraParams, undefined);
  assert.deepEqual(await listInvoices(newFetch(client, token).wrapper), ['INV-2001']);
});

for (const method of METHODS) {
  test(`@badgateway/oauth2-client connects, refreshes, introspects and revokes with ${method}`, async () => {
    const client = newOAuth2Client(server.ledger, method);
    const token = await connect(client);

    const newer = await client.refreshToken(token, { scope: ['read:invoices'] });
    const seen = await client.introspect(newer);
    await client.revoke(newer);
    const ended = await client.introspect(newer);
    const older = await client.introspect(token);
    await client.revoke(newer, 'refresh_token');

    assert.notEqual(newer.refreshToken, token.refreshToken);
    assert.equal(seen.active, true);
    assert.equal(seen.sub, server.ada.id);
    assert.equal(seen.client_id, server.ledger.id);
    assert.deepEqual(ended, { active: false });
    assert.equal(older.active, true);
    assert.deepEqual(await client.introspect(token), { active: false });
  });

  test(`a wrong secret by ${method} reaches @badgateway/oauth2-client as invalid_client`, async () => {
    const client = newOAuth2Client({ id: server.ledger.id, secret: 'gcs_wrong' }, method);

    const rejected = client.refreshToken({ accessToken: '', refreshToken: 'any', expiresAt: null });

    await assert.rejects(rejected, (error) => {
      assert.ok(error instanceof OAuth2HttpError);
      assert.deepEqual([error.httpCode, error.oauth2Code], [401, 'invalid_client']);
      assert.match(error.message, /No app has this client_id and client_secret/);
      return true;
    });
  });
}

test('after an hour the fetch of @badgateway/oauth2-client refreshes automatically, for any caller, and stores the pair', async () => {
  const client = newOAuth2Client();
  const token = await connect(client);
  const { wrapper, stored } = newFetch(client, token);
  server.advanceClock(HOUR);

  const lists = await Promise.all([listInvoices(wrapper), listInvoices(wrapper), listInvoices(wrapper)]);

  assert.deepEqual(lists, [['INV-2001'], ['INV-2001'], ['INV-2001']]);
  assert.ok(stored.length > 0);
  assert.notEqual(stored.at(-1)?.refreshToken, token.refreshToken);
});

test('two workers with @badgateway/oauth2-client that refresh the same pair at once both continue with the same new one', async () => {
  const token = await connect(newOAuth2Client());

  const [first, second] = await Promise.all([
    newOAuth2Client().refreshToken(token),
    newOAuth2Client().refreshToken(token),
  ]);

  assert.equal(first.accessToken, second.accessToken);
  assert.equal(first.refreshToken, second.refreshToken);
});

test('a revoked refresh token reaches @badgateway/oauth2-client as invalid_grant, with the reason in words', async () => {
  const client = newOAuth2Client();
  const token = await connect(client);
  await client.revoke(token, 'refresh_token');

  await assert.rejects(client.refreshToken(token), (error) => {
    assert.ok(error instanceof OAuth2HttpError);
    assert.deepEqual([error.httpCode, error.oauth2Code], [400, 'invalid_grant']);
    assert.match(error.message, /The app revoked this grant itself/);
    assert.equal(error.parsedBody.reason, 'revoked_by_app');
    assert.match(error.parsedBody.error_uri, /\/docs\/errors\/invalid_grant/);
    return true;
  });
});

test('Deny reaches @badgateway/oauth2-client as access_denied, in words for its log', async () => {
  const client = newOAuth2Client(await server.addApp({ ownerBusinessId: server.acme.id }));
  const { request, address } = await depart(client);

  const back = await decide(server, address, 'deny');

  await assert.rejects(client.authorizationCode.getTokenFromCodeRedirect(back, request), (error) => {
    assert.ok(error instanceof OAuth2Error);
    assert.equal(error.oauth2Code, 'access_denied');
    assert.equal(error.message, 'The user did not allow it.');
    return true;
  });
});

test('whatever state @badgateway/oauth2-client sends, it gets back the same, and the issuer beside it', async () => {
  const client = newOAuth2Client();
  const { request, address } = await depart(client, '/orders?page=2&sort=a+b c#%20"é"');

  const back = await decide(server, address);

  assert.equal(back.searchParams.get('state'), request.state);
  assert.equal(back.searchParams.get('iss'), server.api);
  assert.ok((await client.authorizationCode.getTokenFromCodeRedirect(back, request)).accessToken);
});

test('a code_verifier other than the one @badgateway/oauth2-client started with is rejected', async () => {
  const client = newOAuth2Client();
  const { request, address } = await depart(client);
  const back = await decide(server, address);

  const exchange = client.authorizationCode.getTokenFromCodeRedirect(back, {
    ...request,
    codeVerifier: await generateCodeVerifier(),
  });

  await assert.rejects(exchange, (error) => {
    assert.ok(error instanceof OAuth2HttpError);
    assert.equal(error.oauth2Code, 'invalid_grant');
    assert.match(error.message, /code_verifier/);
    return true;
  });
});
