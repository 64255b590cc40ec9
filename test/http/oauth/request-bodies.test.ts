import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { sendRaw } from '../../support/raw-http.ts';
import { scannedFetch } from '../../support/secret-scanner.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const browser = await server.signedIn();
const { client_id, client_secret } = server.credentials;
const JSON_TYPE = 'application/json';
const FORM_TYPE = 'application/x-www-form-urlencoded';
const ENDPOINTS = ['token', 'revoke', 'introspect'];

async function send(endpoint: string, body: string, type = JSON_TYPE) {
  const headers = { 'content-type': type };
  const response = await scannedFetch(`${server.api}/api/v1/oauth/${endpoint}`, { method: 'POST', headers, body });
  const { status } = response;
  return { status, headers: response.headers, body: await response.json() };
}

const asJson = (endpoint: string, fields: Record<string, string>) => send(endpoint, JSON.stringify(fields));
const asForm = (endpoint: string, fields: Record<string, string>) =>
  send(endpoint, `${new URLSearchParams(fields)}`, FORM_TYPE);

async function assertInvalidRequest(response: ReturnType<typeof send>, status = 400, about = '') {
  const { status: actual, body, headers } = await response;
  assert.deepEqual([actual, body.error], [status, 'invalid_request'], about);
  assert.ok(body.error_description, about);
  assert.equal(body.error_uri, `${server.api}/docs/errors/invalid_request#${body.reason}`);
  assert.equal(headers.get('cache-control'), 'no-store', about);
}

const SAME: [name: string, endpoint: string, fields: Record<string, string>][] = [
  ['no field at all', 'token', {}],
  ['no grant_type', 'token', { client_id, client_secret }],
  ['an unknown grant_type', 'token', { grant_type: 'password', client_id, client_secret }],
  ['client_credentials', 'token', { grant_type: 'client_credentials', client_id, client_secret }],
  ['no credentials', 'token', { grant_type: 'refresh_token', refresh_token: 'x' }],
  ['wrong credentials', 'token', { grant_type: 'refresh_token', client_id, client_secret: 'x', refresh_token: 'x' }],
  ['no code', 'token', { grant_type: 'authorization_code', client_id, client_secret }],
  ['an empty code', 'token', { grant_type: 'authorization_code', code: '', client_id, client_secret }],
  ['a bad code', 'token', { grant_type: 'authorization_code', code: 'é+ %', client_id, client_secret }],
  ['no refresh token', 'token', { grant_type: 'refresh_token', client_id, client_secret }],
  ['a bad refresh token', 'token', { grant_type: 'refresh_token', refresh_token: 'x', client_id, client_secret }],
  ['no token to revoke', 'revoke', {}],
  ['an unknown token to revoke', 'revoke', { token: 'x' }],
  ['wrong credentials at revoke', 'revoke', { token: 'x', client_id, client_secret: 'x' }],
  ['an unknown token to introspect', 'introspect', { token: 'x', client_id, client_secret }],
  ['no token to introspect', 'introspect', { client_id, client_secret }],
  ['no credentials at introspect', 'introspect', { token: 'x' }],
];

/** The headers of a response, except for those that differ in every response. */
function lasting(headers: Headers) {
  return [...headers].filter(([name]) => name !== 'date' && name !== 'x-request-id');
}

for (const [name, endpoint, fields] of SAME) {
  test(`JSON and a form get the same response: ${name} [T27]`, async () => {
    const [json, form] = [await asJson(endpoint, fields), await asForm(endpoint, fields)];

    assert.deepEqual([form.status, form.body], [json.status, json.body]);
    assert.deepEqual(lasting(form.headers), lasting(json.headers));
    assert.ok(json.status < 500);
  });
}

