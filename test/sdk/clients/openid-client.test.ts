import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, test } from 'node:test';
import * as client from 'openid-client';
import { HOUR } from '../../../src/lib/clock.ts';
import { REDIRECT_URI } from '../../support/fixtures.ts';
import { startTestServer } from '../../support/test-server.ts';
import { decide } from './visitor.ts';

const server = await startTestServer();
await server.addInvoice(server.acme, { number: 'INV-2001', total: '99.90' });

const METHODS = { client_secret_post: client.ClientSecretPost, client_secret_basic: client.ClientSecretBasic };

interface Setup {
  app?: { id: string; secret: string };
  method?: keyof typeof METHODS;
  redirectUri?: string;
  scope?: string;
}

/** The configuration of the app: the issuer, the credentials, and plain http for this machine. */
function discover({ app = server.ledger, method = 'client_secret_post' }: Setup = {}) {
  const options = { algorithm: 'oauth2' as const, execute: [client.allowInsecureRequests] };
  return client.discovery(new URL(server.api), app.id, undefined, METHODS[method](app.secret), options);
}

async function depart(
  config: client.Configuration,
  { redirectUri = REDIRECT_URI, scope = 'read:invoices' }: Setup = {},
) {
  const checks = { pkceCodeVerifier: client.randomPKCECodeVerifier(), expectedState: client.randomState() };
  const address = client.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri,
    scope,
    state: checks.expectedState,
    code_challenge: await client.calculatePKCECodeChallenge(checks.pkceCodeVerifier),
    code_challenge_method: 'S256',
  });
  return { address, checks };
}

async function connect(setup: Setup = {}) {
  const config = await discover(setup);
  const { address, checks } = await depart(config, setup);
  const tokens = await client.authorizationCodeGrant(config, await decide(server, address), checks);
  return { config, accessToken: tokens.access_token, refreshToken: tokens.refresh_token ?? '', tokens };
}

async function listInvoices(config: client.Configuration, accessToken: string): Promise<{ number: string }[]> {
  const read = async (path: string, headers?: Headers) => {
    const url = new URL(path, server.api);
    return (await client.fetchProtectedResource(config, accessToken, url, 'GET', null, headers)).json();
  };
  const [business] = await read('/api/v1/businesses');
  return read('/api/v1/accounting/invoices', new Headers({ 'x-business-id': business.id }));
}

