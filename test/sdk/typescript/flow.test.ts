import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { createApi, GatehouseError } from '../../../sdk/typescript/src/index.ts';
import { PASSWORD, REDIRECT_URI } from '../../support/fixtures.ts';
import { startTestServer } from '../../support/test-server.ts';
import { connect, createSdkApp, openAuthorizeUrl, passThrough, recordFetch } from './connected.ts';

const server = await startTestServer();
const app = createSdkApp(server);
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const invoice = await server.addInvoice(server.acme, { number: 'INV-7', total: '1234.50', customerId: 'contact-9' });

test('an app connects a visitor, who signs in and allows it, and reads the invoices', async () => {
  const eve = await server.addUser('Eve', [[server.acme, 'member']]);
  const { url, state, codeVerifier } = await app.beginAuthorization({ scopes: ['read:invoices'] });

  const browser = server.browse();
  const signIn = await browser.open(url);
  assert.match(signIn.url, /\/sign-in\?/);
  const consent = await browser.signIn(eve.email, PASSWORD, signIn);
  const { leftTo } = await browser.submit(consent, '/consent', { decision: 'allow' });
  const tokens = await app.finishAuthorization(leftTo?.href ?? '', { state, codeVerifier });

  const api = app.api({ tokens, save: () => assert.fail('there is nothing to save yet') });
  const [business] = await api.businesses();
  assert.deepEqual(business, { id: server.acme.id, name: 'Acme' });
  const { invoices, nextCursor } = await api.invoicePage(server.acme.id);
  assert.partialDeepStrictEqual(invoices, [
    { id: invoice.id, number: 'INV-7', status: 'SENT', total: '1234.50', currency: 'GBP', customerId: 'contact-9' },
  ]);
  assert.equal(nextCursor, undefined);
});

test('tokens are plain data that survives JSON', async () => {
  const before = Date.now();
  const tokens = await connect(server);

  assert.match(tokens.accessToken, /^gat_/);
  assert.match(tokens.refreshToken, /^grt_/);
  assert.deepEqual(tokens.scopes, ['read:invoices']);
  assert.match(tokens.expiresAt, TIME);
  const expiry = Date.parse(tokens.expiresAt);
  assert.ok(expiry >= before + 3600_000 && expiry <= Date.now() + 3600_000);
  assert.deepEqual(JSON.parse(JSON.stringify(tokens)), tokens);
});

test('each authorization has its own state and its own PKCE challenge, and the right parameters', async () => {
  const first = await app.beginAuthorization({ scopes: ['read:invoices', 'read:contacts'], prompt: 'login' });
  const second = await app.beginAuthorization({ scopes: ['read:invoices'] });

  assert.ok(first.url.startsWith(`${server.api}/api/v1/oauth/authorize?`));
  assert.deepEqual(Object.fromEntries(new URL(first.url).searchParams), {
    response_type: 'code',
    client_id: server.ledger.id,
    redirect_uri: REDIRECT_URI,
    scope: 'read:invoices read:contacts',
    state: first.state,
    code_challenge: createHash('sha256').update(first.codeVerifier).digest('base64url'),
    code_challenge_method: 'S256',
    prompt: 'login',
  });
  assert.equal(new URL(second.url).searchParams.get('prompt'), null);
  assert.equal(new URL(second.url).searchParams.get('optional_scope'), null);
  const secrets = [first.state, first.codeVerifier, second.state, second.codeVerifier];
  assert.equal(new Set(secrets).size, 4);
  for (const secret of secrets) assert.match(secret, /^[\w-]{43}$/);
});

test('optional scopes may be left unticked, and the tokens contain the granted scope', async () => {
  const frank = await server.signedIn(await server.addUser('Frank', [[server.acme, 'member']]));
  const { url, ...pending } = await app.beginAuthorization({
    scopes: ['read:invoices'],
    optionalScopes: ['read:contacts', 'write:invoices'],
  });
  const consent = await frank.open(url);
  const { leftTo } = await frank.submit(consent, '/consent', { decision: 'allow', optional_scope: 'read:contacts' });

  const tokens = await app.finishAuthorization(leftTo?.href ?? '', pending);

  assert.deepEqual(tokens.scopes, ['read:invoices', 'read:contacts']);
});

test('a callback is accepted as a full address, a URL, a path or a query', async () => {
  const forms = [
    (url: URL) => url,
    (url: URL) => url.href,
    (url: URL) => `${url.href}#fragment`,
    (url: URL) => url.pathname + url.search,
    (url: URL) => url.search,
    (url: URL) => url.search.slice(1),
  ];
  for (const form of forms) {
    const { url, ...pending } = await app.beginAuthorization({ scopes: ['read:invoices'] });
    const tokens = await app.finishAuthorization(form(await openAuthorizeUrl(server, url)), pending);
    assert.match(tokens.accessToken, /^gat_/);
  }
});

test('Deny is an access_denied error, and its reason names who denied', async () => {
  const mallory = await server.addUser('Mallory', [[server.acme, 'member']]);
  const { url, ...pending } = await app.beginAuthorization({ scopes: ['read:invoices'] });
  const callback = await openAuthorizeUrl(server, url, 'deny', await server.signedIn(mallory));

  const error = await errorOf(app.finishAuthorization(callback, pending));

  assert.deepEqual([error.code, error.reason, error.status], ['access_denied', 'denied_by_user', undefined]);
  assert.notEqual(error.description, '');
  assert.equal(error.message, `access_denied: ${error.description}`);
});

