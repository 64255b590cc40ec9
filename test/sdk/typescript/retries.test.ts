import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fail, hangUp, neverRespond, send, sendBusinesses, sendTokens, startFaultyServer } from './faulty-server.ts';

type FaultyServer = Awaited<ReturnType<typeof startFaultyServer>>;

/** What may be repeated, and the good response that it waits for. */
const REPEATABLE = [
  ['a read', sendBusinesses, (server: FaultyServer) => server.api().businesses()],
  ['a refresh', sendTokens, (server: FaultyServer) => server.app().refresh('grt_1')],
  ['a revocation', send(200, {}), (server: FaultyServer) => server.app().revoke('gat_1')],
  ['an introspection', send(200, { active: false }), (server: FaultyServer) => server.app().introspect('gat_1')],
] as const;

for (const [what, good, call] of REPEATABLE) {
  test(`${what} is repeated after 408, 429, 502, 503 and 504`, async () => {
    for (const status of [408, 429, 502, 503, 504]) {
      const server = await startFaultyServer(fail(status), good);
      await call(server);
      assert.equal(server.requests.length, 2, String(status));
      assert.deepEqual(server.requests[1]?.body, server.requests[0]?.body);
    }
  });

  test(`${what} is repeated after no response, at most twice`, async () => {
    const mended = await startFaultyServer(hangUp, good);
    await call(mended);
    assert.equal(mended.requests.length, 2);

    const broken = await startFaultyServer(fail(503));
    await assert.rejects(call(broken), { status: 503, code: 'temporarily_unavailable', retryAfter: 0 });
    assert.equal(broken.requests.length, 3);
  });

  test(`${what} is not repeated after any other error`, async () => {
    for (const status of [400, 401, 403, 404, 500]) {
      const server = await startFaultyServer(fail(status), good);
      await assert.rejects(call(server), { status });
      assert.equal(server.requests.length, 1, String(status));
    }
  });
}

test('an exchange is never repeated after no response, nor after a server error', async () => {
  for (const faultyResponse of [hangUp, fail(408), fail(500), fail(502), fail(503), fail(504)]) {
    const server = await startFaultyServer(faultyResponse, sendTokens);
    await assert.rejects(server.exchange(), { name: 'GatehouseError' });
    assert.equal(server.requests.length, 1);
  }
  const server = await startFaultyServer(neverRespond, sendTokens);
  await assert.rejects(server.exchange({ timeout: 50 }), { code: 'timeout', status: undefined });
  assert.ok(server.requests.length <= 1);
});

test('a read that took too long is repeated', async () => {
  const server = await startFaultyServer(neverRespond, sendBusinesses);

  assert.equal((await server.api({ timeout: 1_000 }).businesses()).length, 1);
  assert.equal(server.requests.length, 2);
});

test('an exchange is repeated after 429, which means that it was not processed', async () => {
  const server = await startFaultyServer(fail(429), fail(429), sendTokens);

  assert.equal((await server.exchange()).accessToken, 'gat_2');
  assert.equal(server.requests.length, 3);
});

test('without Retry-After there is a short default pause', async () => {
  const server = await startFaultyServer(fail(503, {}), sendBusinesses);

  assert.equal((await server.api().businesses()).length, 1);
});

test('Retry-After may be a date', async () => {
  const past = new Date(Date.now() - 60_000).toUTCString();
  const server = await startFaultyServer(fail(503, { 'retry-after': past }), sendBusinesses);
  assert.equal((await server.api().businesses()).length, 1);

  const later = new Date(Date.now() + 3600_000).toUTCString();
  await assert.rejects(
    (await startFaultyServer(fail(503, { 'retry-after': later }))).api().businesses(),
    ({ retryAfter }) => {
      assert.ok(retryAfter > 3500 && retryAfter <= 3601, String(retryAfter));
      return true;
    },
  );
});

test('an invalid Retry-After is ignored', async () => {
  for (const header of ['soon', '-1', '1.5', '', 'Tomorrow GMT']) {
    const server = await startFaultyServer(fail(400, { 'retry-after': header }));
    await assert.rejects(server.api().businesses(), { status: 400, retryAfter: undefined }, header);
  }
});

test('no call waits longer than half a minute: the error says for how long to wait', async () => {
  const server = await startFaultyServer(fail(429, { 'retry-after': '31' }));

  await assert.rejects(server.api().businesses(), { status: 429, retryAfter: 31 });
  assert.equal(server.requests.length, 1);
});

test('a refresh waits no longer than its retry window', async () => {
  const server = await startFaultyServer(fail(429, { 'retry-after': '25' }));

  await assert.rejects(server.app().refresh('grt_1'), { status: 429, retryAfter: 25 });
  assert.equal(server.requests.length, 1);
});

test('no refresh attempt begins later than 20 s after the first; a read has no such limit', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() });
  const passTime = (status: number, milliseconds: number) => (response: Parameters<typeof hangUp>[0]) => {
    t.mock.timers.setTime(Date.now() + milliseconds);
    fail(status)(response);
  };
  const soon = await startFaultyServer(passTime(503, 19_999), sendTokens);
  await soon.app().refresh('grt_1');
  const late = await startFaultyServer(passTime(503, 20_001), sendTokens);
  await assert.rejects(late.app().refresh('grt_1'), { status: 503 });
  assert.equal(late.requests.length, 1);
  const unhurried = await startFaultyServer(passTime(503, 20_001), sendBusinesses);
  assert.equal((await unhurried.api().businesses()).length, 1);
});

test('an attempt to refresh has 8 s, or the timeout if that is shorter; any other attempt has the timeout', async (t) => {
  const server = await startFaultyServer(sendTokens, sendTokens, sendTokens, sendBusinesses, sendBusinesses);
  const timeout = t.mock.method(AbortSignal, 'timeout');

  await server.app().refresh('grt_1');
  await server.app({ timeout: 5_000 }).refresh('grt_1');
  await server.exchange({ timeout: 60_000 });
  await server.api().businesses();
  await server.api({ timeout: 2_000.5 }).businesses();

  const limits = timeout.mock.calls.map(({ arguments: [limit] }) => limit);
  assert.deepEqual(limits, [8_000, 5_000, 60_000, 30_000, 2_001]);
});
