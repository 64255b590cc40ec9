import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startTestServer } from '../../support/test-server.ts';
import { LIBRARY } from './build.ts';
import { connect, createSdkApp, expired } from './connected.ts';
import { BUSINESS, fail, neverRespond, send, sendBusinesses, startFaultyServer } from './faulty-server.ts';

type StandIn = Awaited<ReturnType<typeof startFaultyServer>>;

/** Every call that sends something. */
const CALLS: Record<string, (standIn: StandIn, signal: AbortSignal) => Promise<unknown>> = {
  finishAuthorization: async (standIn, signal) => {
    const app = standIn.app();
    const { state, codeVerifier } = await app.beginAuthorization({ scopes: ['read:invoices'] });
    const callback = new URLSearchParams({ code: 'gac_1', state, iss: standIn.url });
    return app.finishAuthorization(`?${callback}`, { state, codeVerifier }, { signal });
  },
  refresh: (standIn, signal) => standIn.app().refresh('grt_1', { signal }),
  revoke: (standIn, signal) => standIn.app().revoke('grt_1', { signal }),
  introspect: (standIn, signal) => standIn.app().introspect('grt_1', { signal }),
  eventPage: (standIn, signal) => standIn.app().eventPage({ signal }),
  events: (standIn, signal) => Array.fromAsync(standIn.app().events({ signal })),
  me: (standIn, signal) => standIn.api().me({ signal }),
  businesses: (standIn, signal) => standIn.api().businesses({ signal }),
  invoicePage: (standIn, signal) => standIn.api().invoicePage(BUSINESS, { signal }),
  invoices: (standIn, signal) => Array.fromAsync(standIn.api().invoices(BUSINESS, { signal })),
};

for (const [name, call] of Object.entries(CALLS)) {
  test(`${name} ends with the reason of its signal: before it sends, and while it waits for the response`, async () => {
    const standIn = await startFaultyServer(neverRespond);
    const reason = new Error('The visitor has gone.');

    await assert.rejects(call(standIn, AbortSignal.abort(reason)), (error) => error === reason);
    assert.equal(standIn.requests.length, 0);

    const controller = new AbortController();
    const waiting = call(standIn, controller.signal);
    const arrived = async () => {
      while (standIn.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    };
    await arrived();
    controller.abort(reason);
    await assert.rejects(waiting, (error) => error === reason);
    assert.equal(standIn.requests.length, 1);
  });
}

test('a signal also ends the pause before a request is repeated', async () => {
  const standIn = await startFaultyServer(fail(503, { 'retry-after': '25' }));
  const controller = new AbortController();
  const waiting = standIn.api().businesses({ signal: controller.signal });
  while (standIn.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));

  // Whether the response has been read by now or not, the call ends long before the 25 seconds are over.
  controller.abort();

  await assert.rejects(waiting, { name: 'AbortError' });
  assert.equal(standIn.requests.length, 1);
});

test('an aborted call does not abort the refresh that others wait for', async () => {
  const server = await startTestServer();
  const tokens = expired(await connect(server));
  const saved: unknown[] = [];
  const api = createSdkApp(server).api({ tokens, save: (newer) => saved.push(newer) });
  const controller = new AbortController();

  const givenUp = api.businesses({ signal: controller.signal });
  const other = api.businesses();
  controller.abort();

  await assert.rejects(givenUp, { name: 'AbortError' });
  assert.equal((await other).length, 1);
  assert.equal(saved.length, 1);
});

test('a signal that is not an AbortSignal is a TypeError', async () => {
  const standIn = await startFaultyServer(sendBusinesses);

  await assert.rejects(standIn.api().businesses({ signal: true as unknown as AbortSignal }), TypeError);
  assert.throws(() => standIn.app().events({ signal: {} as AbortSignal }), TypeError);
  assert.equal(standIn.requests.length, 0);
});

test('every request names the library and its version in User-Agent', async () => {
  const { version } = JSON.parse(readFileSync(join(LIBRARY, 'package.json'), 'utf8'));
  const standIn = await startFaultyServer(send(200, []));

  await standIn.api().businesses();
  await standIn.app().eventPage();

  for (const { headers } of standIn.requests) assert.equal(headers['user-agent'], `gatehouse-client-js/${version}`);
});

test('me() returns the user and business of the token', async () => {
  const server = await startTestServer();
  const api = createSdkApp(server).api({ tokens: await connect(server), save: () => {} });

  const { grantedAt, ...rest } = await api.me();

  assert.deepEqual(rest, {
    user: { id: server.ada.id, name: server.ada.name, email: server.ada.email, emailVerified: true },
    business: { id: server.acme.id, name: 'Acme' },
    app: { id: server.ledger.id, name: server.ledger.name },
    scopes: ['read:invoices'],
    connectedFor: 'user',
  });
  assert.ok(Math.abs(grantedAt - server.clock()) < 60_000, String(grantedAt));

  const odd = await startFaultyServer(send(200, { user: { id: 'u1' } }));
  await assert.rejects(odd.api().me(), { code: 'invalid_response' });
});