test('JSON and a form get the same successful response [T27]', async () => {
  const code = { grant_type: 'authorization_code', redirect_uri: 'https://ledger.example/callback' };
  for (const send of [asJson, asForm]) {
    const fields = { ...code, code: await server.allow({}, browser), client_id, client_secret };
    const first = await send('token', fields);
    const { refresh_token } = first.body;
    const second = await send('token', { grant_type: 'refresh_token', refresh_token, client_id, client_secret });
    const introspected = await send('introspect', { token: second.body.access_token, client_id, client_secret });
    const revoked = await send('revoke', { token: second.body.refresh_token });

    assert.deepEqual([first.status, second.status, introspected.status, revoked.status], [200, 200, 200, 200]);
    assert.deepEqual(Object.keys(second.body), Object.keys(first.body));
    assert.equal(introspected.body.active, true);
    assert.deepEqual(revoked.body, {});
  }
});

test('every field of a token request has the same effect in JSON and in a form [T27]', async () => {
  const verifier = 'a-code-verifier-of-at-least-43-characters-0123';
  const code_challenge = createHash('sha256').update(verifier).digest('base64url');
  const redirect_uri = 'https://ledger.example/callback';
  const scope = 'read:invoices read:contacts';

  for (const send of [asJson, asForm]) {
    const exchange = async (changes: Record<string, string>) => {
      const code = await server.allow({ scope, code_challenge, code_challenge_method: 'S256' }, browser);
      const fields = { code, redirect_uri, code_verifier: verifier, client_id, client_secret, ...changes };
      return send('token', { grant_type: 'authorization_code', ...fields });
    };
    const { status, body } = await exchange({});
    const narrowed = { refresh_token: body.refresh_token, scope: 'read:contacts', client_id, client_secret };

    assert.deepEqual([status, body.scope], [200, scope]);
    assert.equal((await send('token', { grant_type: 'refresh_token', ...narrowed })).body.scope, 'read:contacts');
    assert.equal((await exchange({ code_verifier: 'b'.repeat(43) })).body.reason, 'code_verifier_wrong');
    assert.equal((await exchange({ code_verifier: '' })).body.reason, 'code_verifier_missing');
    assert.equal((await exchange({ redirect_uri: `${redirect_uri}/` })).body.reason, 'redirect_uri_different');
  }
});

/** The fields of each endpoint. */
const KNOWN: Record<string, string[]> = {
  token: [
    ...['grant_type', 'code', 'redirect_uri', 'code_verifier', 'refresh_token', 'scope'],
    ...['client_id', 'client_secret'],
  ],
  revoke: ['token', 'token_type_hint', 'client_id', 'client_secret'],
  introspect: ['token', 'scope', 'token_type_hint', 'client_id', 'client_secret'],
};

test('a value that is not text is rejected in any field [T25]', async () => {
  const complete = { grant_type: 'authorization_code', code: 'x', token: 'x', client_id, client_secret };
  for (const [endpoint, names] of Object.entries(KNOWN)) {
    for (const name of names) {
      for (const value of [null, 1, 0, true, false, [], ['x'], {}, { x: 'y' }, [[null]]]) {
        const body = JSON.stringify({ ...complete, [name]: value });
        await assertInvalidRequest(send(endpoint, body), 400, `${endpoint} ${body}`);
      }
    }
  }
});

test('a body that is not a JSON object is rejected [T25]', async () => {
  for (const endpoint of ENDPOINTS) {
    for (const body of [
      '',
      ' ',
      'null',
      '1',
      '"text"',
      '[]',
      '["a"]',
      'true',
      '{',
      '{"a":"b"',
      "{'a':'b'}",
      '{"a":"b"}x',
    ]) {
      await assertInvalidRequest(send(endpoint, body), 400, `${endpoint} ${body}`);
    }
  }
});

