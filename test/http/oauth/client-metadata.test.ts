import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { findApp } from '../../../src/apps/apps.ts';
import { appIdOf } from '../../../src/apps/client-ids.ts';
import { OPERATOR } from '../../../src/audit/entries.ts';
import { pauseApp } from '../../../src/grants/suspension.ts';
import { retentionSteps } from '../../../src/jobs.ts';
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/lib/clock.ts';
import { removeExpired } from '../../../src/storage/retention.ts';
import {
  CALLBACK,
  countStored,
  externalRequest,
  startDocumentHost,
  VERIFIER,
} from '../../support/client-document-host.ts';
import { createCommandRunner } from '../../support/command-runner.ts';
import { fetchOnce } from '../../support/raw-http.ts';
import { startTestServer, type TestServer } from '../../support/test-server.ts';

const ON = { WEBHOOKS_TO_LOOPBACK: 'yes', LIMIT_EXTERNAL_CLIENTS: '1000000' };
const server = await startTestServer(ON);
const host = await startDocumentHost();
const ada = await server.signedIn();

const open = (clientId: string, changes: object = {}, at: TestServer = server) =>
  fetchOnce(at.authorizeUrl({ ...externalRequest(at, clientId), ...changes }));
const stored = (clientId: string) => findApp(server.storage().durable, appIdOf(clientId));

/** Uses a new session, since the tests advance the clock. */
async function allow(clientId: string, changes: Record<string, string> = {}, user = server.ada): Promise<string> {
  const browser = await server.signedIn(user);
  const page = await browser.open(server.authorizeUrl({ ...externalRequest(server, clientId), ...changes }));
  assert.equal(page.status, 200, page.text);
  const { leftTo } = await browser.submit(page, '/consent', { decision: 'allow' });
  return leftTo?.searchParams.get('code') ?? assert.fail('a code');
}

const exchange = async (client_id: string, redirect_uri = CALLBACK) => {
  const code = await allow(client_id, { redirect_uri });
  return server.post('token', {
    grant_type: 'authorization_code',
    client_id,
    code,
    redirect_uri,
    code_verifier: VERIFIER,
  });
};
const refresh = (client_id: string, refresh_token: string) =>
  server.post('token', { grant_type: 'refresh_token', client_id, refresh_token });

test('nothing of an external client is fetched but its document, and its links to other hosts are not shown', async () => {
  const clientId = host.newClientId();
  host.change({
    logo_uri: `${host.url}/logo.png`,
    client_uri: 'https://bank.example/',
    policy_uri: `${host.url}/privacy`,
  });
  const before = host.paths.length;

  const { text } = await ada.open(server.authorizeUrl(externalRequest(server, clientId)));

  host.respondWith(undefined);
  assert.match(text, /Assistant<\/bdi> is an app from <strong><bdi>127/);
  assert.doesNotMatch(text, /bank\.example|logo\.png|\/privacy|<img/);
  assert.deepEqual([...new Set(host.paths.slice(before))], [new URL(clientId).pathname]);
});

test('a client with a metadata document connects to the MCP server; its row is written by Allow, not before [G1][G3]', async () => {
  const clientId = host.newClientId();
  const before = await countStored(server);

  const page = await ada.open(server.authorizeUrl(externalRequest(server, clientId)));
  assert.match(page.text, /<h1><strong><bdi>Assistant<\/bdi><\/strong> wants to access/);
  assert.match(page.text, /Assistant<\/bdi> is an app from <strong><bdi>127\.0\.0\.1:\d+<\/bdi><\/strong>/);
  assert.match(page.text, /Not registered with <bdi>Gatehouse/);
  assert.equal(await countStored(server), before);
  const tokens = await exchange(clientId);
  const app = await stored(clientId);

  assert.equal(tokens.status, 200, JSON.stringify(tokens.body));
  assert.partialDeepStrictEqual(app, { name: 'Assistant', ownerScope: 'external', isPublic: true, requiresPkce: true });
  assert.equal(app?.externalClientId, clientId);
  const denied = await server.listInvoices(tokens.body.access_token);
  assert.deepEqual([denied.status, denied.body.reason], [401, 'token_for_other_resource']);
});

const ticked = (text: string) =>
  [...text.matchAll(/name="optional_scope" value="([^"]*)" checked/g)].map(([, name]) => name);

