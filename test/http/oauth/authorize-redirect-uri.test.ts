import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deleteApp } from '../../../src/apps/apps.ts';
import { OPERATOR } from '../../../src/audit/entries.ts';
import { disableApp } from '../../../src/grants/suspension.ts';
import { fetchOnce } from '../../support/raw-http.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const own = { ownerBusinessId: server.acme.id };
const several = await server.addApp({ ...own, redirectUris: ['https://a.example/one', 'https://a.example/two'] });
const encoded = await server.addApp({ ...own, redirectUris: ['https://a.example/call%2Fback?x=%7E&y=1'] });
const native = await server.addApp({
  ...own,
  redirectUris: ['http://127.0.0.1/callback', 'http://[::1]:9000/callback', 'http://localhost:8000/callback'],
});

const authorize = (changes: Record<string, string | undefined>, more = '') =>
  fetchOnce(server.authorizeUrl(changes) + more);

async function assertPage(response: Promise<Awaited<ReturnType<typeof fetchOnce>>>, sentence: RegExp) {
  const { status, location, headers, text } = await response;
  assert.equal(status, 400);
  assert.equal(location, null);
  assert.match(headers.get('content-type') ?? '', /^text\/html/);
  assert.match(text, sentence);
  assert.match(text, /For the app’s developer/);
}

async function assertSentOn(response: Promise<Awaited<ReturnType<typeof fetchOnce>>>) {
  const { status, location } = await response;
  assert.equal(status, 303);
  assert.ok(location?.startsWith(`${server.web}/consent?`), location ?? '');
}

test('an unknown, malformed, missing or repeated client_id is shown a page and never redirected [A1]', async () => {
  for (const client_id of ['0190a6c6-0000-7000-8000-000000000000', 'ledger', "' or 1=1 --", '%00', 'x'.repeat(5000)]) {
    await assertPage(authorize({ client_id }), /No app has this client_id/);
  }
  await assertPage(authorize({ client_id: undefined }), /client_id is missing/);
  await assertPage(authorize({ client_id: '' }), /client_id is missing/);
  await assertPage(authorize({}, `&client_id=${server.ledger.id}`), /client_id was sent more than once/);
});

test('the page quotes the client_id and the redirect_uri that were sent, with their invisible characters', async () => {
  const { text: unknown } = await authorize({ client_id: 'ledger\u200b <b>' });
  const { text: foreign } = await authorize({ redirect_uri: 'https://ledger.example/callback\n' });
  const { text: spaced } = await authorize({ redirect_uri: 'https://ledger.example/callback ' });

  assert.match(unknown, /Received: ledger%E2%80%8B%20&lt;b&gt;/);
  assert.match(foreign, /https:\/\/ledger\.example\/callback%0A is not a redirect URI of Ledger/);
  assert.match(spaced, /https:\/\/ledger\.example\/callback%20 is not a redirect URI of Ledger/);
});

test('a disabled app is shown a page that says so, and a deleted one is unknown; neither is redirected [A1]', async () => {
  const [disabled, deleted] = [await server.addApp(own), await server.addApp(own)];
  await disableApp(OPERATOR, server.storage().durable, disabled, server.clock());
  await deleteApp(OPERATOR, server.storage().durable, deleted, server.clock());

  await assertPage(authorize({ client_id: disabled.id }), /Ledger is disabled/);
  await assertPage(authorize({ client_id: deleted.id }), /No app has this client_id/);
});

const VARIANTS: [variant: string, uri: string][] = [
  ['another host', 'https://evil.example/callback'],
  ['a host in other letters', 'https://LEDGER.example/callback'],
  ['a host with a dot behind it', 'https://ledger.example./callback'],
  ['a longer host', 'https://ledger.example.evil.example/callback'],
  ['a host before it', 'https://evil.example/https://ledger.example/callback'],
  ['a user name', 'https://ledger.example@evil.example/callback'],
  ['its own user name', 'https://me@ledger.example/callback'],
  ['another scheme', 'http://ledger.example/callback'],
  ['a scheme in other letters', 'HTTPS://ledger.example/callback'],
  ['a port', 'https://ledger.example:8443/callback'],
  ['an explicit default port', 'https://ledger.example:443/callback'],
  ['a slash behind it', 'https://ledger.example/callback/'],
  ['no path', 'https://ledger.example'],
  ['a path in other letters', 'https://ledger.example/Callback'],
  ['a path behind it', 'https://ledger.example/callback/more'],
  ['a path that climbs', 'https://ledger.example/x/../callback'],
  ['an encoded letter', 'https://ledger.example/callbac%6B'],
  ['a query', 'https://ledger.example/callback?x=1'],
  ['an empty query', 'https://ledger.example/callback?'],
  ['a fragment', 'https://ledger.example/callback#x'],
  ['a space behind it', 'https://ledger.example/callback '],
  ['a space before it', ' https://ledger.example/callback'],
  ['a line break behind it', 'https://ledger.example/callback\n'],
  ['a tab within it', 'https://ledger.example/call\tback'],
  ['a backslash', 'https:\\\\ledger.example\\callback'],
  ['no scheme', '//ledger.example/callback'],
  ['a script', 'javascript:alert(1)//https://ledger.example/callback'],
];

for (const [variant, redirect_uri] of VARIANTS) {
  test(`a redirect_uri with ${variant} is not the registered one: a page, never a redirect [A2][A3]`, async () => {
    await assertPage(authorize({ redirect_uri }), /is not a redirect URI of Ledger/);
  });
}

