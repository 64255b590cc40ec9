import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createApi } from '../../../sdk/typescript/src/index.ts';
import { freePort } from '../../support/ports.ts';
import {
  BUSINESS,
  type FaultyResponse,
  neverRespond,
  send,
  sendBusinesses,
  sendPage,
  startFaultyServer,
} from './faulty-server.ts';

const MEBIBYTE = 1024 * 1024;

const pad =
  (mebibytes: number): FaultyResponse =>
  (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    for (let i = 0; i < mebibytes * 4; i += 1) response.write(' '.repeat(MEBIBYTE / 4));
    response.end('[]');
  };

/** Sends one byte after another, and never ends. */
const drip: FaultyResponse = (response) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  const dripping = setInterval(() => response.write(' '), 5);
  response.on('close', () => clearInterval(dripping));
};

test('an error has all fields of the response', async () => {
  const body = {
    error: 'invalid_grant',
    error_description: 'The user disconnected the app.',
    error_uri: 'https://api.example.com/docs/errors/invalid_grant',
    reason: 'disconnected_by_user',
  };
  const faultyServer = await startFaultyServer(send(400, body, { 'x-request-id': 'req-7', 'retry-after': '3' }));

  await assert.rejects(faultyServer.app().refresh('grt_1'), {
    name: 'GatehouseError',
    message: 'invalid_grant: The user disconnected the app. (request req-7)',
    status: 400,
    code: 'invalid_grant',
    reason: 'disconnected_by_user',
    description: 'The user disconnected the app.',
    uri: 'https://api.example.com/docs/errors/invalid_grant',
    requestId: 'req-7',
    retryAfter: 3,
  });
});

test('an error with only a code and a description has the code as its reason', async () => {
  const faultyServer = await startFaultyServer(send(403, { error: 'forbidden', error_description: '', reason: null }));

  await assert.rejects(faultyServer.api().businesses(), {
    message: 'forbidden',
    status: 403,
    code: 'forbidden',
    reason: 'forbidden',
    description: '',
    uri: undefined,
    requestId: undefined,
    retryAfter: undefined,
  });
});

test('only an error with a lower-case code and a description is from Gatehouse: other servers have errors too', async () => {
  const foreign = [
    { statusCode: 404, error: 'Not Found', message: 'Route GET:/api/v1/businesses not found' },
    { error: 'Not Found', error_description: 'Nothing is here.' },
    { error: 'not_found' },
    { error: 'not_found', error_description: 7 },
    { error: 'not_found\n', error_description: 'Nothing is here.' },
    { error: { code: 'not_found' }, error_description: 'Nothing is here.' },
  ];
  for (const body of foreign) {
    const faultyServer = await startFaultyServer(send(404, body));
    const description = 'The response with status 404 is not from Gatehouse. Is baseUrl right?';
    await assert.rejects(faultyServer.api().businesses(), { code: 'invalid_response', status: 404, description });
  }
});

test('control characters in a response are removed, in every field and in the message', async () => {
  const body = {
    error: 'odd',
    error_description: 'one\r\ntwo\u0000three\u001b[2J\u2028four\u0085five',
    error_uri: 'https://api.example.com/\r\nset-cookie: a=b',
    reason: 'so\nso',
  };
  const faultyServer = await startFaultyServer(send(400, body, { 'x-request-id': 'req\t7' }));

  await assert.rejects(faultyServer.api().businesses(), {
    message: 'odd: one two three [2J four five (request req 7)',
    reason: 'so so',
    description: 'one two three [2J four five',
    uri: 'https://api.example.com/ set-cookie: a=b',
    requestId: 'req 7',
  });
});

test('texts of a response are truncated at a maximum length, and never within a character', async () => {
  const body = {
    error: 'x'.repeat(600),
    error_description: `${'d'.repeat(499)}\u{1f511}`,
    error_uri: `https://api.example.com/${'u'.repeat(3000)}`,
    reason: 'r'.repeat(600),
  };
  const faultyServer = await startFaultyServer(send(400, body, { 'x-request-id': 'i'.repeat(600) }));

  await assert.rejects(faultyServer.api().businesses(), {
    code: 'x'.repeat(500),
    reason: 'r'.repeat(500),
    description: `${'d'.repeat(499)} `,
    uri: `https://api.example.com/${'u'.repeat(2000 - 24)}`,
    requestId: 'i'.repeat(500),
  });
});

test('a response that is not our JSON is unreadable, with its status', async () => {
  const responses: [number, FaultyResponse][] = [
    [200, sendPage(200, '<h1>Sign in to the network</h1>')],
    [403, sendPage(403, '<h1>Forbidden</h1>')],
    [404, send(404, { message: 'no such route' })],
    [400, send(400, 'invalid_grant')],
    [400, send(400, null)],
    [500, sendPage(500, '')],
    [200, sendPage(200, '')],
    [200, send(200, { error: 'invalid_grant' })],
    [200, send(200, [{ id: BUSINESS }])],
    [200, send(200, [null])],
    [200, send(200, null)],
  ];
  for (const [status, faultyResponse] of responses) {
    const faultyServer = await startFaultyServer(faultyResponse);
    await assert.rejects(faultyServer.api().businesses(), {
      code: 'invalid_response',
      reason: 'invalid_response',
      status,
    });
    assert.equal(faultyServer.requests.length, 1);
  }
});

