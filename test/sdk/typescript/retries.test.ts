import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fail, hangUp, neverRespond, send, sendBusinesses, sendTokens, startFaultyServer } from './faulty-server.ts';

type StandIn = Awaited<ReturnType<typeof startFaultyServer>>;

/** What may be repeated, and the good response that it waits for. */
const REPEATABLE = [
  ['a read', sendBusinesses, (standIn: StandIn) => standIn.api().businesses()],
  ['a refresh', sendTokens, (standIn: StandIn) => standIn.app().refresh('grt_1')],
  ['a revocation', send(200, {}), (standIn: StandIn) => standIn.app().revoke('gat_1')],
  ['an introspection', send(200, { active: false }), (standIn: StandIn) => standIn.app().introspect('gat_1')],
] as const;

for (const [what, good, call] of REPEATABLE) {
  test(`${what} is repeated after 429, 502, 503 and 504`, async () => {
    for (const status of [429, 502, 503, 504]) {
      const standIn = await startFaultyServer(fail(status), good);
      await call(standIn);
      assert.equal(standIn.requests.length, 2, String(status));
      assert.deepEqual(standIn.requests[1]?.body, standIn.requests[0]?.body);
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
      const standIn = await startFaultyServer(fail(status), good);
      await assert.rejects(call(standIn), { status });
      assert.equal(standIn.requests.length, 1, String(status));
    }
  });
}

test('an exchange is never repeated after no response, nor after a server error', async () => {
  for (const misbehaviour of [hangUp, fail(500), fail(502), fail(503), fail(504)]) {
    const standIn = await startFaultyServer(misbehaviour, sendTokens);
    await assert.rejects(standIn.exchange(), { name: 'GatehouseError' });
    assert.equal(standIn.requests.length, 1);
  }
  const standIn = await startFaultyServer(neverRespond, sendTokens);
  await assert.rejects(standIn.exchange({ timeout: 50 }), { code: 'timeout', status: undefined });
  assert.ok(standIn.requests.length <= 1);
});

test('a read that took too long is repeated', async () => {
  const standIn = await startFaultyServer(neverRespond, sendBusinesses);

  assert.equal((await standIn.api({ timeout: 1_000 }).businesses()).length, 1);
  assert.equal(standIn.requests.length, 2);
});

test('an exchange is repeated after 429, which means that it was not processed', async () => {
  const standIn = await startFaultyServer(fail(429), fail(429), sendTokens);

  assert.equal((await standIn.exchange()).accessToken, 'gat_2');
  assert.equal(standIn.requests.length, 3);
});

test('without Retry-After there is a short default pause', async () => {
  const standIn = await startFaultyServer(fail(503, {}), sendBusinesses);

  assert.equal((await standIn.api().businesses()).length, 1);
});

test('Retry-After may be a date', async () => {
  const past = new Date(Date.now() - 60_000).toUTCString();
  const standIn = await startFaultyServer(fail(503, { 'retry-after': past }), sendBusinesses);
  assert.equal((await standIn.api().businesses()).length, 1);

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
    const standIn = await startFaultyServer(fail(400, { 'retry-after': header }));
    await assert.rejects(standIn.api().businesses(), { status: 400, retryAfter: undefined }, header);
  }
});

test('no call waits longer than half a minute: the error says for how long to wait', async () => {
  const standIn = await startFaultyServer(fail(429, { 'retry-after': '31' }));

  await assert.rejects(standIn.api().businesses(), { status: 429, retryAfter: 31 });
  assert.equal(standIn.requests.length, 1);
});

test('a refresh waits no longer than its retry window', async () => {
  const standIn = await startFaultyServer(fail(429, { 'retry-after': '25' }));

  await assert.rejects(standIn.app().refresh('grt_1'), { status: 429, retryAfter: 25 });
  assert.equal(standIn.requests.length, 1);
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
  const standIn = await startFaultyServer(sendTokens, sendTokens, sendTokens, sendBusinesses, sendBusinesses);
  const given = t.mock.method(AbortSignal, 'timeout');

  await standIn.app().refresh('grt_1');
  await standIn.app({ timeout: 5_000 }).refresh('grt_1');
  await standIn.exchange({ timeout: 60_000 });
  await standIn.api().businesses();
  await standIn.api({ timeout: 2_000.5 }).businesses();

  const limits = given.mock.calls.map(({ arguments: [limit] }) => limit);
  assert.deepEqual(limits, [8_000, 5_000, 60_000, 30_000, 2_001]);
});