/** The error of a rejected promise, which has to be of this type. */
async function failureOf<Kind extends Error>(
  type: abstract new (...args: never[]) => Kind,
  promise: Promise<unknown>,
): Promise<Kind> {
  const error = await promise.then(
    () => assert.fail('it is refused'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof type, `${type.name}, not ${error}`);
  return error;
}

for (const method of ['client_secret_post', 'client_secret_basic'] as const) {
  test(`openid-client connects by discovery, with PKCE, state and ${method}, and lists the invoices`, async () => {
    const { config, tokens, accessToken } = await connect({ method });

    assert.equal(config.serverMetadata().supportsPKCE(), true);
    assert.equal(tokens.token_type, 'bearer');
    assert.equal(tokens.expires_in, 3600);
    assert.equal(tokens.scope, 'read:invoices');
    assert.deepEqual(
      (await listInvoices(config, accessToken)).map(({ number }) => number),
      ['INV-2001'],
    );
  });

  test(`openid-client refreshes, introspects and revokes with ${method}, and learns why a refresh token was rejected`, async () => {
    const { config, accessToken, refreshToken } = await connect({ method });

    const newer = await client.refreshTokenGrant(config, refreshToken);
    const seen = await client.tokenIntrospection(config, newer.access_token);
    await client.tokenRevocation(config, accessToken);
    const ended = await client.tokenIntrospection(config, accessToken);
    await client.tokenRevocation(config, newer.refresh_token ?? '', { token_type_hint: 'refresh_token' });
    const rejected = await failureOf(
      client.ResponseBodyError,
      client.refreshTokenGrant(config, newer.refresh_token ?? ''),
    );

    assert.notEqual(newer.refresh_token, refreshToken);
    assert.equal(seen.active, true);
    assert.equal(seen.sub, server.ada.id);
    assert.equal(seen.client_id, server.ledger.id);
    assert.equal(seen.business_id, server.acme.id);
    assert.deepEqual(ended, { active: false });
    assert.deepEqual([rejected.status, rejected.error], [400, 'invalid_grant']);
    assert.match(rejected.error_description ?? '', /The app revoked this grant itself/);
  });
}

test('a refresh through openid-client can ask for fewer scopes', async () => {
  const { config, refreshToken } = await connect({ scope: 'read:invoices read:contacts' });

  const narrower = await client.refreshTokenGrant(config, refreshToken, { scope: 'read:contacts' });
  const rejected = await failureOf(client.WWWAuthenticateChallengeError, listInvoices(config, narrower.access_token));

  assert.equal(narrower.scope, 'read:contacts');
  assert.equal(rejected.status, 403);
  assert.equal(rejected.cause[0]?.scheme, 'bearer');
  assert.equal(rejected.cause[0]?.parameters.error, 'insufficient_scope');
  assert.equal(rejected.cause[0]?.parameters.scope, 'read:invoices');
});

test('an expired access token reaches openid-client as a challenge that it can read', async () => {
  const { config, accessToken, refreshToken } = await connect();
  server.advanceClock(HOUR);

  const rejected = await failureOf(client.WWWAuthenticateChallengeError, listInvoices(config, accessToken));
  const newer = await client.refreshTokenGrant(config, refreshToken);

  assert.equal(rejected.status, 401);
  assert.equal(rejected.cause[0]?.parameters.error, 'invalid_token');
  assert.equal((await listInvoices(config, newer.access_token)).length, 1);
});

test('Deny reaches openid-client as an authorization response error, from the issuer and with the state', async () => {
  const app = await server.addApp({ ownerBusinessId: server.acme.id });
  const config = await discover({ app });
  const { address, checks } = await depart(config);

  const back = await decide(server, address, 'deny');
  const rejected = await failureOf(
    client.AuthorizationResponseError,
    client.authorizationCodeGrant(config, back, checks),
  );

  assert.equal(rejected.error, 'access_denied');
  assert.equal(rejected.error_description, 'The user did not allow it.');
  assert.equal(rejected.cause.get('iss'), server.api);
  assert.equal(rejected.cause.get('state'), checks.expectedState);
});

test('openid-client requires the iss parameter because the metadata promise it, and rejects that of another issuer', async () => {
  const config = await discover();
  const { address, checks } = await depart(config);
  const back = await decide(server, address);
  const without = new URL(back);
  without.searchParams.delete('iss');
  const foreign = new URL(back);
  foreign.searchParams.set('iss', 'https://evil.example');

  for (const changed of [without, foreign]) {
    const rejected = await failureOf(client.ClientError, client.authorizationCodeGrant(config, changed, checks));
    assert.match(String(rejected.cause), /"iss" \(issuer\)/);
  }
  assert.ok((await client.authorizationCodeGrant(config, back, checks)).access_token);
});

test('a wrong secret in the body reaches openid-client as the error in the response', async () => {
  const config = await discover({ app: { id: server.ledger.id, secret: 'gcs_wrong' } });

  const rejected = await failureOf(client.ResponseBodyError, client.refreshTokenGrant(config, 'any'));

  assert.deepEqual([rejected.status, rejected.error], [401, 'invalid_client']);
  assert.match(rejected.error_description ?? '', /No app has this client_id and client_secret/);
});

test('a wrong secret by HTTP Basic reaches openid-client as a Basic challenge, with the error in the response', async () => {
  const config = await discover({ app: { id: server.ledger.id, secret: 'gcs_wrong' }, method: 'client_secret_basic' });

  const rejected = await failureOf(client.WWWAuthenticateChallengeError, client.refreshTokenGrant(config, 'any'));

  assert.equal(rejected.status, 401);
  assert.deepEqual(
    rejected.cause.map(({ scheme }) => scheme),
    ['basic'],
  );
  assert.equal((await rejected.response.json()).error, 'invalid_client');
});

test('a request without state is rejected with an explanation, although openid-client would omit it where PKCE is supported', async () => {
  const config = await discover();
  const { address, checks } = await depart(config);
  address.searchParams.delete('state');

  const back = await decide(server, address);
  const rejected = await failureOf(
    client.AuthorizationResponseError,
    client.authorizationCodeGrant(config, back, { pkceCodeVerifier: checks.pkceCodeVerifier }),
  );

  assert.equal(rejected.error, 'invalid_request');
  assert.match(rejected.error_description ?? '', /state/);
});

test('a native app listens on whatever loopback port is free, and openid-client finishes with the request that arrives', async () => {
  const app = await server.addApp({ redirectUris: ['http://127.0.0.1/callback'], requiresPkce: true });
  const { port, arrival } = await listen();
  const config = await discover({ app });
  const { address, checks } = await depart(config, { redirectUri: `http://127.0.0.1:${port}/callback` });

  await fetch(await decide(server, address));
  const tokens = await client.authorizationCodeGrant(config, new Request(await arrival), checks);

  assert.equal((await listInvoices(config, tokens.access_token)).length, 1);
});

/** The listener of a native app: accepts one request, and resolves with its URL. */
async function listen(): Promise<{ port: number; arrival: Promise<URL> }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  after(() => server.close());
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const arrival = new Promise<URL>((resolve) => {
    server.once('request', (request, response) => {
      resolve(new URL(request.url ?? '', `http://127.0.0.1:${port}`));
      response.end('You can close this window.');
    });
  });
  return { port, arrival };
}
