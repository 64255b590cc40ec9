import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Tokens } from '../../../sdk/typescript/src/index.ts';
import { MINUTE } from '../../../src/lib/clock.ts';
import { startTestServer } from '../../support/test-server.ts';
import { connect, createSdkApp, expired, inSeconds, passThrough, recordFetch } from './connected.ts';

const server = await startTestServer();
const REFRESH = 'token refresh_token';

/** A new grant, and an app whose requests are recorded. */
async function newConnection() {
  const tokens = await connect(server);
  const { requests, fetch } = recordFetch(passThrough);
  return { tokens, requests, app: createSdkApp(server, { fetch }) };
}

const refreshesIn = (requests: string[]) => requests.filter((name) => name === REFRESH).length;

/** A token store that the workers of an app share. */
function newStore(tokens?: Tokens) {
  const saved: Tokens[] = tokens ? [tokens] : [];
  return { saved, save: async (newer: Tokens) => void saved.push(newer), load: async () => saved.at(-1) };
}

test('a token that is good for more than a minute is used as it is', async () => {
  const { app, tokens, requests } = await newConnection();
  const { saved, save } = newStore();

  await app.api({ tokens: { ...tokens, expiresAt: inSeconds(65) }, save }).businesses();

  assert.deepEqual([requests, saved], [['businesses'], []]);
});

test('a token that is within a minute of its end is refreshed before it is used', async () => {
  const { app, tokens, requests } = await newConnection();
  const { saved, save } = newStore();
  const api = app.api({ tokens: { ...tokens, expiresAt: inSeconds(59) }, save });

  await api.businesses();
  await api.businesses();

  assert.deepEqual(requests, [REFRESH, 'businesses', 'businesses']);
  assert.equal(saved.length, 1);
  assert.notEqual(saved[0]?.refreshToken, tokens.refreshToken);
});

test('tokens with a number, as 0.1.0 stored them, are read, and their successors have text', async () => {
  const { app, tokens, requests } = await newConnection();
  const { saved, save } = newStore();
  const newer = { ...(await app.refresh(tokens.refreshToken)), expiresAt: Date.now() + 65_000 };

  await app.api({ tokens: newer, save }).businesses();
  await app.api({ tokens: expired(tokens), save, load: () => newer }).businesses();
  await app.api({ tokens: { ...newer, expiresAt: Date.now() + 59_000 }, save }).businesses();

  assert.deepEqual(requests, [REFRESH, 'businesses', 'businesses', REFRESH, 'businesses']);
  assert.deepEqual(
    saved.map(({ expiresAt }) => typeof expiresAt),
    ['string'],
  );
});

test('100 callers with an expired token cause one refresh, and all of them succeed', async () => {
  const { app, tokens, requests } = await newConnection();
  const { saved, save } = newStore();
  const api = app.api({ tokens: expired(tokens), save });

  const responses = await Promise.all(Array.from({ length: 100 }, () => api.businesses()));

  assert.ok(responses.every(([business]) => business?.id === server.acme.id));
  assert.equal(refreshesIn(requests), 1);
  assert.equal(saved.length, 1);
});

test('100 callers whose token was revoked cause one refresh, and each call is repeated once', async () => {
  const { app, tokens, requests } = await newConnection();
  await app.revoke(tokens.accessToken);
  const api = app.api({ tokens, save: newStore().save });
  requests.length = 0;

  await Promise.all(Array.from({ length: 100 }, () => api.businesses()));

  assert.equal(refreshesIn(requests), 1);
  assert.equal(requests.length, 201);
});

test('a call that was rejected while its token was replaced is repeated with the newer one', async () => {
  const { tokens } = await newConnection();
  await createSdkApp(server).revoke(tokens.accessToken);
  const late = Promise.withResolvers<void>();
  let calls = 0;
  const { requests, fetch } = recordFetch(async (name, send) => {
    const response = await send();
    calls += name === 'businesses' ? 1 : 0;
    if (name === 'businesses' && calls === 1) await late.promise;
    return response;
  });
  const api = createSdkApp(server, { fetch }).api({ tokens, save: newStore().save });

  const slow = api.businesses();
  await api.businesses();
  late.resolve();

  assert.equal((await slow).length, 1);
  assert.deepEqual(requests.filter((name) => name === REFRESH).length, 1);
});

test('a token that is rejected again after a refresh is an error, without a second refresh', async () => {
  const { tokens } = await newConnection();
  const { requests, fetch } = recordFetch(async (name, send) =>
    name === 'businesses'
      ? Response.json({ error: 'invalid_token', error_description: 'It has ended.' }, { status: 401 })
      : send(),
  );
  const api = createSdkApp(server, { fetch }).api({ tokens, save: newStore().save });

  await assert.rejects(api.businesses(), { status: 401, code: 'invalid_token' });
  assert.deepEqual(requests, ['businesses', REFRESH, 'businesses']);
});

