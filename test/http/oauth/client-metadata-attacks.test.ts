import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { after, test } from 'node:test';
import { startCanaryServer } from '../../support/canary-server.ts';
import {
  countStored,
  describe,
  externalRequest,
  sendDocument,
  startDocumentHost,
} from '../../support/client-document-host.ts';
import { startDnsServer } from '../../support/dns-server.ts';
import { fetchOnce } from '../../support/raw-http.ts';
import { startTestServer, type TestServer } from '../../support/test-server.ts';

const LIMIT = { LIMIT_EXTERNAL_CLIENTS: '1000000' };
const FOR_DEVELOPMENT = { WEBHOOKS_TO_LOOPBACK: 'yes', ...LIMIT };
const server = await startTestServer(FOR_DEVELOPMENT);
const host = await startDocumentHost();

/** The page that the authorize endpoint shows, which must not redirect. */
async function refuse(clientId: string, sentence: RegExp, at: TestServer = server): Promise<string> {
  const { status, location, text } = await fetchOnce(at.authorizeUrl(externalRequest(at, clientId)));
  assert.deepEqual([status, location], [400, null], `${clientId}: ${location} ${text}`);
  assert.match(text, /This app cannot be connected/);
  assert.match(text, sentence);
  assert.match(text, /Nothing was shared with the app/);
  assert.equal(await countStored(at), 0);
  return text;
}

const json = (response: ServerResponse, body: string, status = 200) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(body);
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);

type Respond = (response: ServerResponse, clientId: string) => unknown;
const change =
  (fields: Record<string, unknown>): Respond =>
  (response, clientId) =>
    sendDocument(response, { ...describe(clientId), ...fields });

const BROKEN: [what: string, respond: Respond, sentence: RegExp][] = [
  ['names another client_id', change({ client_id: 'https://claude.ai/client' }), /is not the URL of the document/],
  [
    'names its client_id in upper case',
    (r, id) => sendDocument(r, { ...describe(id), client_id: id.toUpperCase() }),
    /is not the URL/,
  ],
  ['has no client_id', change({ client_id: undefined }), /is not the URL of the document/],
  ['names its client_id in a list', (r, id) => sendDocument(r, { ...describe(id), client_id: [id] }), /is not the URL/],
  ['has no redirect URIs', change({ redirect_uris: undefined }), /redirect_uris has to be a list/],
  ['has an empty list of redirect URIs', change({ redirect_uris: [] }), /redirect_uris has to be a list/],
  ['has a redirect URI that is no text', change({ redirect_uris: [{ url: 'x' }] }), /redirect_uris has to be a list/],
  ['has a script as redirect URI', change({ redirect_uris: ['javascript:alert(1)'] }), /use https/],
  ['has a wildcard as redirect URI', change({ redirect_uris: ['https://*.example/'] }), /no wildcard/],
  ['has a scheme that the operator does not allow', change({ redirect_uris: ['cursor://a/b'] }), /use https/],
  ['contains a secret', change({ client_secret: 'x' }), /client_secret is not allowed/],
  [
    'contains the expiry of a secret',
    change({ client_secret_expires_at: 0 }),
    /client_secret_expires_at is not allowed/,
  ],
  ['wants a shared secret', change({ token_endpoint_auth_method: 'client_secret_post' }), /needs a shared secret/],
  [
    'wants a shared secret in a JWT',
    change({ token_endpoint_auth_method: 'client_secret_jwt', token_endpoint_auth_methods_supported: ['none'] }),
    /needs a shared secret/,
  ],
  ['can authenticate by a key only', change({ token_endpoint_auth_method: 'private_key_jwt' }), /has to be none/],
  ['wants another grant type', change({ grant_types: ['client_credentials'] }), /has to include authorization_code/],
  ['wants another response type', change({ response_types: ['token'] }), /has to include code/],
  [
    'has a name with control characters',
    change({ client_name: 'Cla\u0000ude' }),
    /without hidden or control characters/,
  ],
  ['has a name that is written backwards', change({ client_name: 'Claude \u202eedualc' }), /without hidden/],
  ['has a name with invisible characters', change({ client_name: 'Cla\u200bude' }), /without hidden/],
  ['has a name of two lines', change({ client_name: 'Claude\nby the platform' }), /without hidden/],
  ['has a name of 81 characters', change({ client_name: 'x'.repeat(81) }), /1 to 80 characters/],
  ['has a name that is no text', change({ client_name: { en: 'x' } }), /client_name has to be text/],
  ['is a list', (r) => json(r, '[]'), /not a JSON object/],
  ['is null', (r) => json(r, 'null'), /not a JSON object/],
  ['is no JSON', (r) => json(r, '<html></html>'), /not a JSON object/],
  ['is cut off', (r, id) => json(r, JSON.stringify(describe(id)).slice(0, -1)), /not a JSON object/],
  ['is empty', (r) => json(r, ''), /not a JSON object/],
  ['is nested 8,000 deep', (r) => json(r, nested(8000)), /not a JSON object/],
  [
    'is nested in a field',
    (r, id) => json(r, JSON.stringify(describe(id)).replace('"Assistant"', nested(7000))),
    /client_name has to be text/,
  ],
  [
    'has another content-type',
    (r, id) => r.writeHead(200, { 'content-type': 'text/html' }).end(JSON.stringify(describe(id))),
    /content-type has to be application\/json/,
  ],
  ['has no content-type', (r, id) => r.writeHead(200).end(JSON.stringify(describe(id))), /content-type has to be/],
  ['does not exist', (r, id) => json(r, JSON.stringify(describe(id)), 404), /responds with status 404/],
  [
    'has a status of success that is not 200',
    (r, id) => json(r, JSON.stringify(describe(id)), 203),
    /responds with status 203/,
  ],
  ['is long', change({ padding: 'x'.repeat(17 * 1024) }), /longer than 16 kB/],
  ['lists many redirect URIs', change({ redirect_uris: Array(2000).fill('https://a.example/') }), /longer than 16 kB/],
];

