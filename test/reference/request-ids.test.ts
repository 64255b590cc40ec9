import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { startLoggedServer } from './logged-server.ts';
import { type RawResponse, write } from './raw.ts';

const server = await startLoggedServer();
const { api, web } = server;
const seen = new Set<string>();

async function send(url: string, init: RequestInit = {}): Promise<RawResponse> {
  const response = await fetch(url, { redirect: 'manual', ...init });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

async function assertNamed({ status, headers, text }: RawResponse): Promise<string> {
  const id = headers.get('x-request-id') ?? '';
  assert.match(id, /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  assert.equal(seen.has(id), false, 'no other request had this id');
  seen.add(id);
  const lines = await server.linesAbout(id);
  assert.ok(
    lines.some((line) => line.status === status),
    `the log has a line with ${id} and ${status}: ${JSON.stringify(lines)}`,
  );
  // A missing page and a forbidden one get identical responses. Only internal errors show the request id.
  if (text.startsWith('<!doctype html>')) assert.equal(text.includes(id), status >= 500, text);
  return id;
}

const json = (body: string) => ({ method: 'POST', headers: { 'content-type': 'application/json' }, body });
const TOKEN = '/api/v1/oauth/token';
const CREDENTIALS = JSON.stringify({
  grant_type: 'refresh_token',
  refresh_token: 'x',
  client_id: server.ledger.id,
  client_secret: server.ledger.secret,
});
const LARGE = 'x'.repeat(70_000);

type Case = [what: string, status: number, url: string, init?: RequestInit];

const CASES: Case[] = [
  ['a success of the API', 200, `${api}/openapi.json`],
  ['the same success once more', 200, `${api}/openapi.json`],
  ['a success that has no body', 200, `${api}/openapi.json`, { method: 'HEAD' }],
  ['the metadata', 200, `${api}/.well-known/oauth-authorization-server`],
  ['a refusal of the token endpoint', 400, api + TOKEN, json('{}')],
  ['a refusal of an app', 401, api + TOKEN, json('{"grant_type":"refresh_token"}')],
  ['a refusal of the business API', 401, `${api}/api/v1/businesses`],
  ['an address that the API has not', 404, `${api}/api/v1/nowhere`],
  ['a page that the API host has not', 404, `${api}/nowhere`],
  ['a method that the API has not', 405, api + TOKEN, { method: 'PUT' }],
  ['a body that is too large', 413, api + TOKEN, json(LARGE)],
  ['a content type that is not read', 415, api + TOKEN, { method: 'POST', body: 'x' }],
  ['a redirect to the consent pages', 303, server.authorizeUrl()],
  ['a redirect with an error', 303, server.authorizeUrl({ scope: 'x' })],
  ['the page about an app that cannot be trusted', 400, server.authorizeUrl({ client_id: 'x' })],
  ['the reference', 200, `${api}/docs`],
  ['the page about an error', 200, `${api}/docs/errors/invalid_grant`],
  ['the OpenAPI document', 200, `${api}/openapi.json`],
  ['a preflight', 204, `${api}/api/v1/businesses`, { method: 'OPTIONS' }],
  ['an address of the API that cannot be read', 400, `${api}/api/%zz`],
  ['an address with a long name of nothing', 404, `${api}/docs/errors/${'x'.repeat(200)}`],
  ['a page', 200, `${web}/sign-in`],
  ['a redirect between pages', 303, `${web}/`],
  ['a redirect to the sign-in page', 303, `${web}/settings/account`],
  ['a page that is not there', 404, `${web}/nowhere`],
  ['a method that a page has not', 405, `${web}/sign-in`, { method: 'DELETE' }],
  [
    'a form that no page of ours made',
    403,
    `${web}/sign-in`,
    { method: 'POST', body: new URLSearchParams({ a: 'b' }) },
  ],
  ['a form that is too large', 413, `${web}/sign-in`, { method: 'POST', body: new URLSearchParams({ a: LARGE }) }],
  ['a form that is none', 415, `${web}/sign-in`, json('{}')],
  ...[api, web].flatMap((host): Case[] => [
    ['a static file', 200, `${host}/assets/icon.svg`],
    ['a static file that is not there', 404, `${host}/assets/nothing.svg`],
    ['an address that cannot be read', 400, `${host}/%zz`],
  ]),
];

for (const [what, status, url, init] of CASES) {
  const host = url.startsWith(api) ? 'API' : 'web';
  test(`${what} (${status}, ${host} host) has its own request id, which is in the log`, async () => {
    const response = await send(url, init);

    assert.equal(response.status, status, response.text);
    await assertNamed(response);
  });
}

const UNSOUND: [what: string, status: number, bytes: string][] = [
  ['what is not HTTP', 400, 'hello\r\n\r\n'],
  ['a method that HTTP has not', 400, 'FETCH / HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['headers that are too large', 431, `GET / HTTP/1.1\r\nHost: x\r\nX: ${LARGE}\r\n\r\n`],
  [
    'a body of two lengths',
    400,
    'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
  ],
];

for (const [what, status, bytes] of UNSOUND) {
  for (const [name, host] of [
    ['API', api],
    ['web', web],
  ] as const) {
    test(`${what} is rejected (${status}) by the ${name} host with its own request id, which is in the log`, async () => {
      const response = await write(host, bytes);

      assert.equal(response.status, status);
      await assertNamed(response);
      const { error, reason } = JSON.parse(response.text);
      assert.deepEqual([error, reason], ['invalid_request', 'request_unreadable']);
    });
  }
}

/** The HTTP layer responds to these itself, before any handler runs. */
const UNASKED: [what: string, bytes: string][] = [
  ['a request without Host', 'GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n'],
  ['an unknown expectation', 'GET /openapi.json HTTP/1.1\r\nHost: x\r\nExpect: y\r\nConnection: close\r\n\r\n'],
];

for (const [what, bytes] of UNASKED) {
  test(`${what} gets its own request id, which is in the log`, async () => {
    for (const host of [api, web]) await assertNamed(await write(host, bytes));
  });
}

test('a static file that the browser has cached (304) gets a request id, too', async () => {
  for (const host of [api, web]) {
    const head = 'GET /assets/icon.svg HTTP/1.1\r\nHost: x\r\nIf-None-Match: *\r\nConnection: close';
    const response = await write(host, `${head}\r\n\r\n`);

    assert.equal(response.status, 304);
    await assertNamed(response);
  }
});

test('a request id sent by the client is ignored', async () => {
  const chosen = '0190b9a1-7d4c-7c5e-9a51-3c2f6f0e8d10';
  for (const host of [api, web]) {
    for (const name of ['x-request-id', 'request-id', 'x-correlation-id', 'traceparent']) {
      const response = await send(`${host}/nowhere`, { headers: { [name]: chosen } });

      assert.notEqual(await assertNamed(response), chosen);
    }
  }
  assert.equal((await server.readLog()).filter((text) => text.includes(chosen)).length, 0);
});

test('a log line has the route, not the URL, and the outcome', async () => {
  const { headers } = await send(`${api}${TOKEN}?hint=in-the-address`, json('{}'));

  const [line] = await server.linesAbout(headers.get('x-request-id') ?? '');

  const { method, route, status, reason } = line ?? {};
  assert.deepEqual(
    { method, route, status, reason },
    { method: 'POST', route: TOKEN, status: 400, reason: 'field_missing' },
  );
  assert.equal((await server.readLog()).filter((text) => text.includes('in-the-address')).length, 0);
});

test('an internal error is logged with its request id, on the API host and the web host', async () => {
  const { durable } = server.storage;
  await sql`alter table apps rename to mislaid`.execute(durable);
  try {
    for (const [url, init] of [[api + TOKEN, json(CREDENTIALS)] as const, [server.authorizeUrl(), {}] as const]) {
      const { status, headers } = await send(url, init);

      await server.readLog();
      const lines = await server.linesAbout(headers.get('x-request-id') ?? '');

      assert.equal(status, 500);
      assert.deepEqual(
        // The page of the web host may be sent before its error is logged.
        lines.map(({ err, status }) => [err?.type, status]).sort(([type]) => (type === 'Error' ? -1 : 1)),
        [
          ['Error', undefined],
          [undefined, 500],
        ],
      );
      assert.match(lines.find(({ err }) => err)?.err?.stack ?? '', /no such table/);
    }
  } finally {
    await sql`alter table mislaid rename to apps`.execute(durable);
  }
});
