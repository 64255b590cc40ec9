import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { createApi, createApp, GatehouseError } from '../../../sdk/typescript/src/index.ts';
import { freePort } from '../../support/ports.ts';
import { type FaultyResponse, hangUp, neverRespond, send, sendPage, startFaultyServer } from './faulty-server.ts';

const CLIENT_SECRET = 'gcs_hush-client';
const ACCESS_TOKEN = 'gat_hush-access';
const REFRESH_TOKEN = 'grt_hush-refresh';
const VERIFIER = 'hush-verifier';
const tokens = {
  accessToken: ACCESS_TOKEN,
  refreshToken: REFRESH_TOKEN,
  expiresAt: '2020-01-01T00:00:00.000Z',
  scopes: ['read:invoices'],
};

function newClients(baseUrl: string, fetch?: () => Promise<never>) {
  const redirectUri = 'https://ledger.example/callback';
  const app = createApp({ baseUrl, clientId: 'app-1', clientSecret: CLIENT_SECRET, redirectUri, timeout: 300, fetch });
  return {
    app,
    api: app.api({ tokens, save: () => {} }),
    bare: createApi({ baseUrl, accessToken: ACCESS_TOKEN, timeout: 300 }),
  };
}

function assertSilent(thing: unknown): void {
  const shown = [
    String(thing),
    JSON.stringify(thing) ?? '',
    inspect(thing),
    inspect(thing, { showHidden: true, depth: Number.POSITIVE_INFINITY, getters: true }),
    thing instanceof Error ? String(thing.stack) : '',
  ];
  for (const text of shown) assert.ok(!text.includes('hush'), text);
}

test('an app and an API show no secret, however they are inspected', () => {
  const { app, api, bare } = newClients('https://api.example.com');

  for (const thing of [app, api, bare, api.invoices('0190a4c2-0000-7000-8000-000000000001')]) assertSilent(thing);
});

const CHUNKED = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n';
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
const sendRaw =
  (bytes: string): FaultyResponse =>
  (response) =>
    response.socket?.end(bytes);

const FAULTY_RESPONSES: [name: string, faultyResponse: FaultyResponse][] = [
  ['a refusal', send(400, { error: 'invalid_grant', error_description: 'No.' })],
  ['a page', sendPage(500, '<h1>Oh</h1>')],
  ['a redirect', sendPage(302, '', { location: 'https://evil.example' })],
  ['no response', hangUp],
  ['silence', neverRespond],
  ['a chunk of no size', sendRaw(`${CHUNKED}\r\n${chunk('{"access_token":')}ZZ\r\n"gat_hush-new"}`)],
  ['a chunk that is none', sendRaw(`${CHUNKED}\r\n{"access_token": "gat_hush-new"}`)],
  ['a header that is none', sendRaw('HTTP/1.1 200 OK\r\ngat_hush-new\r\n\r\n')],
  ['no HTTP', sendRaw('{"access_token": "gat_hush-new"}')],
];

for (const [name, faultyResponse] of FAULTY_RESPONSES) {
  test(`neither an error nor its cause contains a secret: ${name}`, async () => {
    const { url } = await startFaultyServer(faultyResponse);
    await assertErrorsSilent(url);
  });
}

test('neither an error nor its cause contains a secret: an unreachable server', async () => {
  await assertErrorsSilent(`http://127.0.0.1:${await freePort()}`);
});

async function assertErrorsSilent(url: string): Promise<void> {
  const { app, api, bare } = newClients(url);
  const callback = new URLSearchParams({ code: 'gac_hush-code', state: 'state-1', iss: url });
  const calls = [
    app.finishAuthorization(`?${callback}`, { state: 'state-1', codeVerifier: VERIFIER }),
    app.finishAuthorization(`?${callback}`, { state: 'hush-state', codeVerifier: VERIFIER }),
    app.refresh(REFRESH_TOKEN),
    app.revoke(ACCESS_TOKEN),
    app.introspect(REFRESH_TOKEN),
    api.businesses(),
    bare.businesses(),
  ];
  for (const outcome of await Promise.allSettled(calls)) {
    assert.equal(outcome.status, 'rejected');
    assertSilent(outcome.reason);
  }
}

test('a cause is a plain error, however deeply it was nested and whatever properties it had', async () => {
  const innermost = Object.assign(new RangeError('Out of\nbounds'), { code: 'E_BOUNDS', data: 'gat_hush' });
  const between = Object.assign(new Error('hush', { cause: innermost }), { data: 'gat_hush' });
  const circular = new Error('Round and round');
  circular.cause = new Error('and round', { cause: circular });
  for (const [thrown, name, message, code] of [
    [new TypeError('fetch failed', { cause: between }), 'RangeError', 'Out of bounds', 'E_BOUNDS'],
    [new TypeError('fetch failed', { cause: 'gat_hush' }), 'TypeError', 'fetch failed', undefined],
    [circular, 'Error', /round/, undefined],
    ['gat_hush', 'Error', '', undefined],
  ] as const) {
    const fetch = () => Promise.reject(thrown);
    const app = newClients('https://api.example.com', fetch).app;
    const callback = new URLSearchParams({ code: 'gac_1', state: 'state-1', iss: 'https://api.example.com' });
    await assert.rejects(
      app.finishAuthorization(`?${callback}`, { state: 'state-1', codeVerifier: VERIFIER }),
      (error) => {
        assert.ok(error instanceof GatehouseError && error.cause instanceof Error);
        assert.deepEqual([error.code, error.cause.name, error.cause.cause], ['network_error', name, undefined]);
        assert.match(error.cause.message, message instanceof RegExp ? message : new RegExp(`^${message}$`));
        assert.equal((error.cause as { code?: string }).code, code);
        assertSilent(error);
        return true;
      },
    );
  }
});
