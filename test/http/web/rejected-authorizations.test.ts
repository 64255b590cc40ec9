import assert from 'node:assert/strict';
import { test } from 'node:test';
import { differenceFrom } from '../../../src/apps/redirect-uri-differences.ts';
import { newRandomId } from '../../../src/lib/ids.ts';
import { SCOPES } from '../../../src/oauth/scopes.ts';
import { createClient } from '../../support/client.ts';
import { entriesOf, entryLinksOf, factsOf } from '../../support/log-pages.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer({ DYNAMIC_REGISTRATION: 'on' });
const browser = await server.signedIn();

async function newApp(name: string, redirectUris = ['http://localhost:3000/callback']) {
  const app = await server.addApp({ name, ownerBusinessId: server.acme.id, redirectUris });
  const client = createClient({ ...server, user: server.ada, app, business: server.acme });
  const path = server.acmePath(`developer/${app.id}/requests`);
  const [redirect_uri = ''] = redirectUris;
  const request = (changes: Record<string, string | undefined>) => {
    server.advanceClock(1);
    return fetch(client.authorizeUrl({ redirect_uri, ...changes }), { redirect: 'manual' });
  };
  const rowsOf = () => server.storage().durable.selectFrom('logged_requests').where('app_id', '=', app.id);
  return { app, request, rowsOf, open: (query = '') => browser.open(path + query) };
}

test('a rejected authorize request is in the log of its app, with its parameter and the origin of its redirect URI', async () => {
  const { request, open } = await newApp('Rejected');
  await request({ redirect_uri: 'https://elsewhere.example/callback' });
  await request({ scope: 'read:everything' });
  await request({ state: undefined });
  await request({ code_challenge: 'x', code_challenge_method: 'plain' });
  await request({ redirect_uri: 'com.example.app:/callback' });
  await request({ redirect_uri: 'callback' });
  await request({ resource: 'https://elsewhere.example' });

  const page = await open('?status=failed');

  const rows = entriesOf(page).map((row) =>
    row.replace(/^(\d+) GET \/api\/v1\/oauth\/authorize (.*) \d+ ms .*$/, '$1 $2'),
  );
  assert.deepEqual(rows, [
    '303 resource_unknown resource http://localhost:3000',
    '400 redirect_uri_invalid redirect_uri',
    '400 redirect_uri_invalid redirect_uri com.example.app:',
    '303 pkce_malformed code_challenge_method http://localhost:3000',
    '303 field_missing state http://localhost:3000',
    '303 scope_unknown scope http://localhost:3000',
    '400 redirect_uri_invalid redirect_uri https://elsewhere.example',
  ]);
  assert.deepEqual(entriesOf(await open('?status=succeeded')), []);
});

test('the page of a rejected authorize request says how its redirect URI differs from a registered one', async () => {
  const { request, open } = await newApp('Mixed up');
  await request({ redirect_uri: 'http://127.0.0.1:3000/callback' });

  const page = await browser.open(entryLinksOf(await open())[0] ?? '');

  const { Parameter, 'Origin of the redirect URI': origin } = factsOf(page);
  assert.deepEqual({ Parameter, origin }, { Parameter: 'redirect_uri', origin: 'http://127.0.0.1:3000' });
  assert.match(
    page.text,
    /<code>localhost<\/code>, <code>127\.0\.0\.1<\/code> and <code>\[::1\]<\/code> are different hosts/,
  );
  assert.match(page.text, /the app has not registered this <code>redirect_uri<\/code>/);
});

test('the page of an authorize request with an unknown scope lists the existing ones, and says that there is no OpenID Connect', async () => {
  const { request, open } = await newApp('Misspelled');
  await request({ scope: 'openid read:invoices' });

  const page = await browser.open(entryLinksOf(await open())[0] ?? '');

  assert.equal(factsOf(page)['Existing scopes'], SCOPES.map(({ name }) => name).join(' '));
  assert.match(page.text, /There is no OpenID Connect: <code>GET \/api\/v1\/me<\/code> returns the user/);
});

test('the only part in which a redirect URI differs is found', () => {
  const registered = ['https://app.example/callback', 'http://127.0.0.1/back?tenant=1'];
  const differences = {
    'http://localhost:5173/back?tenant=1': 'loopback_host',
    'http://app.example/callback': 'scheme',
    'https://app.example:8443/callback': 'port',
    'https://app.example/callback/': 'trailing_slash',
    'https://app.example/callback?next=1': 'query',
    'https://app.example/elsewhere': 'path',
    'https://other.example/callback': undefined,
    'http://app.example/callback/': undefined,
    'com.example.app:/callback': undefined,
    callback: undefined,
  };
  for (const [sent, difference] of Object.entries(differences)) {
    assert.equal(differenceFrom(registered, sent), difference, sent);
  }
});

test('the log has nothing of the query of a rejected authorize request but that origin [X4]', async () => {
  const { request, rowsOf, open } = await newApp('Discreet');
  const sent = { redirect_uri: 'https://ada:hidden1@elsewhere.example/hidden2?code=hidden3#hidden4', state: 'hidden5' };
  await request({ ...sent, scope: 'hidden6', login_hint: 'hidden7' });
  await request({ scope: 'hidden8', state: 'hidden9' });
  await request({ redirect_uri: `https://${'a'.repeat(2000)}.example/` });

  await open();

  const stored = JSON.stringify(await rowsOf().selectAll().execute());
  assert.ok(stored.includes('"https://elsewhere.example"') && stored.includes('scope_unknown'));
  assert.doesNotMatch(stored, /hidden|ada:|a{301}/);
});

test('an authorize request that is accepted, and one of an unknown or external app, is in no log', async () => {
  const metadata = { client_name: 'Assistant', redirect_uris: ['https://assistant.example/callback'] };
  const { body: external } = await server.sendJson('POST', '/api/v1/oauth/register', metadata);
  const { request, open } = await newApp('Quiet');
  const countRows = async () =>
    (await server.storage().durable.selectFrom('logged_requests').select('id').execute()).length;
  await open();
  const before = await countRows();

  const accepted = await request({});
  await request({ client_id: newRandomId(), scope: 'unknown' });
  await request({ client_id: external.client_id });
  await request({ client_id: external.client_id, redirect_uri: metadata.redirect_uris[0], scope: 'unknown' });
  const page = await open();

  assert.ok(accepted.headers.get('location')?.startsWith(`${server.web}/consent?`));
  assert.match(page.text, /No requests yet/);
  assert.match(page.text, /No requests in the last 24 hours/);
  assert.equal(await countRows(), before);
});

test('rejected authorize requests are not in the chart', async () => {
  const { request, open } = await newApp('Uncounted');
  await request({ scope: 'unknown' });

  const page = await open();

  assert.equal(entriesOf(page).length, 1);
  assert.match(page.text, /No requests in the last 24 hours/);
});
