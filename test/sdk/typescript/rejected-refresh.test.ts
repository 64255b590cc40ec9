import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatehouseError, type Tokens } from '../../../sdk/typescript/src/index.ts';
import { OPERATOR } from '../../../src/audit/entries.ts';
import { endConnection } from '../../../src/grants/connections.ts';
import { disableApp, enableApp, pauseApp, resumeApp } from '../../../src/grants/suspension.ts';
import { MINUTE } from '../../../src/lib/clock.ts';
import { startTestServer } from '../../support/test-server.ts';
import { connect, createSdkApp, expired, passThrough, recordFetch } from './connected.ts';

const server = await startTestServer();
const REFRESH = 'token refresh_token';

const disconnectLedger = () => {
  const parties = { userId: server.ada.id, appId: server.ledger.id, businessId: server.acme.id };
  return endConnection(server.storage().durable, parties, 'disconnected_by_user', server.clock());
};

async function errorOf(promise: Promise<unknown>): Promise<GatehouseError> {
  const error = await promise.then(
    () => assert.fail('it is refused'),
    (reason) => reason,
  );
  assert.ok(error instanceof GatehouseError, String(error));
  return error;
}

test('a rejected refresh tells every caller why, saves nothing, and is not repeated', async () => {
  const { requests, fetch } = recordFetch(passThrough);
  const app = createSdkApp(server, { fetch });
  const tokens = await connect(server, app);
  const saved: Tokens[] = [];
  const api = app.api({ tokens, save: (newer) => saved.push(newer) });
  await disconnectLedger();
  requests.length = 0;

  const [first, ...others] = await Promise.all(Array.from({ length: 10 }, () => errorOf(api.businesses())));
  assert.deepEqual([first?.status, first?.code, first?.reason], [400, 'invalid_grant', 'disconnected_by_user']);
  assert.match(first?.description ?? '', /disconnected the app/);
  assert.ok(others.every((error) => error === first));
  assert.equal(requests.filter((name) => name === REFRESH).length, 1);

  requests.length = 0;
  assert.equal(await errorOf(api.businesses()), first);
  assert.deepEqual([requests, saved], [[], []]);
});

test('a disabled app continues with the same tokens once it is enabled', async () => {
  const tokens = await connect(server);
  const api = createSdkApp(server).api({ tokens: expired(tokens), save: () => {} });
  await disableApp(OPERATOR, server.storage().durable, server.ledger, server.clock());
  assert.equal((await errorOf(api.businesses())).reason, 'app_disabled');

  await enableApp(OPERATOR, server.storage().durable, server.ledger, server.clock());

  assert.equal((await api.businesses()).length, 1);
});

test('a paused app continues with the same tokens once it is resumed', async () => {
  const tokens = await connect(server);
  const api = createSdkApp(server).api({ tokens: expired(tokens), save: () => {} });
  await pauseApp(OPERATOR, server.storage().durable, { app: server.ledger }, server.clock());
  assert.equal((await errorOf(api.businesses())).reason, 'app_paused');

  await resumeApp(OPERATOR, server.storage().durable, server.ledger, server.clock());

  assert.equal((await api.businesses()).length, 1);
});

test('after a rejected refresh, another pair from the store is used', async () => {
  const app = createSdkApp(server);
  const tokens = await connect(server, app);
  let stored = tokens;
  const api = app.api({ tokens: expired(tokens), save: () => assert.fail('nothing is saved'), load: () => stored });
  await disconnectLedger();
  assert.equal((await errorOf(api.businesses())).reason, 'disconnected_by_user');

  stored = await connect(server, app);

  assert.equal((await api.businesses()).length, 1);
});

test('a refresh token that is retried too late is rejected with its own reason', async () => {
  const app = createSdkApp(server);
  const tokens = await connect(server, app);
  const newer = await app.refresh(tokens.refreshToken);
  await app.introspect(newer.accessToken);
  server.advanceClock(MINUTE);

  const error = await errorOf(app.refresh(tokens.refreshToken));

  assert.deepEqual([error.status, error.code, error.reason], [400, 'invalid_grant', 'refresh_token_reused']);
});

test('a refresh without a response rejects its callers, and the next call tries again', async () => {
  let isDown = true;
  const { requests, fetch } = recordFetch(async (name, send) => {
    if (name === REFRESH && isDown) throw new TypeError('fetch failed');
    return send();
  });
  const tokens = await connect(server);
  const api = createSdkApp(server, { fetch }).api({ tokens: expired(tokens), save: () => {} });

  assert.equal((await errorOf(api.businesses())).code, 'network_error');
  assert.equal(requests.length, 3);
  isDown = false;
  assert.equal((await api.businesses()).length, 1);
});

test('a refresh whose response was lost is repeated, and gives the lost pair', async () => {
  const lost: string[] = [];
  const { requests, fetch } = recordFetch(async (name, send) => {
    const response = await send();
    if (name !== REFRESH || lost.length > 0) return response;
    lost.push(((await response.json()) as { refresh_token: string }).refresh_token);
    throw new TypeError('fetch failed');
  });
  const tokens = await connect(server);
  const saved: Tokens[] = [];
  const api = createSdkApp(server, { fetch }).api({ tokens: expired(tokens), save: (newer) => saved.push(newer) });

  await api.businesses();

  assert.deepEqual(requests, [REFRESH, REFRESH, 'businesses']);
  assert.deepEqual(
    saved.map(({ refreshToken }) => refreshToken),
    lost,
  );
});