test('percent-encoding and the order of the query count too [A3]', async () => {
  const client_id = encoded.id;

  await assertSentOn(authorize({ client_id, redirect_uri: 'https://a.example/call%2Fback?x=%7E&y=1' }));
  for (const redirect_uri of [
    'https://a.example/call%2fback?x=%7E&y=1',
    'https://a.example/call/back?x=%7E&y=1',
    'https://a.example/call%2Fback?x=~&y=1',
    'https://a.example/call%2Fback?y=1&x=%7E',
    'https://a.example/call%2Fback?x=%7E&y=1&z=2',
    'https://a.example/call%2Fback',
  ]) {
    await assertPage(authorize({ client_id, redirect_uri }), /is not a redirect URI/);
  }
});

test('only the port of a loopback IP address may differ from what is registered [A4]', async () => {
  const client_id = native.id;

  for (const redirect_uri of [
    'http://127.0.0.1/callback',
    'http://127.0.0.1:1/callback',
    'http://127.0.0.1:80/callback',
    'http://127.0.0.1:65535/callback',
    'http://[::1]/callback',
    'http://[::1]:9001/callback',
    'http://localhost:8000/callback',
  ]) {
    await assertSentOn(authorize({ client_id, redirect_uri }));
  }
  for (const redirect_uri of [
    'http://localhost:8001/callback',
    'http://localhost/callback',
    'http://127.0.0.1:1/other',
    'http://127.0.0.1:1/callback?x=1',
    'https://127.0.0.1:1/callback',
    'http://127.0.0.2:1/callback',
    'http://127.0.0.1:65536/callback',
    'http://127.0.0.1:/callback',
    'http://127.0.0.1:01/callback',
    'http://127.0.0.1:080/callback',
    'http://127.0.0.1:1@evil.example/callback',
    'http://127.0.0.1.evil.example/callback',
    'http://127.1:1/callback',
    'http://[0:0:0:0:0:0:0:1]:1/callback',
  ]) {
    await assertPage(authorize({ client_id, redirect_uri }), /is not a redirect URI/);
  }
});

test('the code of a native app goes to the requested port, and the exchange must name the same one [A4]', async () => {
  const redirect_uri = 'http://127.0.0.1:49152/callback';
  const response = await server.authorize({ client_id: native.id, redirect_uri });
  const code = response.leftTo?.searchParams.get('code') ?? '';
  const credentials = { client_id: native.id, client_secret: native.secret };

  const other = await server.exchange(code, { ...credentials, redirect_uri: 'http://127.0.0.1:49153/callback' });
  const same = await server.exchange(code, { ...credentials, redirect_uri });

  assert.ok(response.leftTo?.href.startsWith(`${redirect_uri}?code=`));
  assert.equal(other.body.error, 'invalid_grant');
  assert.equal(same.status, 200);
});

test('redirect_uri may be left out when the app has exactly one, and then that one is used', async () => {
  const response = await server.authorize({ redirect_uri: undefined });

  assert.ok(response.leftTo?.href.startsWith('https://ledger.example/callback?code='));
});

test('redirect_uri left out by an app that has several is shown a page, and no default is picked [A7]', async () => {
  for (const redirect_uri of [undefined, '']) {
    await assertPage(
      authorize({ client_id: several.id, redirect_uri }),
      /redirect_uri is missing, and the app has several/,
    );
  }
  await assertSentOn(authorize({ client_id: several.id, redirect_uri: 'https://a.example/two' }));
});

test('redirect_uri sent twice is shown a page, even with the same value [A8]', async () => {
  await assertPage(
    authorize({}, '&redirect_uri=https%3A%2F%2Fledger.example%2Fcallback'),
    /redirect_uri was sent more than once/,
  );
});

test('no other error of the request redirects to an unregistered address [A2]', async () => {
  const redirect_uri = 'https://evil.example/';

  await assertPage(authorize({ redirect_uri, response_type: 'token' }), /is not a redirect URI/);
  await assertPage(authorize({ redirect_uri, prompt: 'none' }), /is not a redirect URI/);
  const direct = await fetchOnce(`${server.web}/consent?${server.authorizeUrl({ redirect_uri }).split('?')[1]}`);
  assert.equal(direct.status, 400);
  assert.equal(direct.location, null);
});

test('parameters of the request are shown on the error page as text, never as markup [S17]', async () => {
  const { text } = await authorize({ redirect_uri: 'https://x.example/"><script>alert(1)</script>' });

  assert.doesNotMatch(text, /<script/);
  assert.match(text, /&quot;&gt;&lt;script&gt;alert\(1\)/);
});

test('the error page of an app tells people first that their data is safe, then tells the developer what is wrong', async () => {
  const redirect_uri = 'https://evil.example/callback';
  const technical = [/evil\.example/, /redirect_uri/, /client_id/];
  for (const changes of [{ redirect_uri }, { client_id: 'unknown' }, { client_id: undefined }]) {
    const { text } = await authorize(changes);
    const [forPeople = '', forDeveloper = ''] = text.split('For the app’s developer');

    assert.match(forPeople, /The problem is in the app, not in your account\. Nothing was shared with the app\./);
    for (const word of technical) assert.doesNotMatch(forPeople, word);
    assert.ok(technical.some((word) => word.test(forDeveloper)));
  }
});