test('a known field sent twice is rejected by name, in JSON and in a form [T26][T27]', async () => {
  for (const [endpoint, names] of Object.entries(KNOWN)) {
    for (const name of names) {
      const escaped = name.replace('t', '\\u0074');
      const bodies = ['"x"', '""', '1', 'null', '{}', '[]', '["a","b"]', '{"a":":","b":{}}', '"\\":\\""'].flatMap(
        (value) => [
          `{"${name}":${value},"${name}":"x"}`,
          ` {\n"${escaped}" : ${value} , "other":"y", "${name}":\t"x" } `,
        ],
      );
      for (const body of bodies) {
        const response = send(endpoint, body);
        await assertInvalidRequest(response, 400, `${endpoint} ${body}`);
        assert.deepEqual(
          [(await response).body.reason, (await response).body.error_description],
          ['field_repeated', `${name} was sent more than once.`],
          body,
        );
      }
      for (const form of [`${name}=x&${name}=x`, `${name}=x&other=y&${encodeURIComponent(name)}=`]) {
        const response = send(endpoint, form, FORM_TYPE);
        await assertInvalidRequest(response, 400, `${endpoint} ${form}`);
        assert.equal((await response).body.error_description, `${name} was sent more than once.`);
      }
    }
  }
});

/** A request to each endpoint that succeeds. */
async function validRequests(): Promise<[endpoint: string, fields: Record<string, string>][]> {
  const { access_token, refresh_token } = await server.connect({}, browser);
  const credentials = { client_id, client_secret };
  return [
    ['introspect', { token: access_token, ...credentials }],
    ['revoke', { token: access_token }],
    ['token', { grant_type: 'refresh_token', refresh_token, ...credentials }],
  ];
}

test('an unknown field is ignored in JSON, whatever its type [T27]', async () => {
  for (const [endpoint, fields] of await validRequests()) {
    for (const value of [3600, null, true, [1], ['x', null], {}, { token: 'x' }]) {
      const response = await send(endpoint, JSON.stringify({ audience: value, ...fields, expires_in: value }));
      assert.equal(response.status, 200, `${endpoint} ${JSON.stringify(response.body)}`);
    }
  }
});

test('an unknown field sent twice is ignored, in JSON and in a form [T27]', async () => {
  for (const [endpoint, fields] of await validRequests()) {
    const twice = '&audience=https://a.example&audience=https://b.example';
    const form = await send(endpoint, `${new URLSearchParams(fields)}${twice}`, FORM_TYPE);
    const json = await send(endpoint, `{"audience":"a","audience":["b"],${JSON.stringify(fields).slice(1)}`);

    assert.equal(form.status, 200, JSON.stringify(form.body));
    assert.deepEqual([json.status, json.body], [200, form.body]);
  }
});

test('a name inside a value does not count as a field [T26]', async () => {
  const token = '","token":"';
  const response = await send('revoke', JSON.stringify({ token, note: '{"token":"x"}' }));

  assert.deepEqual([response.status, response.body], [200, {}]);
});

test('names with a meaning in JavaScript are rejected or ignored [T26]', async () => {
  for (const body of [
    `{"__proto__":{"client_secret":"${client_secret}"},"grant_type":"refresh_token","client_id":"${client_id}"}`,
    `{"constructor":{"prototype":{"a":"b"}},"grant_type":"refresh_token"}`,
    '{"toString":"x","hasOwnProperty":"y"}',
  ]) {
    const response = await send('token', body);
    assert.ok([400, 401].includes(response.status), body);
  }
  const form = await send('token', `__proto__=x&constructor=y&grant_type=toString&client_id=${client_id}`, FORM_TYPE);
  assert.equal(form.status, 401);
  assert.equal(({} as Record<string, unknown>).client_secret, undefined);
});

test('a name that is not allowed is not reported as invalid JSON', async () => {
  for (const body of ['{"__proto__":{}}', '{"token":"x","constructor":{"prototype":{}}}']) {
    const response = await send('revoke', body);
    assert.deepEqual([response.status, response.body.reason], [400, 'body_malformed']);
    assert.match(response.body.error_description, /^A field has a name that is not allowed/);
  }
  assert.equal((await send('revoke', '{"__proto__":{}')).body.error_description, 'The body is not valid JSON.');
});

test('a request that cannot be read says why: its headers are too large, or its address is not encoded', async () => {
  const describe = async (path: string, headers: [string, string][] = []) => {
    const { status, text } = await sendRaw(server.api, { path, headers });
    return `${status} ${JSON.parse(text).error_description}`;
  };

  assert.equal(
    await describe('/api/v1/me', [['x-padding', 'x'.repeat(17_000)]]),
    '431 The address and the headers of the request are larger than 16 KiB.',
  );
  assert.equal(await describe('/api/v1/%zz'), '400 The address is not valid percent-encoding.');
});