test('an error page of a proxy is unreadable only if it persists', async () => {
  const faultyServer = await startFaultyServer(sendPage(502, '<h1>Bad gateway</h1>', { 'retry-after': '0' }));
  await assert.rejects(faultyServer.api().businesses(), { code: 'invalid_response', status: 502 });
  assert.equal(faultyServer.requests.length, 3);
});

test('tokens, introspections and invoices of another shape are unreadable', async () => {
  const tokens = { access_token: 'gat_2', token_type: 'bearer', expires_in: 3600, refresh_token: 'grt_2', scope: 'a' };
  const wrongs = [
    { access_token: 7 },
    { refresh_token: 'with space' },
    { expires_in: '3600' },
    { expires_in: 1e300 },
    { scope: 7 },
  ];
  for (const wrong of wrongs) {
    const faultyServer = await startFaultyServer(send(200, { ...tokens, ...wrong }));
    await assert.rejects(faultyServer.app().refresh('grt_1'), { code: 'invalid_response', status: 200 });
  }
  const seen = {
    active: true,
    token_type: 'bearer',
    scope: 'a',
    client_id: 'c',
    sub: 'u',
    business_id: 'b',
    iat: 1,
    exp: 2,
  };
  for (const wrong of [{}, { active: 'yes' }, { active: true, exp: 1 }, { ...seen, exp: 1e300 }]) {
    const faultyServer = await startFaultyServer(send(200, wrong));
    await assert.rejects(faultyServer.app().introspect('gat_1'), { code: 'invalid_response', status: 200 });
  }
  const rounded = { id: '1', number: 'INV-1', status: 'SENT', total: 1234.5, currency: 'GBP', customerId: 'c' };
  const faultyServer = await startFaultyServer(send(200, [rounded]));
  await assert.rejects(faultyServer.api().invoicePage(BUSINESS), { code: 'invalid_response', status: 200 });
});

test('a redirect is never followed, and is an error that says so', async () => {
  const elsewhere = await startFaultyServer(sendBusinesses);
  for (const status of [301, 302, 303, 307, 308]) {
    const faultyServer = await startFaultyServer(sendPage(status, '', { location: `${elsewhere.url}/` }));
    const rejected = { code: 'invalid_response', status, description: /redirects are never followed/ };
    await assert.rejects(faultyServer.api().businesses(), rejected);
    await assert.rejects(faultyServer.app().refresh('grt_1'), rejected);
    assert.equal(faultyServer.requests.length, 2);
  }
  assert.equal(elsewhere.requests.length, 0);
});

test('a response of 4 MiB is read, and a larger one is rejected', async () => {
  const large = await startFaultyServer(pad(3.75));
  assert.deepEqual(await large.api().businesses(), []);

  const larger = await startFaultyServer(pad(16));
  await assert.rejects(larger.api().businesses(), { code: 'response_too_large', status: 200 });
  assert.equal(larger.requests.length, 1);
});

test('a server that never responds, or never ends its response, times out', async () => {
  for (const faultyResponse of [neverRespond, drip]) {
    const faultyServer = await startFaultyServer(faultyResponse);
    const rejected = {
      code: 'timeout',
      status: undefined,
      message: 'timeout: There was no complete response within 0.06 s.',
    };
    await assert.rejects(faultyServer.exchange({ timeout: 60 }), rejected);
    await assert.rejects(faultyServer.api({ timeout: 60 }).businesses(), rejected);
  }
});

test('a body that ignores the signal still times out', async () => {
  let isLeft = false;
  const cancel = () => {
    isLeft = true;
  };
  const fetch = async () => new Response(new ReadableStream({ cancel }));
  // Keeps the process running, like the socket of a real response; the timer of a signal does not.
  const socket = setInterval(() => {}, 1000);

  const api = createApi({ baseUrl: 'https://api.example.com', accessToken: 'gat_1', timeout: 20, fetch });
  await assert.rejects(api.businesses(), { code: 'timeout' });
  clearInterval(socket);
  assert.equal(isLeft, true);
});

test('an unreachable server is a network error, with the name, message and code of its innermost cause', async () => {
  const baseUrl = `http://127.0.0.1:${await freePort()}`;

  await assert.rejects(createApi({ baseUrl, accessToken: 'gat_1' }).businesses(), (error: Error & { code: string }) => {
    assert.equal(error.code, 'network_error');
    assert.equal(error.message, `network_error: There was no response from ${baseUrl} (ECONNREFUSED).`);
    assert.ok(error.cause instanceof Error);
    const { name, message, cause, ...rest } = error.cause;
    assert.deepEqual([name, cause, rest], ['Error', undefined, { code: 'ECONNREFUSED' }]);
    assert.match(message, /^connect ECONNREFUSED 127\.0\.0\.1:\d+$/);
    return true;
  });
});
