import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SCOPES } from '../../../src/oauth/scopes.ts';
import { hiddenFields, toBody } from '../../support/browser.ts';
import { PASSWORD } from '../../support/fixtures.ts';
import { fetchOnce, redirectParams } from '../../support/raw-http.ts';
import { readGrant } from '../../support/rows.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';
const careful = await server.addApp({ ownerBusinessId: server.acme.id, requiresPkce: true });
const withQuery = await server.addApp({
  ownerBusinessId: server.acme.id,
  redirectUris: ['https://ledger.example/callback?tenant=a%20b&empty='],
});

const authorize = (changes: Record<string, string | undefined> = {}, more = '') =>
  fetchOnce(server.authorizeUrl(changes) + more);

test('a valid request is redirected to the consent host with a 303, with its query unchanged', async () => {
  const { status, location } = await authorize({ scope: 'read:invoices read:contacts' });

  assert.equal(status, 303);
  const sent = new URL(server.authorizeUrl({ scope: 'read:invoices read:contacts' })).search;
  assert.ok(location?.startsWith(`${server.web}/consent${sent}&asked=`), location ?? '');
});

const FAULTS: [fault: string, changes: Record<string, string | undefined>, error: string, reason: string][] = [
  ['a missing response_type [A10]', { response_type: undefined }, 'invalid_request', 'field_missing'],
  ['response_type=token [A10]', { response_type: 'token' }, 'unsupported_response_type', 'unsupported_response_type'],
  [
    'response_type=id_token [A10]',
    { response_type: 'id_token' },
    'unsupported_response_type',
    'unsupported_response_type',
  ],
  [
    'response_type=code token [A10]',
    { response_type: 'code token' },
    'unsupported_response_type',
    'unsupported_response_type',
  ],
  ['response_type=CODE', { response_type: 'CODE' }, 'unsupported_response_type', 'unsupported_response_type'],
  ['a scope that does not exist [A17]', { scope: 'read:invoices read:minds' }, 'invalid_scope', 'scope_unknown'],
  [
    'a scope that the app is not registered for [A17]',
    { scope: 'read:employees' },
    'invalid_scope',
    'scope_not_registered',
  ],
  ['a scope in other letters', { scope: 'READ:INVOICES' }, 'invalid_scope', 'scope_unknown'],
  ['a scope of spaces only', { scope: ' ' }, 'invalid_scope', 'scope_unknown'],
  ['an optional_scope of spaces only', { optional_scope: '  ' }, 'invalid_scope', 'scope_unknown'],
  ['an unknown prompt [A18]', { prompt: 'consent' }, 'invalid_request', 'value_not_allowed'],
  ['response_mode=fragment', { response_mode: 'fragment' }, 'invalid_request', 'value_not_allowed'],
  ['response_mode=form_post', { response_mode: 'form_post' }, 'invalid_request', 'value_not_allowed'],
  ['two prompts at once [A18]', { prompt: 'none login' }, 'invalid_request', 'value_not_allowed'],
  ['a challenge without a method [A13]', { code_challenge: CHALLENGE }, 'invalid_request', 'pkce_malformed'],
  [
    'the plain method [A13]',
    { code_challenge: CHALLENGE, code_challenge_method: 'plain' },
    'invalid_request',
    'pkce_malformed',
  ],
  [
    'an unknown method [A13]',
    { code_challenge: CHALLENGE, code_challenge_method: 's256' },
    'invalid_request',
    'pkce_malformed',
  ],
  [
    'a challenge that is too short [A13]',
    { code_challenge: CHALLENGE.slice(1), code_challenge_method: 'S256' },
    'invalid_request',
    'pkce_malformed',
  ],
  [
    'a challenge that is too long [A13]',
    { code_challenge: `${CHALLENGE}A`, code_challenge_method: 'S256' },
    'invalid_request',
    'pkce_malformed',
  ],
  [
    'a challenge in plain base64 [A13]',
    { code_challenge: `${CHALLENGE.slice(1)}+`, code_challenge_method: 'S256' },
    'invalid_request',
    'pkce_malformed',
  ],
  ['a method without a challenge', { code_challenge_method: 'S256' }, 'invalid_request', 'pkce_malformed'],
  ['no challenge from an app that requires PKCE [A12]', { client_id: careful.id }, 'invalid_request', 'pkce_required'],
];