test('prompt none without a session is login_required', async () => {
  const { url, ...pending } = await app.beginAuthorization({ scopes: ['read:invoices'], prompt: 'none' });
  const callback = await openAuthorizeUrl(server, url, 'allow', server.browse());

  assert.equal((await errorOf(app.finishAuthorization(callback, pending))).code, 'login_required');
});

test('a callback with another state, issuer or shape is rejected before anything is sent, state first', async () => {
  const { requests, fetch } = recordFetch(passThrough);
  const careful = createSdkApp(server, { fetch });
  const pending = { state: 'state-1', codeVerifier: 'verifier-1' };
  const iss = server.api;
  const table: [code: string, query: Record<string, string>][] = [
    ['state_mismatch', {}],
    ['state_mismatch', { state: 'state-2', iss, code: 'gac_1' }],
    ['state_mismatch', { state: 'state-2', iss, error: 'access_denied' }],
    ['issuer_mismatch', { state: 'state-1', code: 'gac_1' }],
    ['issuer_mismatch', { state: 'state-1', iss: 'https://evil.example', error: 'access_denied' }],
    ['issuer_mismatch', { state: 'state-1', iss: `${iss}/`, code: 'gac_1' }],
    ['access_denied', { state: 'state-1', iss, error: 'access_denied', code: 'gac_1' }],
    ['invalid_response', { state: 'state-1', iss }],
    ['invalid_response', { state: 'state-1', iss, code: '' }],
  ];
  for (const [code, query] of table) {
    const error = await errorOf(careful.finishAuthorization(`?${new URLSearchParams(query)}`, pending));
    assert.deepEqual([error.code, error.status], [code, undefined], JSON.stringify(query));
  }
  const twice = `?state=state-2&state=state-1&iss=${iss}&code=gac_1`;
  assert.equal((await errorOf(careful.finishAuthorization(twice, pending))).code, 'state_mismatch');
  assert.deepEqual(requests, []);
});

test('a wrong secret is invalid_client, with a remedy and a link', async () => {
  const wrong = createSdkApp(server, { clientSecret: 'gcs_wrong' });
  const { url, ...pending } = await wrong.beginAuthorization({ scopes: ['read:invoices'] });

  const error = await errorOf(wrong.finishAuthorization(await openAuthorizeUrl(server, url), pending));

  assert.deepEqual([error.status, error.code], [401, 'invalid_client']);
  assert.match(error.description, /client_secret/);
  assert.match(error.uri ?? '', /\/docs\/errors\//);
});

test('one refresh gives a new pair, of fewer scopes if they are named', async () => {
  const { url, ...pending } = await app.beginAuthorization({ scopes: ['read:invoices', 'read:contacts'] });
  const tokens = await app.finishAuthorization(await openAuthorizeUrl(server, url), pending);
  assert.deepEqual(tokens.scopes, ['read:invoices', 'read:contacts']);

  const narrower = await app.refresh(tokens.refreshToken, { scopes: ['read:contacts'] });
  assert.deepEqual(narrower.scopes, ['read:contacts']);
  assert.notEqual(narrower.refreshToken, tokens.refreshToken);

  const error = await errorOf(createApi({ baseUrl: server.api, ...narrower }).invoicePage(server.acme.id));
  assert.deepEqual([error.status, error.code], [403, 'insufficient_scope']);
});

test('introspection distinguishes active from inactive tokens, and revoking a refresh token ends both', async () => {
  const tokens = await connect(server);

  const seen = await app.introspect(tokens.accessToken);
  assert.ok(seen.active);
  assert.deepEqual(
    [seen.tokenType, seen.scopes, seen.clientId, seen.userId, seen.businessId],
    ['bearer', ['read:invoices'], server.ledger.id, server.ada.id, server.acme.id],
  );
  assert.match(seen.issuedAt, TIME);
  assert.match(seen.expiresAt, TIME);
  assert.equal(Date.parse(seen.expiresAt) - Date.parse(seen.issuedAt), 3600_000);
  const seenRefresh = await app.introspect(tokens.refreshToken);
  assert.ok(seenRefresh.active && seenRefresh.tokenType === 'refresh_token');

  assert.equal(await app.revoke(tokens.refreshToken), undefined);
  assert.deepEqual(await app.introspect(tokens.accessToken), { active: false });
  assert.deepEqual(await app.introspect(tokens.refreshToken), { active: false });
});

test('revoking an access token ends only that one, and revoking an unknown token is not an error', async () => {
  const tokens = await connect(server);
  await app.revoke(tokens.accessToken);
  await app.revoke('gat_unknown');

  assert.deepEqual(await app.introspect(tokens.accessToken), { active: false });
  assert.equal((await app.introspect(tokens.refreshToken)).active, true);
});

test('baseUrl may end with a slash', async () => {
  const tokens = await connect(server, createSdkApp(server, { baseUrl: `${server.api}/` }));

  assert.equal((await createApi({ baseUrl: `${server.api}/`, ...tokens }).businesses()).length, 1);
});

async function errorOf(promise: Promise<unknown>): Promise<GatehouseError> {
  const error = await promise.then(
    () => assert.fail('it is refused'),
    (error) => error,
  );
  assert.ok(error instanceof GatehouseError, String(error));
  return error;
}