test('the user chooses among the scopes of such a client; changes, staff and money are not ticked for them', async () => {
  const clientId = host.newClientId();
  const request = externalRequest(server, clientId);
  const scope = 'read:invoices write:invoices read:contacts read:employees';
  const browser = await server.signedIn();
  const first = await browser.open(server.authorizeUrl({ ...request, scope }));
  const none = await browser.submit(first, '/consent', { decision: 'allow', optional_scope: [] });
  const allowed = await browser.submit(first, '/consent', {
    decision: 'allow',
    optional_scope: ['write:invoices', 'read:contacts'],
  });
  const code = allowed.leftTo?.searchParams.get('code') ?? '';
  const fields = { grant_type: 'authorization_code', client_id: clientId, code, redirect_uri: CALLBACK };
  const { body } = await server.post('token', { ...fields, code_verifier: VERIFIER });
  const again = await browser.open(server.authorizeUrl({ ...request, scope }));
  const more = await browser.open(server.authorizeUrl({ ...request, scope: 'read:employees' }));

  assert.deepEqual(ticked(first.text), ['read:invoices', 'read:contacts']);
  assert.deepEqual([none.status, /Tick at least one/.test(none.text)], [400, true]);
  assert.equal(body.scope, 'write:invoices read:contacts');
  assert.deepEqual(ticked(again.text), ['write:invoices', 'read:contacts'], 'as chosen before');
  assert.deepEqual(ticked(more.text), ['read:employees'], 'a call needs this one');
});

test('the derived id of such a client is not its client_id [G3]', async () => {
  const clientId = host.newClientId();
  const { body } = await exchange(clientId);

  const page = await open(appIdOf(clientId));
  const refreshed = await refresh(appIdOf(clientId), body.refresh_token);

  assert.match(page.text, /No app has this client_id/);
  assert.equal(refreshed.body.error, 'invalid_client');
});

test('such a client always needs the consent screen, PKCE and the MCP server as its resource [G3]', async () => {
  const clientId = host.newClientId();
  await exchange(clientId);
  const request = (changes: object) =>
    ada.open(server.authorizeUrl({ ...externalRequest(server, clientId), ...changes }));

  const silent = await request({ prompt: 'none' });
  assert.equal(silent.leftTo?.searchParams.get('error'), 'consent_required');
  assert.match((await request({ resource: undefined })).text, /can use the MCP server only: send resource=/);
  assert.match((await request({ resource: `${server.api}/api/v1` })).text, /The request of Assistant is not valid/);
  const plain = await request({ code_challenge: undefined, code_challenge_method: undefined });
  assert.match(plain.text, /This app requires PKCE/);
});

test('before the user has signed in, no error of such a client leads to its redirect URI [G3] [A1]', async () => {
  const clientId = host.newClientId();
  const invalid = [
    { resource: undefined },
    { code_challenge: undefined, code_challenge_method: undefined },
    { scope: 'unknown' },
    { response_type: 'token' },
    { prompt: 'login none' },
  ];

  for (const changes of invalid) {
    const { status, location } = await open(clientId, changes);
    assert.deepEqual([status, location], [400, null], JSON.stringify(changes));
  }
  const silent = await server
    .browse()
    .open(server.authorizeUrl({ ...externalRequest(server, clientId), prompt: 'none' }));
  assert.equal(silent.leftTo, undefined);
  assert.match(silent.text, /Send the request without prompt=none/);
});

test('a document that supports no authentication among other methods, like that of ChatGPT, is accepted, and its unknown scopes are ignored', async () => {
  host.change({
    token_endpoint_auth_method: 'private_key_jwt',
    token_endpoint_auth_methods_supported: ['none', 'private_key_jwt'],
    scope: 'openid read:invoices',
  });
  const clientId = host.newClientId();

  assert.equal((await open(clientId)).status, 303);
  const beyond = await open(clientId, { scope: 'write:invoices' });
  assert.equal(beyond.status, 400);
  assert.match(beyond.text, /Add it to the scope of its client metadata/);
  host.respondWith(undefined);
});

test('every redirect URI of a long document can be used', async () => {
  const uris = Array.from({ length: 30 }, (_, index) => `https://assistant.example/callback/${index}`);
  host.change({ redirect_uris: uris });

  assert.equal((await open(host.newClientId(), { redirect_uri: uris.at(-1) })).status, 303);
  host.respondWith(undefined);
});