for (const [fault, changes, error, reason] of FAULTS) {
  test(`the app receives ${error} for ${fault}`, async () => {
    const { status, location } = await authorize(changes);

    assert.equal(status, 303);
    const { error_description, error_uri, ...rest } = redirectParams(location);
    assert.deepEqual(rest, { error, reason, state: 'state-1', iss: server.api });
    assert.equal(error_uri, `${server.api}/docs/errors/${error}#${reason}`);
    assert.match(error_description ?? '', /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
    assert.ok(location?.startsWith('https://ledger.example/callback?error='));
  });
}

test('a missing state is an invalid_request, redirected without a state', async () => {
  for (const state of [undefined, '']) {
    const { status, location } = await authorize({ state });

    assert.equal(status, 303);
    assert.equal(redirectParams(location).error, 'invalid_request');
    assert.equal('state' in redirectParams(location), false);
    assert.equal(redirectParams(location).iss, server.api);
  }
});

test('invalid_scope names the offending scopes and no others [A17]', async () => {
  const unknown = redirectParams((await authorize({ scope: 'read:invoices read:minds' })).location).error_description;
  const beyond = redirectParams((await authorize({ scope: 'read:invoices read:orders' })).location).error_description;

  const [offending = '', existing] = (unknown ?? '').split(' The scopes are: ');
  assert.match(offending, /read:minds/);
  assert.doesNotMatch(offending, /read:invoices/);
  assert.equal(existing, `${SCOPES.map(({ name }) => name).join(' ')}.`);
  assert.match(beyond ?? '', /read:orders/);
  assert.doesNotMatch(beyond ?? '', /read:invoices/);
});

test('invalid_scope names all offending scopes, unknown ones and others', async () => {
  const { reason, error_description } = redirectParams((await authorize({ scope: 'read:deals foo bar' })).location);

  assert.equal(reason, 'scope_unknown');
  assert.match(error_description ?? '', /^Unknown scope: foo bar\. The app is not registered for: read:deals\./);
});

test('a scope of OpenID Connect is an invalid_scope that says where the user is instead', async () => {
  const { error_description } = redirectParams((await authorize({ scope: 'openid read:invoices' })).location);
  const other = redirectParams((await authorize({ scope: 'read:minds' })).location).error_description;

  assert.match(
    error_description ?? '',
    /^Unknown scope: openid\. This is OAuth 2\.0 without OpenID Connect: GET \/api\/v1\/me /,
  );
  assert.doesNotMatch(other ?? '', /OpenID/);
});

test('a parameter sent twice is an invalid_request, even with the same value [A8]', async () => {
  const complete = {
    prompt: 'none',
    response_mode: 'query',
    optional_scope: 'read:contacts',
    code_challenge: CHALLENGE,
    code_challenge_method: 'S256',
  };
  for (const name of ['response_type', 'scope', ...Object.keys(complete)]) {
    const value = new URL(server.authorizeUrl(complete)).searchParams.get(name) ?? '';
    const { status, location } = await authorize(complete, `&${name}=${encodeURIComponent(value)}`);

    assert.equal(status, 303, name);
    assert.equal(redirectParams(location).error, 'invalid_request', name);
    assert.match(redirectParams(location).error_description ?? '', new RegExp(`^${name} `));
    assert.equal(redirectParams(location).state, 'state-1', name);
  }
});

test('a state sent twice is an invalid_request that echoes neither [A8]', async () => {
  const { location } = await authorize({}, '&state=other');

  assert.equal(redirectParams(location).error, 'invalid_request');
  assert.equal('state' in redirectParams(location), false);
});

test('unknown parameters are ignored and empty ones count as absent [A9]', async () => {
  const { location } = await authorize(
    { prompt: '', code_challenge: '', nonce: 'n', audience: 'a' },
    '&claims=a&claims=b',
  );
  const unset = await authorize({ response_type: '' });

  assert.ok(location?.startsWith(`${server.web}/consent?`));
  assert.equal(redirectParams(unset.location).error, 'invalid_request');
});

test('a repeated parameter that the server does not know is ignored [A9]', async () => {
  const { location } = await authorize({}, '&audience=https://a.example&audience=https://b.example');

  assert.ok(location?.startsWith(`${server.web}/consent?`), location ?? '');
});

test('response_mode=query is accepted: it is the default of the code flow', async () => {
  const { location } = await authorize({ response_mode: 'query' });

  assert.ok(location?.startsWith(`${server.web}/consent?`), location ?? '');
});

test('a confidential app may leave PKCE out, and S256 is accepted from any app [A12]', async () => {
  const without = await authorize();
  const pkce = { code_challenge: CHALLENGE, code_challenge_method: 'S256' };
  const withPkce = await authorize(pkce);
  const required = await authorize({ ...pkce, client_id: careful.id });

  for (const { location } of [without, withPkce, required]) assert.ok(location?.startsWith(`${server.web}/consent?`));
});

test("the redirect URI's own query is kept unchanged, on an error and on success [A16]", async () => {
  const { client_id, redirect_uri } = { client_id: withQuery.id, redirect_uri: withQuery.redirectUris[0] };
  const rejected = await authorize({ client_id, redirect_uri, response_type: 'token' });
  const allowed = await server.authorize({ client_id, redirect_uri });

  assert.ok(rejected.location?.startsWith(`${redirect_uri}&error=unsupported_response_type&`), rejected.location ?? '');
  assert.ok(allowed.headers.get('location')?.startsWith(`${redirect_uri}&code=gac_`));
});

test('iss accompanies code and error, and equals the issuer of the metadata [A15]', async () => {
  const { issuer } = (await server.get('/.well-known/oauth-authorization-server')).body;
  const rejected = await authorize({ response_type: 'token' });
  const allowed = await server.authorize();

  assert.equal(redirectParams(rejected.location).iss, issuer);
  assert.equal(redirectParams(allowed.leftTo?.href).iss, issuer);
  assert.ok(redirectParams(allowed.leftTo?.href).code);
});

test('the authorize endpoint has no CORS headers, for any origin and any method [A20]', async () => {
  const headers = { origin: 'https://evil.example', 'access-control-request-method': 'GET' };
  for (const method of ['GET', 'HEAD', 'OPTIONS', 'POST']) {
    const response = await fetchOnce(server.authorizeUrl(), { method, headers });

    const cors = [...response.headers.keys()].filter((name) => name.startsWith('access-control-'));
    assert.deepEqual(cors, [], method);
  }
});

test('every redirect of a flow is a 303, including those after sign-in, Allow and Deny [A21]', async () => {
  const user = await server.addUser('Redirected', [[server.acme, 'member']]);
  const browser = server.browse();
  const form = hiddenFields((await browser.open(server.authorizeUrl())).text, '/sign-in');
  const typed = toBody({ ...form, email: user.email, password: PASSWORD });
  const signedIn = await browser.fetch('/sign-in', { method: 'POST', body: typed });
  await browser.signIn(user.email, PASSWORD);
  const page = await browser.open(server.authorizeUrl());
  const denied = await browser.submit(page, '/consent', { decision: 'deny' });
  const allowed = await browser.submit(page, '/consent', { decision: 'allow' });
  const silent = await browser.open(server.authorizeUrl());
  const first = await authorize();

  assert.equal(page.status, 200);
  for (const { status } of [signedIn, denied, allowed, silent, first]) assert.equal(status, 303);
});

test('every code is different and has at least 128 random bits [A22]', async () => {
  const browser = await server.signedIn();
  const codes = [await server.allow({}, browser), await server.allow({}, browser), await server.allow({}, browser)];

  const proofs = codes.map((code) => Buffer.from(code.slice(4), 'base64url').subarray(-32));
  assert.equal(new Set(codes).size, 3);
  assert.equal(new Set(proofs.map((proof) => proof.toString('hex'))).size, 3);
  for (const code of codes) assert.match(code, /^gac_[\w-]{96}$/);
});

test('every grant has its own random salt, without which its code cannot be computed [A22]', async () => {
  const browser = await server.signedIn();
  const grants = [];
  for (let i = 0; i < 3; i += 1) grants.push(await readGrant(server, await server.allow({}, browser)));

  assert.equal(new Set(grants.map(({ salt }) => Buffer.from(salt).toString('hex'))).size, 3);
  for (const { salt } of grants) assert.ok(salt.length >= 16, String(salt.length));
});
