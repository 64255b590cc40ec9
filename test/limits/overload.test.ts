import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { startTestServer } from '../support/test-server.ts';

/** The event loop is delayed by twice as much as the limit allows. */
const LIMIT = { maxEventLoopDelay: 40, sampleInterval: 200 };
const DELAY = 2 * LIMIT.maxEventLoopDelay;
const SEVERAL_SAMPLES = 3 * LIMIT.sampleInterval;

/** Delays every iteration of the event loop, until the returned function is called. */
function delayEventLoop(milliseconds: number): () => void {
  let immediate = setImmediate(function repeat() {
    spin(milliseconds);
    immediate = setImmediate(repeat);
  });
  return () => clearImmediate(immediate);
}

function spin(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}

async function until(isTrue: () => Promise<boolean>): Promise<boolean> {
  for (let attempts = 0; attempts < 100; attempts++, await setTimeout(50)) if (await isTrue()) return true;
  return false;
}

/**
 * The first response that is a 503, or the last of all. A stall that takes a whole interval is not overload, so on a busy
 * machine a request may be served in between.
 */
async function untilRejected<Response extends { status: number }>(send: () => Promise<Response>): Promise<Response> {
  let response = await send();
  await until(async () => {
    if (response.status !== 503) response = await send();
    return response.status === 503;
  });
  return response;
}

test('an overloaded server responds 503 with Retry-After, health checks still succeed, and it recovers', async () => {
  const server = await startTestServer();
  const { access_token, refresh_token } = await server.connect();
  await server.restart({ settings: { overload: { ...LIMIT, minRequests: 1 } } });

  const stop = delayEventLoop(DELAY);
  const rejected = [
    await untilRejected(() => server.listInvoices(access_token)),
    await untilRejected(() => server.refresh(refresh_token)),
  ];
  const page = await untilRejected(() => fetch(`${server.web}/sign-in`));
  const health = await Promise.all(['/healthz', '/readyz'].map((path) => fetch(server.api + path)));
  stop();
  const recovered = await until(async () => (await server.listInvoices(access_token)).status === 200);
  await server.restart();
  const after = await server.refresh(refresh_token);

  for (const { status, headers, body } of rejected) {
    assert.deepEqual([status, body.error, headers.get('retry-after')], [503, 'temporarily_unavailable', '1']);
  }
  assert.deepEqual([page.status, page.headers.get('retry-after')], [503, '1']);
  assert.match(await page.text(), /Try again in a moment/);
  assert.deepEqual(
    health.map(({ status }) => status),
    [200, 200],
  );
  assert.ok(recovered);
  assert.equal(after.status, 200);
});

test('a single stall of the event loop is not overload', async () => {
  const server = await startTestServer();
  const { access_token } = await server.connect();
  await server.restart({ settings: { overload: { maxEventLoopDelay: 500, sampleInterval: 1000, minRequests: 1 } } });

  const statuses: number[] = [];
  for (let requests = 0; requests < 3; requests++) {
    spin(300);
    await setTimeout(900);
    statuses.push((await server.listInvoices(access_token)).status);
  }

  assert.deepEqual(statuses, [200, 200, 200]);
});

test('few requests are served, however slow the machine', async () => {
  const server = await startTestServer();
  const { access_token } = await server.connect();
  await server.restart({ settings: { overload: { ...LIMIT, minRequests: 20 } } });
  const stop = delayEventLoop(DELAY);
  await setTimeout(SEVERAL_SAMPLES);

  const responses = await Promise.all(Array.from({ length: 5 }, () => server.listInvoices(access_token)));
  stop();

  assert.deepEqual(
    responses.map(({ status }) => status),
    [200, 200, 200, 200, 200],
  );
});
