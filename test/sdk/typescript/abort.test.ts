import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startTestServer } from '../../support/test-server.ts';
import { LIBRARY } from './build.ts';
import { connect, createSdkApp, expired } from './connected.ts';
import { BUSINESS, fail, neverRespond, send, sendBusinesses, startFaultyServer } from './faulty-server.ts';

type FaultyServer = Awaited<ReturnType<typeof startFaultyServer>>;

/** Every call that sends something. */
const CALLS: Record<string, (server: FaultyServer, signal: AbortSignal) => Promise<unknown>> = {
  finishAuthorization: async (server, signal) => {
    const app = server.app();
    const { state, codeVerifier } = await app.beginAuthorization({ scopes: ['read:invoices'] });
    const callback = new URLSearchParams({ code: 'gac_1', state, iss: server.url });
    return app.finishAuthorization(`?${callback}`, { state, codeVerifier }, { signal });
  },
  refresh: (server, signal) => server.app().refresh('grt_1', { signal }),
  revoke: (server, signal) => server.app().revoke('grt_1', { signal }),
  introspect: (server, signal) => server.app().introspect('grt_1', { signal }),
  eventPage: (server, signal) => server.app().eventPage({ signal }),
  events: (server, signal) => Array.fromAsync(server.app().events({ signal })),
  me: (server, signal) => server.api().me({ signal }),
  businesses: (server, signal) => server.api().businesses({ signal }),
  invoicePage: (server, signal) => server.api().invoicePage(BUSINESS, { signal }),
  invoices: (server, signal) => Array.fromAsync(server.api().invoices(BUSINESS, { signal })),
};

for (const [name, call] of Object.entries(CALLS)) {
  test(`${name} ends with the reason of its signal: before it sends, and while it waits for the response`, async () => {
    const server = await startFaultyServer(neverRespond);
    const reason = new Error('The visitor has gone.');

    await assert.rejects(call(server, AbortSignal.abort(reason)), (error) => error === reason);
    assert.equal(server.requests.length, 0);

    const controller = new AbortController();
    const waiting = call(server, controller.signal);
    const arrived = async () => {
      while (server.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    };
    await arrived();
    controller.abort(reason);
    await assert.rejects(waiting, (error) => error === reason);
    assert.equal(server.requests.length, 1);
  });
}

test('a signal also ends the pause before a request is repeated', async () => {
  const server = await startFaultyServer(fail(503, { 'retry-after': '25' }));
  const controller = new AbortController();
  const waiting = server.api().businesses({ signal: controller.signal });
  while (server.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));

  // Whether the response has been read by now or not, the call ends long before the 25 seconds are over.
  controller.abort();

  await assert.rejects(waiting, { name: 'AbortError' });
  assert.equal(server.requests.length, 1);
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
  const server = await startFaultyServer(sendBusinesses);

  await assert.rejects(server.api().businesses({ signal: true as unknown as AbortSignal }), TypeError);
  assert.throws(() => server.app().events({ signal: {} as AbortSignal }), TypeError);
  assert.equal(server.requests.length, 0);
});

test('every request names the library and its version in User-Agent', async () => {
  const { version } = JSON.parse(readFileSync(join(LIBRARY, 'package.json'), 'utf8'));
  const server = await startFaultyServer(send(200, []));

  await server.api().businesses();
  await server.app().eventPage();

  for (const { headers } of server.requests) assert.equal(headers['user-agent'], `gatehouse-client-js/${version}`);
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
  assert.ok(Math.abs(Date.parse(grantedAt) - server.clock()) < 60_000, grantedAt);

  const odd = await startFaultyServer(send(200, { user: { id: 'u1' } }));
  await assert.rejects(odd.api().me(), { code: 'invalid_response' });
});