for (const [what, respond, sentence] of BROKEN) {
  test(`a metadata document that ${what} is rejected on a page, and nothing is stored [G1]`, async () => {
    const clientId = host.newClientId();
    host.respondWith((_, response) => respond(response, clientId));

    const text = await refuse(clientId, sentence);

    assert.match(text, /The metadata document of this app at 127\.0\.0\.1:\d+ cannot be used/);
  });
}

test('a redirect is not followed, whatever its target [G1]', async () => {
  for (const [status, location] of [
    [301, '/elsewhere.json'],
    [302, 'http://169.254.169.254/latest/meta-data/'],
    [307, `${server.api}/healthz`],
  ] as const) {
    const clientId = host.newClientId();
    const before = host.paths.length;
    host.respondWith((_, response) => response.writeHead(status, { location }).end());

    await refuse(clientId, new RegExp(`responds with status ${status}; 200 is needed, and redirects are not followed`));

    assert.equal(host.paths.length, before + 1);
  }
});

test('a body of 5 MB is not read to its end [G1]', async () => {
  const size = 5 * 1024 * 1024;
  let sent = 0;
  let finished = false;
  host.respondWith((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': size });
    response.on('finish', () => (finished = true));
    const chunk = Buffer.alloc(64 * 1024, 32);
    const write = () => {
      while (sent < size && !response.destroyed) {
        sent += chunk.length;
        if (!response.write(chunk)) return response.once('drain', write);
      }
      return response.end();
    };
    write();
  });

  await refuse(host.newClientId(), /longer than 16 kB/);

  assert.equal(finished, false);
});

test('a host that sends nothing, or one byte at a time, is given up after the time limit [G1]', async () => {
  const impatient = await startTestServer(FOR_DEVELOPMENT);
  await impatient.restart({ settings: { clientMetadataTimeout: 400 } });
  const timers: NodeJS.Timeout[] = [];
  after(() => timers.forEach(clearInterval));
  const slow: Record<string, (response: ServerResponse) => unknown> = {
    'no headers': () => {},
    'no body': (response) => response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders(),
    drip: (response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      timers.push(setInterval(() => response.write(' '), 20));
    },
    'interim responses': (response) => timers.push(setInterval(() => response.writeProcessing(), 20)),
  };
  for (const [what, respond] of Object.entries(slow)) {
    host.respondWith((_, response) => respond(response));

    const text = await refuse(host.newClientId(), /cannot be used/, impatient);

    // Many interim responses are an error. On a busy machine, the timeout may come first.
    const sentence = what === 'interim responses' ? /does not respond|did not arrive/ : /did not arrive within 0\.4 s/;
    assert.match(text, sentence, what);
  }
});

test('a host that closes the connection, or does not speak HTTP, is an error [G1]', async () => {
  host.respondWith((_, response) => response.destroy());
  await refuse(host.newClientId(), /does not respond/);
  const babble = createServer((socket) => socket.on('error', () => {}).end('hello\r\n\r\n'));
  babble.listen(0, '127.0.0.1');
  await once(babble, 'listening');
  after(() => babble.close());
  await refuse(`http://127.0.0.1:${(babble.address() as AddressInfo).port}/client.json`, /does not respond/);
});

