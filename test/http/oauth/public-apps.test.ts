import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { MINUTE } from '../../../src/lib/clock.ts';
import { DEVELOPER, registerInBrowser } from '../../support/app-pages.ts';
import { setAppPolicy } from '../../support/app-rules.ts';
import type { Browser } from '../../support/browser.ts';
import { redirectParams } from '../../support/raw-http.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const LOOPBACK = 'http://127.0.0.1/callback';
const app = await server.addApp({
  name: 'Desk',
  ownerBusinessId: server.acme.id,
  isPublic: true,
  redirectUris: [LOOPBACK, 'https://desk.example/callback'],
});
const browser = await server.signedIn();

function newPkce() {
  const verifier = randomBytes(32).toString('base64url');
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  return { verifier, request: { code_challenge: challenge, code_challenge_method: 'S256' } };
}

interface Exchange {
  code: string;
  code_verifier: string;
  redirect_uri: string;
}

/** What the app sends after Allow. */
async function allow(redirect_uri = 'http://127.0.0.1:51234/callback', using: Browser = browser): Promise<Exchange> {
  const { verifier, request } = newPkce();
  const code = await server.allow({ client_id: app.id, redirect_uri, ...request }, using);
  return { code, code_verifier: verifier, redirect_uri };
}

/** Sends only the `client_id`, with these changes. */
const exchange = (fields: Partial<Exchange>, changes: object = {}) =>
  server.post('token', { grant_type: 'authorization_code', client_id: app.id, ...fields, ...changes });
const refresh = (refresh_token: string, changes: object = {}) =>
  server.post('token', { grant_type: 'refresh_token', client_id: app.id, refresh_token, ...changes });
const works = async (token: string) => (await server.listInvoices(token)).status === 200;

test('a public app exchanges its code and refreshes with its client_id alone, and every refresh token is replaced', async () => {
  const first = await exchange(await allow());
  const second = await refresh(first.body.refresh_token);

  assert.deepEqual([first.status, second.status], [200, 200]);
  assert.notEqual(second.body.refresh_token, first.body.refresh_token);
  assert.ok(await works(second.body.access_token));
});

test('an empty secret by HTTP Basic is none, and any secret is an error that says so', async () => {
  const basic = (secret: string) => ({
    authorization: `Basic ${Buffer.from(`${app.id}:${secret}`).toString('base64')}`,
  });
  const fields = await allow();
  const wrong = [
    await exchange(fields, { client_secret: server.ledger.secret }),
    await server.post('token', { grant_type: 'authorization_code', ...fields }, basic('gcs_x')),
  ];
  const right = await server.post('token', { grant_type: 'authorization_code', ...fields }, basic(''));

  for (const { status, body } of wrong) {
    assert.deepEqual([status, body.error, body.reason], [401, 'invalid_client', 'app_is_public']);
  }
  assert.equal(right.status, 200);
});

test('an app that has a secret still has to send it: credentials_missing [T3]', async () => {
  const { refresh_token } = await server.connect({}, browser);
  const { status, body } = await server.refresh(refresh_token, { client_secret: undefined });

  assert.deepEqual([status, body.error, body.reason], [401, 'invalid_client', 'credentials_missing']);
  assert.equal((await server.refresh(refresh_token)).status, 200);
});

test('a public app must use PKCE with S256, whatever its settings say [T9]', async () => {
  const { verifier, request } = newPkce();
  const authorize = async (pkce: Record<string, string>) => {
    const url = server.authorizeUrl({ client_id: app.id, redirect_uri: LOOPBACK, ...pkce });
    return redirectParams((await browser.open(url)).leftTo?.href);
  };

  assert.equal((await authorize({})).reason, 'pkce_required');
  assert.equal(
    (await authorize({ code_challenge: verifier, code_challenge_method: 'plain' })).reason,
    'pkce_malformed',
  );
  assert.equal((await authorize({ code_challenge: request.code_challenge })).reason, 'pkce_malformed');
});

test('a code without its verifier, or with another one, gives nothing and is used up [T9] [T11]', async () => {
  for (const code_verifier of [undefined, newPkce().verifier]) {
    const { code_verifier: right, ...fields } = await allow();
    const stolen = await exchange({ ...fields, ...(code_verifier && { code_verifier }) });
    const late = await exchange({ ...fields, code_verifier: right });

    assert.deepEqual([stolen.status, stolen.body.error], [400, 'invalid_grant']);
    assert.deepEqual([late.status, late.body.error], [400, 'invalid_grant']);
  }
});