test('the token endpoint says that no user has allowed the client yet', async () => {
  const { status, body } = await refresh(host.newClientId(), 'grt_unknown');

  assert.deepEqual([status, body.error, body.reason], [401, 'invalid_client', 'credentials_wrong']);
  assert.match(body.error_description, /no user has allowed it yet/);
});

test('a redirect URI is in the document, except for the port of loopback; state may be missing [G1]', async () => {
  const clientId = host.newClientId();
  for (const redirect_uri of ['http://127.0.0.1:5123/callback', 'http://localhost:3118/callback', CALLBACK]) {
    assert.equal((await open(clientId, { redirect_uri, state: undefined })).status, 303, redirect_uri);
  }
  for (const redirect_uri of [
    'https://evil.example/callback',
    `${CALLBACK}/`,
    'https://assistant.example:444/callback',
    'http://localhost:3118/other',
    'http://localhost.evil.example:3118/callback',
    'http://[::1]:3118/callback',
    'javascript:alert(1)',
  ]) {
    const { status, location, text } = await open(clientId, { redirect_uri });
    assert.deepEqual([status, location], [400, null], redirect_uri);
    assert.match(text, /is not a redirect URI of Assistant/);
  }
});

const CACHING: [headers: Record<string, string>, keptFor: number][] = [
  [{}, 5 * MINUTE],
  [{ 'cache-control': 'max-age=600' }, 10 * MINUTE],
  [{ 'cache-control': 'public, max-age=600', age: '300' }, 5 * MINUTE],
  [{ 'cache-control': 'max-age=9999999' }, DAY],
  [{ 'cache-control': 'no-store' }, 30 * SECOND],
  [{ 'cache-control': 'private, max-age=600' }, 30 * SECOND],
  [{ 'cache-control': 'max-age=0' }, 30 * SECOND],
  [{ expires: 'Tue, 01 Jan 2030 02:00:00 GMT', date: 'Tue, 01 Jan 2030 01:00:00 GMT' }, HOUR],
  [{ expires: '0' }, 30 * SECOND],
];

for (const [headers, keptFor] of CACHING) {
  test(`a document with ${JSON.stringify(headers)} is kept for ${keptFor / SECOND} s, and then fetched again`, async () => {
    const clientId = host.newClientId();
    const fetches = () => host.paths.filter((path) => clientId.endsWith(path)).length;
    host.change({}, headers);

    await open(clientId);
    server.advanceClock(keptFor - 1);
    await open(clientId);
    const early = fetches();
    server.advanceClock(1);
    await open(clientId);

    assert.deepEqual([early, fetches()], [1, 2]);
    host.respondWith(undefined);
  });
}

test('requests at the same time share one fetch, and an error is not kept', async () => {
  const clientId = host.newClientId();
  const fetches = () => host.paths.filter((path) => clientId.endsWith(path)).length;
  host.respondWith((_, response) => response.writeHead(500).end());
  assert.equal((await open(clientId)).status, 400);
  host.respondWith(undefined);

  const pages = await Promise.all([open(clientId), open(clientId), open(clientId)]);

  assert.deepEqual(
    pages.map(({ status }) => status),
    [303, 303, 303],
  );
  assert.equal(fetches(), 2);
});

test('a changed document applies to the next request; grants continue, even without a document', async () => {
  const clientId = host.newClientId();
  const { body: first } = await exchange(clientId);
  server.advanceClock(5 * MINUTE);
  host.change({ client_name: 'Helper', redirect_uris: ['https://new.example/callback'] });

  const old = await open(clientId);
  const { status } = await exchange(clientId, 'https://new.example/callback');
  host.respondWith((_, response) => response.writeHead(404).end());
  server.advanceClock(5 * MINUTE);
  const gone = await open(clientId, { redirect_uri: 'https://new.example/callback' });
  const refreshed = await refresh(clientId, first.refresh_token);
  host.respondWith(undefined);

  assert.match(old.text, /is not a redirect URI of Helper/);
  assert.deepEqual([status, gone.status, refreshed.status], [200, 400, 200]);
  assert.equal((await stored(clientId))?.name, 'Helper');
});

test('a paused client cannot connect, its document is not fetched, and its tokens stop', async () => {
  const clientId = host.newClientId();
  const { body } = await exchange(clientId);
  const app = (await stored(clientId)) ?? assert.fail('a row');
  await pauseApp(OPERATOR, server.storage().durable, { app }, server.clock());
  server.advanceClock(HOUR);
  const before = host.paths.length;

  const page = await open(clientId);
  const refreshed = await refresh(clientId, body.refresh_token);

  assert.match(page.text, /Assistant is paused/);
  assert.equal(refreshed.body.reason, 'app_paused');
  assert.equal(host.paths.length, before);
});