test('a new pair is saved before it is used', async () => {
  const { tokens } = await newConnection();
  const order: string[] = [];
  const { fetch } = recordFetch((name, send) => {
    order.push(name);
    return send();
  });
  const save = async () => {
    order.push('save begins');
    await new Promise((resolve) => setImmediate(resolve));
    order.push('save ends');
  };

  await createSdkApp(server, { fetch })
    .api({ tokens: expired(tokens), save })
    .businesses();

  assert.deepEqual(order, [REFRESH, 'save begins', 'save ends', 'businesses']);
});

test('a failed save rejects every caller, and the next call saves the same pair without another refresh', async () => {
  const { app, tokens, requests } = await newConnection();
  const broken = new Error('The disk is full.');
  const offered: Tokens[] = [];
  const save = async (newer: Tokens) => {
    offered.push(newer);
    if (offered.length === 1) throw broken;
  };
  const api = app.api({ tokens: expired(tokens), save });

  const outcomes = await Promise.allSettled(Array.from({ length: 5 }, () => api.businesses()));
  assert.ok(outcomes.every((outcome) => outcome.status === 'rejected' && outcome.reason === broken));
  assert.deepEqual(requests, [REFRESH]);

  await api.businesses();
  assert.equal(offered.length, 2);
  assert.deepEqual(offered[1], offered[0]);
  assert.deepEqual(requests, [REFRESH, 'businesses']);
});

test('after a failed save, the next call uses the new pair and not the rejected token', async () => {
  const { app, tokens, requests } = await newConnection();
  await app.revoke(tokens.accessToken);
  let saves = 0;
  const save = () => {
    saves += 1;
    if (saves === 1) throw new Error('The disk is full.');
  };
  const api = app.api({ tokens, save });
  await assert.rejects(api.businesses(), { message: 'The disk is full.' });
  requests.length = 0;

  await api.businesses();

  assert.deepEqual([requests, saves], [['businesses'], 2]);
});

test('a second worker uses the pair that the first has stored, and does not refresh', async () => {
  const { app, tokens, requests } = await newConnection();
  const store = newStore(tokens);
  const first = app.api({ tokens: expired(tokens), ...store });
  const second = app.api({ tokens: expired(tokens), ...store });

  await first.businesses();
  // By now the server would treat the old refresh token of the second worker as replayed.
  server.advanceClock(MINUTE);
  await second.businesses();

  assert.equal(refreshesIn(requests), 1);
  assert.equal(store.saved.length, 2);
});

test('a stored pair that is due as well is refreshed, too', async () => {
  const { app, tokens, requests } = await newConnection();
  const newer = await app.refresh(tokens.refreshToken);
  server.advanceClock(MINUTE);
  requests.length = 0;
  const store = newStore(expired(newer));

  await app.api({ tokens: expired(tokens), ...store }).businesses();

  assert.deepEqual(requests, [REFRESH, 'businesses']);
  assert.equal(store.saved.length, 2);
});

test('a worker whose access token was rejected uses a newer pair from the store, but not the same access token', async () => {
  const { app, tokens, requests } = await newConnection();
  const newer = await app.refresh(tokens.refreshToken);
  await app.revoke(tokens.accessToken);
  requests.length = 0;

  await app.api({ tokens, ...newStore(newer) }).businesses();
  assert.deepEqual(requests, ['businesses', 'businesses']);

  requests.length = 0;
  const sameAccess = { ...newer, accessToken: tokens.accessToken };
  await app.api({ tokens, ...newStore(sameAccess) }).businesses();
  assert.deepEqual(requests, ['businesses', REFRESH, 'businesses']);
});

test('a store that lags behind does not bring back a spent refresh token', async () => {
  const { app, tokens, requests } = await newConnection();
  const { saved, save } = newStore();
  const api = app.api({ tokens: expired(tokens), save, load: async () => expired(saved.at(-3) ?? tokens) });
  await api.businesses();

  for (let refreshes = 2; refreshes <= 5; refreshes += 1) {
    server.advanceClock(MINUTE);
    await server.revoke(saved.at(-1)?.accessToken);
    await api.businesses();
    assert.deepEqual([refreshesIn(requests), saved.length], [refreshes, refreshes]);
  }
});

test('a load that fails or returns invalid data rejects the call, and nothing is refreshed', async () => {
  const { app, tokens, requests } = await newConnection();
  const broken = new Error('The store is down.');
  const load = () => Promise.reject(broken);
  await assert.rejects(app.api({ tokens: expired(tokens), save: () => {}, load }).businesses(), broken);

  const nonsense = async () => ({ ...tokens, refreshToken: 'not a token' });
  const api = app.api({ tokens: expired(tokens), save: () => {}, load: nonsense });
  await assert.rejects(api.businesses(), { name: 'TypeError', message: /load/ });

  const empty = app.api({ tokens: expired(tokens), save: () => {}, load: async () => undefined });
  assert.equal((await empty.businesses()).length, 1);
  assert.equal(refreshesIn(requests), 1);
});