test('any other content type is a 415 that names the two accepted ones [T26]', async () => {
  const body = JSON.stringify({ token: 'x' });
  for (const type of [
    'text/plain',
    'text/json',
    'application/xml',
    'multipart/form-data; boundary=x',
    'application/vnd.api+json',
    'application/jsonx',
    'application/json\ta',
    'application/octet-stream',
    'x',
  ]) {
    for (const endpoint of ENDPOINTS) await assertInvalidRequest(send(endpoint, body, type), 415, type);
  }
  const untyped = await sendRaw(server.api, {
    path: '/api/v1/oauth/revoke',
    method: 'POST',
    headers: [['Content-Length', String(body.length)]],
    body,
  });
  assert.equal(untyped.status, 415);
});

test('parameters and case of a content type do not matter', async () => {
  for (const type of ['application/json; charset=utf-8', 'Application/JSON', 'application/json;charset="UTF-8"']) {
    assert.equal((await send('revoke', '{"token":"x"}', type)).status, 200, type);
  }
  assert.equal((await send('revoke', 'token=x', `${FORM_TYPE}; charset=utf-8`)).status, 200);
});

test('a body of 64 KiB is accepted and one byte more is a 413 [T26]', async () => {
  const jsonOf = (size: number) => `{"token":"${'x'.repeat(size - 12)}"}`;
  const formOf = (size: number) => `token=${'x'.repeat(size - 6)}`;

  assert.equal((await send('revoke', jsonOf(65536))).status, 200);
  assert.equal((await send('revoke', formOf(65536), FORM_TYPE)).status, 200);
  for (const endpoint of ENDPOINTS) {
    await assertInvalidRequest(send(endpoint, jsonOf(65537)), 413);
    await assertInvalidRequest(send(endpoint, formOf(65537), FORM_TYPE), 413);
  }
});

test('unknown fields are ignored, and empty ones count as absent', async () => {
  const token = (await server.connect({}, browser)).refresh_token;

  const refreshed = await server.refresh(token, { audience: 'x', scope: '', code: '' });
  const empty = await server.refresh('');

  assert.equal(refreshed.status, 200);
  assert.deepEqual([empty.status, empty.body.error], [400, 'invalid_request']);
});

test('only POST is accepted; another method is a 405 that names it [T1][R1][I1]', async () => {
  for (const endpoint of ENDPOINTS) {
    // A page can be a public client, which sends a preflight request first.
    const hasPreflight = endpoint !== 'introspect';
    for (const method of ['GET', 'HEAD', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      const query = new URLSearchParams({ grant_type: 'refresh_token', client_id, client_secret, token: 'x' });
      const response = await fetch(`${server.api}/api/v1/oauth/${endpoint}?${query}`, { method });

      const isPreflight = hasPreflight && method === 'OPTIONS';
      assert.equal(response.status, isPreflight ? 204 : 405, `${method} ${endpoint}`);
      if (!isPreflight) assert.equal(response.headers.get('allow'), hasPreflight ? 'OPTIONS, POST' : 'POST');
    }
  }
});

test('no error of these endpoints may be cached, by HTTP/1.0 or newer caches [T2]', async () => {
  for (const [body, type] of [
    ['{', JSON_TYPE],
    ['{"token":1}', JSON_TYPE],
    ['{"grant_type":"password"}', JSON_TYPE],
    ['x', 'text/plain'],
  ] as const) {
    const { headers, status } = await send('token', body, type);

    assert.ok(status >= 400);
    assert.equal(headers.get('cache-control'), 'no-store', body);
    assert.equal(headers.get('pragma'), 'no-cache', body);
  }
  for (const [name, endpoint, fields] of SAME) {
    const { headers } = await asJson(endpoint, fields);
    assert.deepEqual([headers.get('cache-control'), headers.get('pragma')], ['no-store', 'no-cache'], name);
  }
});