test('a stolen refresh token that is used after its successor ends the grant for both [T17]', async () => {
  const first = (await exchange(await allow())).body;
  const second = (await refresh(first.refresh_token)).body;
  assert.ok(await works(second.access_token));
  server.advanceClock(MINUTE);

  const stolen = await refresh(first.refresh_token);
  const after = await refresh(second.refresh_token);

  assert.deepEqual([stolen.status, stolen.body.reason], [400, 'refresh_token_reused']);
  assert.deepEqual([after.status, after.body.reason], [400, 'refresh_token_reused']);
  assert.equal(await works(second.access_token), false);
});

test('codes and refresh tokens of one public app do not work for another app [T7] [T20]', async () => {
  const other = await server.addApp({ name: 'Other', ownerBusinessId: server.acme.id, isPublic: true });
  const fields = await allow();
  const mixedUp = [
    await exchange(fields, { client_id: other.id }),
    await server.exchange(fields.code, { ...fields }),
    await server.post('token', { grant_type: 'authorization_code', ...fields }),
  ];
  const { body } = await exchange(fields);
  const refreshed = [
    await refresh(body.refresh_token, { client_id: other.id }),
    await server.refresh(body.refresh_token),
  ];

  for (const response of [mixedUp[0], mixedUp[1], ...refreshed]) {
    assert.deepEqual([response?.status, response?.body.reason], [400, 'token_of_another_app']);
  }
  assert.equal(mixedUp[2]?.body.reason, 'credentials_missing');
  assert.equal((await refresh(body.refresh_token)).status, 200);
});

test('the client_id of a confidential app alone does not exchange its code [T3]', async () => {
  const { verifier, request } = newPkce();
  const code = await server.allow(request, browser);
  const response = await server.exchange(code, { client_secret: undefined, code_verifier: verifier });

  assert.deepEqual([response.status, response.body.reason], [401, 'credentials_missing']);
});

test('a public app never gets a code silently: any program can present its client_id', async () => {
  await exchange(await allow());
  const { request } = newPkce();
  const authorizeRequest = { client_id: app.id, redirect_uri: LOOPBACK, ...request };
  const page = await browser.open(server.authorizeUrl(authorizeRequest));
  const none = redirectParams(
    (await browser.open(server.authorizeUrl({ ...authorizeRequest, prompt: 'none' }))).leftTo?.href,
  );
  const platform = await server.addApp({ name: 'Console', isPublic: true });
  const own = await browser.open(server.authorizeUrl({ client_id: platform.id, ...request }));

  assert.equal(page.status, 200);
  assert.match(page.text, /You have allowed this app before/);
  assert.equal(none.error, 'consent_required');
  assert.equal(own.status, 200);
  assert.match(own.text, /Console<\/bdi> is an app by/);
  assert.doesNotMatch(own.text, /It is not made by/);
});

test('the screen of a public app warns of a program on this device that calls itself like the app', async () => {
  const platform = await server.addApp({ name: 'Console', isPublic: true, redirectUris: [LOOPBACK] });
  const open = async (client_id: string, redirect_uri: string) =>
    (await browser.open(server.authorizeUrl({ client_id, redirect_uri, ...newPkce().request }))).text;

  assert.match(await open(app.id, LOOPBACK), /any program can call itself <bdi>Desk<\/bdi>\./);
  assert.match(await open(platform.id, LOOPBACK), /any program can call itself <bdi>Console<\/bdi>\./);
  assert.doesNotMatch(await open(app.id, 'https://desk.example/callback'), /any program/);
});

test('the rules of a business also apply to public first-party apps, but not to those with a secret', async () => {
  const strict = await startTestServer();
  await setAppPolicy(await strict.signedIn(), 'admins');
  const member = await strict.signedIn(await strict.addUser('Boris', [[strict.acme, 'member']]));
  const { id } = await strict.addApp({ name: 'Console', isPublic: true });
  const secret = await strict.addApp({ name: 'Portal' });

  const page = await member.open(strict.authorizeUrl({ client_id: id, ...newPkce().request }));
  const silent = await member.open(strict.authorizeUrl({ client_id: secret.id }));

  assert.match(page.text, /You cannot connect Console to Acme/);
  assert.ok(silent.leftTo?.searchParams.get('code'));
});