test('such a client cannot be deleted, since the next Allow would create it again', async () => {
  const clientId = host.newClientId();
  await allow(clientId);

  const deletion = createCommandRunner(server)('app delete', { app: clientId });

  await assert.rejects(deletion, /Pause it instead/);
  assert.equal((await stored(clientId))?.externalClientId, clientId);
});

test('the operator can switch documents off, or name the hosts, and the metadata say whether they are on [G1]', async () => {
  const off = await startTestServer({ ...ON, CLIENT_ID_METADATA: 'off' });
  const listed = await startTestServer({ ...ON, CLIENT_ID_METADATA: 'claude.ai,127.0.0.1' });
  const others = await startTestServer({ ...ON, CLIENT_ID_METADATA: 'claude.ai' });
  const supported = async (at: TestServer) =>
    (await at.get('/.well-known/oauth-authorization-server')).body.client_id_metadata_document_supported;
  const clientId = host.newClientId();

  assert.deepEqual([await supported(off), await supported(listed)], [undefined, true]);
  assert.match((await open(clientId, {}, off)).text, /accepts registered apps only/);
  assert.match((await open(clientId, {}, others)).text, /does not accept apps from 127\.0\.0\.1/);
  assert.equal(host.paths.filter((path) => clientId.endsWith(path)).length, 0);
  assert.equal((await open(clientId, {}, listed)).status, 303);
});

test('documents that are fetched for one network are limited; those that are cached are not [G1]', async () => {
  const scarce = await startTestServer({ ...ON, LIMIT_EXTERNAL_CLIENTS: '2' });
  const known = host.newClientId();

  const statuses = [];
  for (const clientId of [known, host.newClientId(), host.newClientId(), known]) {
    statuses.push((await open(clientId, {}, scarce)).status);
  }

  assert.deepEqual(statuses, [303, 303, 429, 303]);
});

test('while slow hosts occupy all fetches, a known client connects by its document of up to a day before', async () => {
  const busy = await startTestServer(ON);
  await busy.restart({ settings: { clientMetadataTimeout: 5 * MINUTE } });
  const known = host.newClientId();
  await open(known, {}, busy);
  busy.advanceClock(5 * MINUTE);
  const waiting: ServerResponse[] = [];
  host.respondWith((_, response) => waiting.push(response));
  const rejected = Promise.withResolvers<void>();
  const opened = Array.from({ length: 300 }, async () => {
    const { status } = await open(host.newClientId(), {}, busy);
    if (status === 503) rejected.resolve();
  });
  await rejected.promise;

  const { status } = await open(known, {}, busy);
  busy.advanceClock(DAY);
  const late = await open(known, {}, busy);
  host.respondWith(undefined);
  for (const response of waiting) response.writeHead(404).end();
  await Promise.all(opened);

  assert.deepEqual([status, late.status], [303, 503]);
});

test('two first Allows at the same time create one row', async () => {
  const clientId = host.newClientId();
  const boris = await server.addUser('Boris', [[server.acme, 'member']]);

  await Promise.all([allow(clientId), allow(clientId, {}, boris)]);

  const rows = await server
    .storage()
    .durable.selectFrom('apps')
    .select('id')
    .where('external_client_id', '=', clientId)
    .execute();
  assert.equal(rows.length, 1);
});

test('a row without grants and consents is removed a month after the last Allow; a connected or paused one stays', async () => {
  const db = () => server.storage().durable;
  const [unused, connected, paused] = [host.newClientId(), host.newClientId(), host.newClientId()];
  for (const clientId of [unused, connected, paused]) await allow(clientId);
  const app = (await stored(paused)) ?? assert.fail('a row');
  await pauseApp(OPERATOR, db(), { app }, server.clock());
  for (const clientId of [unused, paused]) {
    await db().deleteFrom('consents').where('app_id', '=', appIdOf(clientId)).execute();
  }
  const clean = () => removeExpired(db(), retentionSteps(), server.clock());

  server.advanceClock(30 * DAY);
  await clean();
  const early = await stored(unused);
  server.advanceClock(2 * DAY);
  await clean();

  assert.ok(early);
  assert.equal(await stored(unused), undefined);
  assert.ok(await stored(connected));
  assert.ok(await stored(paused));
});