const MALFORMED = [
  'https://client.example',
  'https://client.example/',
  'https://client.example/a/../client.json',
  'https://client.example/./client.json',
  'https://client.example/%2e%2e/client.json',
  'https://client.example/client.json#x',
  'https://client.example/client.json#',
  'https://client.example/client.json?v=2',
  'https://client.example/client.json?',
  'https://user@client.example/client.json',
  'https://user:password@client.example/client.json',
  'https://CLIENT.example/client.json',
  'HTTPS://client.example/client.json',
  'https:client.example/client.json',
  'https://client.example:443/client.json',
  'https://client.example\\client.json',
  'https://client.example/client.json\n',
  'http://client.example/client.json',
  'http://127.0.0.2/client.json',
];

test('a client_id that is not a plain https URL with a path is rejected without a request [G1]', async () => {
  const before = host.paths.length;
  for (const clientId of MALFORMED) await refuse(clientId, /client_id has to be a/);
  assert.equal(host.paths.length, before);
});

test('a client_id of more than 2,000 characters is rejected without a request [G1]', async () => {
  host.respondWith(undefined);
  const longest = host.newClientId().padEnd(2000, 'x');
  assert.equal((await fetchOnce(server.authorizeUrl(externalRequest(server, longest)))).status, 303);
  const before = host.paths.length;

  await refuse(`${longest}x`, /client_id has to be a URL of at most 2000 characters/);

  assert.equal(host.paths.length, before);
});

test('a client_id on the host of this server is rejected without a request', async () => {
  for (const own of [server.api, server.web, server.web.replace('http://localhost', 'https://localhost.')]) {
    await refuse(`${own}/api/v1/oauth/authorize`, /client_id has to be a URL of another server than this one/);
  }
});

const { port, connections } = await startCanaryServer();
const names = await startDnsServer();
const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]', '[::ffff:7f00:1]', 'localhost.', 'app.localhost'];
const MAPPED = ['[::7f00:1]', '[64:ff9b::7f00:1]', '[2002:7f00:1::]', '[2001:0:7f00:1::]'];
const LOCAL = ['0.0.0.0', '[::]', '10.0.0.1', '172.16.0.1', '192.168.0.1', '100.64.0.1', '[fc00::1]', '[fe80::1]'];
const OTHERS = ['169.254.169.254', '[fd00:ec2::254]', '224.0.0.1', '[ff02::1]', '255.255.255.255'];
const OWN = Object.values(networkInterfaces())
  .flatMap((each = []) => each)
  .map(({ address, family }) => (family === 'IPv6' ? `[${address}]` : address));
/** A URL parser writes these as 127.0.0.1, so they are not in the form that is compared. */
const OTHER_NOTATIONS = ['127.1', '2130706433', '0x7f000001', '0177.0.0.1', '[::ffff:127.0.0.1]', '①②⑦.⓪.⓪.①'];

test('no form of an address makes the server fetch from its own network [G1]', async () => {
  const strict = await startTestServer(LIMIT);
  names.respondWith((name) => (name === 'mixed.example' ? ['203.0.114.1', '127.0.0.1'] : ['10.0.0.1']));
  for (const address of [...LOOPBACK, ...MAPPED, ...LOCAL, ...OTHERS, ...OWN, 'mixed.example', 'inward.example']) {
    await refuse(`https://${address}:${port}/client.json`, /has no public address/, strict);
  }
  for (const address of OTHER_NOTATIONS) {
    await refuse(`https://${address}:${port}/client.json`, /client_id has to be a/, strict);
  }
  await refuse(`http://127.0.0.1:${port}/client.json`, /client_id has to be a/, strict);
  assert.equal(connections(), 0);
});

test('a name that resolves to another address the second time is looked up only once, and not reached [G1]', async () => {
  const strict = await startTestServer(LIMIT);
  names.respondWith((_, nth) => (nth === 0 ? ['203.0.114.1'] : ['127.0.0.1']));
  await strict.restart({ settings: { clientMetadataTimeout: 300 } });

  await refuse(`https://rebinding.example:${port}/client.json`, /cannot be used/, strict);

  assert.equal(names.queryCount('rebinding.example'), 1);
  assert.equal(connections(), 0);
});

test('with the setting for development, only loopback is reached, and no other address of the network [G1]', async () => {
  names.respondWith(() => ['127.0.0.1', '10.0.0.1']);
  for (const address of [...LOCAL, ...OTHERS, ...MAPPED, 'tangled.example']) {
    await refuse(`https://${address}:${port}/client.json`, /has no public address/);
  }
  assert.equal(connections(), 0);
});
