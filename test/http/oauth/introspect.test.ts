import assert from 'node:assert/strict';
import { test } from 'node:test';
import { markUserDisabled } from '../../../src/accounts/users.ts';
import { DAY, HOUR, SECOND } from '../../../src/lib/clock.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const other = await server.addApp({ name: 'Other', ownerBusinessId: server.acme.id });
const asOther = { client_id: other.id, client_secret: other.secret };
const INACTIVE = { active: false };

test('introspection describes the app’s own access token', async () => {
  const { access_token } = await server.connect({ scope: 'read:contacts read:invoices' });
  const { status, body, headers } = await server.introspect(access_token);

  const iat = Math.floor(server.clock() / SECOND);
  assert.equal(status, 200);
  assert.deepEqual(body, {
    active: true,
    scope: 'read:invoices read:contacts',
    client_id: server.ledger.id,
    token_type: 'bearer',
    exp: iat + 3600,
    iat,
    sub: server.ada.id,
    iss: server.api,
    business_id: server.acme.id,
    connected_for: 'user',
  });
  assert.equal(headers.get('cache-control'), 'no-store');
});

test('introspection describes the app’s own refresh token', async () => {
  const { refresh_token } = await server.connect();
  const { body } = await server.introspect(refresh_token);

  const iat = Math.floor(server.clock() / SECOND);
  assert.equal(body.active, true);
  assert.equal(body.token_type, 'refresh_token');
  assert.deepEqual([body.iat, body.exp], [iat, iat + 30 * 24 * 3600]);
});

test('exp - iat is the lifetime that expires_in states, also for a token issued within a second', async () => {
  const seconds = () => Math.floor(server.clock() / SECOND);
  server.advanceClock(SECOND - (server.clock() % SECOND) + 400);
  const { access_token, refresh_token, expires_in } = await server.connect();

  for (const wait of [0, 599, 1, SECOND, 30 * SECOND]) {
    server.advanceClock(wait);
    const access = (await server.introspect(access_token)).body;
    const refresh = (await server.introspect(refresh_token)).body;

    assert.equal(access.exp - access.iat, expires_in, `after ${wait} ms more`);
    assert.equal(refresh.exp - refresh.iat, (30 * DAY) / SECOND, `after ${wait} ms more`);
    assert.ok(access.iat <= seconds(), 'no token was issued in the future');
  }
});

test('a narrowed access token shows only the scopes that it has', async () => {
  const { refresh_token } = await server.connect({ scope: 'read:contacts read:invoices' });
  const { body } = await server.refresh(refresh_token, { scope: 'read:contacts' });

  assert.equal((await server.introspect(body.access_token)).body.scope, 'read:contacts');
  assert.equal((await server.introspect(body.refresh_token)).body.scope, 'read:invoices read:contacts');
});

test('inactive, unknown and foreign tokens, and codes, all get exactly {"active":false} [I2][I3]', async () => {
  const { access_token, refresh_token } = await server.connect();
  const spent = await server.connect();
  await server.refresh(spent.refresh_token);

  for (const text of [
    'nonsense',
    `${access_token}x`,
    await server.allow(),
    server.ledger.secret,
    spent.refresh_token,
  ]) {
    const { status, body } = await server.introspect(text);
    assert.deepEqual([status, body], [200, INACTIVE], text);
  }
  for (const text of [access_token, refresh_token]) {
    const { status, body } = await server.introspect(text, asOther);
    assert.deepEqual([status, body], [200, INACTIVE]);
  }
});

test('a revoked token is inactive on the very next call [I4]', async () => {
  const one = await server.connect();
  await server.revoke(one.access_token);
  assert.deepEqual((await server.introspect(one.access_token)).body, INACTIVE);
  assert.equal((await server.introspect(one.refresh_token)).body.active, true);

  await server.revoke(one.refresh_token);
  assert.deepEqual((await server.introspect(one.refresh_token)).body, INACTIVE);
});

test('a token of a disabled user is inactive on the very next call [I4]', async () => {
  const user = await server.addUser('Gone', [[server.acme, 'member']]);
  const { access_token, refresh_token } = await server.connect({}, await server.signedIn(user));
  assert.equal((await server.introspect(access_token)).body.active, true);

  await markUserDisabled(server.storage().durable, user.id, server.clock());

  assert.deepEqual((await server.introspect(access_token)).body, INACTIVE);
  assert.deepEqual((await server.introspect(refresh_token)).body, INACTIVE);
});

test('an expired token is inactive from the second of its exp on [I4]', async () => {
  server.advanceClock(SECOND - (server.clock() % SECOND));
  const { access_token, refresh_token } = await server.connect();
  server.advanceClock(HOUR - 1);
  assert.equal((await server.introspect(access_token)).body.active, true);
  server.advanceClock(1);
  assert.deepEqual((await server.introspect(access_token)).body, INACTIVE);
  assert.equal((await server.introspect(refresh_token)).body.active, true);
  server.advanceClock(30 * DAY - HOUR);
  assert.deepEqual((await server.introspect(refresh_token)).body, INACTIVE);
});

test('introspection needs client authentication, and a token does not replace it [I1]', async () => {
  const { access_token } = await server.connect();

  const anonymous = await server.introspect(access_token, { client_id: undefined, client_secret: undefined });
  const wrong = await server.introspect(access_token, { client_secret: 'gcs_wrong' });
  const bearer = await server.post('introspect', { token: access_token }, { authorization: `Bearer ${access_token}` });

  for (const { status, body, headers } of [anonymous, wrong, bearer]) {
    assert.deepEqual([status, body.error], [401, 'invalid_client']);
    assert.equal(headers.get('cache-control'), 'no-store');
    assert.equal('active' in body, false);
  }
});

test('no introspection response may be cached [I1]', async () => {
  const { access_token, refresh_token } = await server.connect();

  for (const [about, response, status] of [
    ['an access token', await server.introspect(access_token), 200],
    ['a refresh token', await server.introspect(refresh_token), 200],
    ['an unknown token', await server.introspect('nonsense'), 200],
    ['a token of another app', await server.introspect(access_token, asOther), 200],
    ['no token', await server.introspect(undefined), 400],
    ['a wrong secret', await server.introspect(access_token, { client_secret: 'gcs_wrong' }), 401],
  ] as const) {
    assert.equal(response.status, status, about);
    assert.equal(response.headers.get('cache-control'), 'no-store', about);
    assert.equal(response.headers.get('pragma'), 'no-cache', about);
  }
});

test('introspection does not change the token', async () => {
  const { refresh_token } = await server.connect();
  const first = await server.introspect(refresh_token);
  const second = await server.introspect(refresh_token);

  assert.deepEqual(first.body, second.body);
  assert.equal((await server.refresh(refresh_token)).status, 200);
});