test('the port of a loopback redirect URI may vary, and nothing else [A4]', async () => {
  const ports = ['http://127.0.0.1:1/callback', 'http://127.0.0.1:80/callback', 'http://127.0.0.1:65535/callback'];
  for (const uri of [...ports, LOOPBACK]) {
    assert.equal((await exchange(await allow(uri))).status, 200, uri);
  }
  const { request } = newPkce();
  for (const redirect_uri of [
    'http://127.0.0.1:5/other',
    'http://localhost:5/callback',
    'http://127.0.0.2:5/callback',
    'https://desk.example:444/callback',
    'desk://callback',
  ]) {
    const page = await browser.open(server.authorizeUrl({ client_id: app.id, redirect_uri, ...request }));
    assert.equal(page.status, 400, redirect_uri);
  }
});

test('a public app revokes by the token, with or without its client_id, and can introspect nothing [I1]', async () => {
  const [one, two] = [(await exchange(await allow())).body, (await exchange(await allow())).body];
  const introspected = await server.post('introspect', { token: one.access_token, client_id: app.id });
  await server.revoke(one.refresh_token, { client_id: app.id });
  await server.revoke(two.refresh_token, { client_id: server.ledger.id });

  assert.deepEqual([introspected.status, introspected.body.reason], [401, 'app_is_public']);
  assert.equal(await works(one.access_token), false);
  assert.equal(await works(two.access_token), true);
});

test('requests in the name of a public app from one network do not use up its limit elsewhere', async () => {
  const small = await startTestServer({ LIMIT_PER_APP: '5', TRUST_PROXY: '127.0.0.1' });
  const { id } = await small.addApp({ ownerBusinessId: small.acme.id, isPublic: true });
  const sendFrom = async (address: string) => {
    const fields = { grant_type: 'refresh_token', refresh_token: 'x', client_id: id };
    return (await small.post('token', fields, { 'x-forwarded-for': address })).status;
  };
  const flood = [];
  for (let round = 0; round < 8; round += 1) flood.push(await sendFrom('192.0.2.1'));

  assert.equal(flood.at(-1), 429);
  assert.equal(await sendFrom('198.51.100.1'), 400);
});

test('revocations without a secret from one network do not use up the limit of the app elsewhere', async () => {
  const small = await startTestServer({ LIMIT_PER_APP: '5', TRUST_PROXY: '127.0.0.1' });
  const { access_token, refresh_token } = await small.connect();
  const revoke = async (token: string, address: string) =>
    (await small.post('revoke', { token }, { 'x-forwarded-for': address })).status;
  const flood = [];
  for (let round = 0; round < 8; round += 1) flood.push(await revoke(access_token, '192.0.2.1'));

  assert.equal(flood.at(-1), 429);
  assert.equal(await revoke(refresh_token, '198.51.100.1'), 200);
});

test('a public app may have a redirect URI of a scheme that the operator lists, and no other app may', async () => {
  const listed = await startTestServer({ PRIVATE_REDIRECT_SCHEMES: 'desk' });
  const uri = 'desk://signed-in/callback';
  const ada = await listed.signedIn();
  const register = (on: Browser, is_public: string, redirect_uris: string) =>
    registerInBrowser(on, DEVELOPER, { is_public, redirect_uris });
  const page = await register(ada, 'yes', uri);
  const [, id = ''] = /id="client-id">([^<]+)</.exec(page.text) ?? [];
  const { verifier, request } = newPkce();
  const screen = await ada.open(listed.authorizeUrl({ client_id: id, redirect_uri: uri, ...request }));
  const code = await listed.allow({ client_id: id, redirect_uri: uri, ...request }, ada);
  const fields = { grant_type: 'authorization_code', client_id: id, code, code_verifier: verifier, redirect_uri: uri };

  assert.match(screen.text, /<strong>desk:<\/strong><br><span class="muted">A program on this device/);
  assert.equal((await listed.post('token', fields)).status, 200);
  assert.equal((await register(ada, 'no', uri)).status, 400);
  assert.equal((await register(ada, 'yes', 'other://signed-in/callback')).status, 400);
  assert.equal((await register(browser, 'yes', uri)).status, 400);
});
