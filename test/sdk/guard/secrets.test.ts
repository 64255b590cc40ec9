import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, mock, test } from 'node:test';
import { inspect } from 'node:util';
import { createGuard, GuardError } from '../../../sdk/guard/src/index.ts';
import { startTestServer } from '../../support/test-server.ts';
import { guardFor } from './protected-apis.ts';

const server = await startTestServer();
const platform = await server.addApp({ name: 'Platform API' });
await server.listForIntrospection(platform);
const { access_token } = await server.connect();
const headers = { authorization: `Bearer ${access_token}`, 'x-business-id': server.acme.id };

async function errorOf(checked: Promise<unknown>): Promise<GuardError> {
  const error = await checked.then(
    () => undefined,
    (thrown) => thrown,
  );
  assert.ok(error instanceof GuardError);
  return error;
}

/** Repeats what it received, like a careless proxy. */
async function startEcho(status: number): Promise<string> {
  const echo = createServer(async (request, response) => {
    const body = (await request.setEncoding('utf8').toArray()).join('');
    const text = `${request.headers.authorization} ${body}`;
    response.writeHead(status, { 'content-type': 'application/json', location: 'http://127.0.0.1:1/' });
    response.end(JSON.stringify({ active: true, error: text, reason: text, error_description: text }));
  });
  await new Promise<void>((resolve) => {
    echo.listen(0, '127.0.0.1', resolve);
  });
  after(() => echo.close());
  return `http://127.0.0.1:${(echo.address() as AddressInfo).port}`;
}

test('wrong credentials are reported to the operator as such, and to the caller as 503', async () => {
  const { guard, errors } = guardFor(server, { id: platform.id, secret: 'gcs_wrong' });

  const error = await errorOf(guard.check(headers, 'read:invoices'));

  assert.deepEqual([error.status, error.body.reason], [503, 'temporarily_unavailable']);
  assert.deepEqual(
    errors.map(({ message }) => message),
    ['Introspection: status 401, invalid_client, credentials_wrong.'],
  );
});

test('without onError, the reason of a 503 is written to the console', async () => {
  const write = mock.method(console, 'error', () => {});
  const { guard } = guardFor(server, { id: platform.id, secret: 'gcs_wrong' }, { onError: undefined });
  await errorOf(guard.check(headers, 'read:invoices'));
  mock.restoreAll();

  const lines = write.mock.calls.map(({ arguments: [line] }) => line);
  assert.deepEqual(lines, ['@gatehouse/guard: Introspection: status 401, invalid_client, credentials_wrong.']);
});

test('no error contains a token or a secret, whatever the issuer responds', async () => {
  const logged: unknown[] = [];
  for (const status of [200, 302, 400, 401, 429, 500, 503]) {
    const { guard, errors } = guardFor(server, platform, { issuer: await startEcho(status) });
    const error = await errorOf(guard.check(headers, 'read:invoices'));
    assert.equal(error.status, 503, `${status}`);
    assert.equal(errors.length, 1);
    logged.push(error, error.body, error.headers, ...errors);
  }
  logged.push(await errorOf(guardFor(server, platform).guard.check(headers, 'read:reports')));

  const text = inspect(logged, { depth: null, showHidden: true });
  for (const secret of [access_token, platform.secret]) assert.equal(text.includes(secret), false);
});

test('a redirect is not followed: secrets are sent to the issuer only', async () => {
  const { guard, sent } = guardFor(server, platform, { issuer: await startEcho(302) });
  assert.equal((await errorOf(guard.check(headers, 'read:invoices'))).status, 503);
  assert.equal(sent.length, 1);
});

test('an issuer that does not respond in time is a 503', async () => {
  const silent = createServer(() => {});
  await new Promise<void>((resolve) => {
    silent.listen(0, '127.0.0.1', resolve);
  });
  after(() => {
    silent.closeAllConnections();
    silent.close();
  });
  const issuer = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const { guard, errors } = guardFor(server, platform, { issuer, timeout: 20 });

  assert.equal((await errorOf(guard.check(headers, 'read:invoices'))).status, 503);
  assert.equal(errors[0]?.message, `No response from ${issuer} (TimeoutError).`);
});

test('a rate limit of Gatehouse is a 503 with its Retry-After', async () => {
  const response = () =>
    new Response('{"error":"too_many_requests"}', { status: 429, headers: { 'retry-after': '12' } });
  const { guard } = guardFor(server, platform, { fetch: async () => response() });

  const error = await errorOf(guard.check(headers, 'read:invoices'));

  assert.deepEqual([error.status, error.headers['retry-after']], [503, '12']);
});

test('wrong options are rejected at once, in a sentence that names the option and not its value', () => {
  const good = { issuer: server.api, clientId: platform.id, clientSecret: platform.secret };
  const wrong = {
    issuer: ['', 'api.example.com', 'http://api.example.com', 'https://api.example.com/path', 'https://a@b.example'],
    clientId: ['', 'two words', undefined],
    clientSecret: ['', 'gcs_ secret', 7],
    cacheSeconds: [-1, 61, Number.NaN, '15'],
    maxEntries: [0, Number.POSITIVE_INFINITY],
    timeout: [0, 60_001],
  };
  for (const [name, values] of Object.entries(wrong)) {
    for (const value of values) {
      assert.throws(() => createGuard({ ...good, [name]: value }), new RegExp(`^TypeError: ${name} must be [^"]*\\.$`));
    }
  }
  for (const scope of ['', 'read:invoices write:invoices', '"']) {
    assert.throws(() => createGuard(good).fastify(scope), /^TypeError: scope must be one scope name\.$/);
    assert.throws(() => createGuard(good).express(scope), /^TypeError: scope must be one scope name\.$/);
  }
});
