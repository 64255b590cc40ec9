import assert from 'node:assert/strict';
import { test } from 'node:test';
import { markUserDisabled } from '../../../src/accounts/users.ts';
import { DAY, HOUR, SECOND } from '../../../src/lib/clock.ts';
import { newWorld } from '../../support/world.ts';

const world = await newWorld();
const other = await world.addApp({ name: 'Other', ownerBusinessId: world.acme.id });
const asOther = { client_id: other.id, client_secret: other.secret };
const INACTIVE = { active: false };

test('an app learns all about its own access token', async () => {
  const { access_token } = await world.connect({ scope: 'read:contacts read:invoices' });
  const { status, body, headers } = await world.introspect(access_token);

  const iat = Math.floor(world.clock() / SECOND);
  assert.equal(status, 200);
  assert.deepEqual(body, {
    active: true,
    scope: 'read:invoices read:contacts',
    client_id: world.ledger.id,
    token_type: 'bearer',
    exp: iat + 3600,
    iat,
    sub: world.ada.id,
    iss: world.api,
    business_id: world.acme.id,
  });
  assert.equal(headers.get('cache-control'), 'no-store');
});

test('an app learns all about its own refresh token', async () => {
  const { refresh_token } = await world.connect();
  const { body } = await world.introspect(refresh_token);

  const iat = Math.floor(world.clock() / SECOND);
  assert.equal(body.active, true);
  assert.equal(body.token_type, 'refresh_token');
  assert.deepEqual([body.iat, body.exp], [iat, iat + 30 * 24 * 3600]);
});

test('exp - iat is the lifetime that expires_in states, also for a token issued within a second', async () => {
  const seconds = () => Math.floor(world.clock() / SECOND);
  world.wind(SECOND - (world.clock() % SECOND) + 400);
  const { access_token, refresh_token, expires_in } = await world.connect();

  for (const wait of [0, 599, 1, SECOND, 30 * SECOND]) {
    world.wind(wait);
    const access = (await world.introspect(access_token)).body;
    const refresh = (await world.introspect(refresh_token)).body;

    assert.equal(access.exp - access.iat, expires_in, `after ${wait} ms more`);
    assert.equal(refresh.exp - refresh.iat, (30 * DAY) / SECOND, `after ${wait} ms more`);
    assert.ok(access.iat <= seconds(), 'no token was issued in the future');
  }
});

test('a narrowed access token shows only the scopes that it has', async () => {
  const { refresh_token } = await world.connect({ scope: 'read:contacts read:invoices' });
  const { body } = await world.refresh(refresh_token, { scope: 'read:contacts' });

  assert.equal((await world.introspect(body.access_token)).body.scope, 'read:contacts');
  assert.equal((await world.introspect(body.refresh_token)).body.scope, 'read:invoices read:contacts');
});

test('inactive, unknown and foreign tokens, and codes, all answer exactly {"active":false} [I2][I3]', async () => {
  const { access_token, refresh_token } = await world.connect();
  const spent = await world.connect();
  await world.refresh(spent.refresh_token);

  for (const text of ['nonsense', `${access_token}x`, await world.allow(), world.ledger.secret, spent.refresh_token]) {
    const { status, body } = await world.introspect(text);
    assert.deepEqual([status, body], [200, INACTIVE], text);
  }
  for (const text of [access_token, refresh_token]) {
    const { status, body } = await world.introspect(text, asOther);
    assert.deepEqual([status, body], [200, INACTIVE]);
  }
});

test('a revoked token is inactive on the very next call [I4]', async () => {
  const one = await world.connect();
  await world.revoke(one.access_token);
  assert.deepEqual((await world.introspect(one.access_token)).body, INACTIVE);
  assert.equal((await world.introspect(one.refresh_token)).body.active, true);

  await world.revoke(one.refresh_token);
  assert.deepEqual((await world.introspect(one.refresh_token)).body, INACTIVE);
});

test('a token of a disabled user is inactive on the very next call [I4]', async () => {
  const user = await world.addUser('Gone', [[world.acme, 'member']]);
  const { access_token, refresh_token } = await world.connect({}, await world.signedIn(user));
  assert.equal((await world.introspect(access_token)).body.active, true);

  await markUserDisabled(world.storage().durable, user.id, world.clock());

  assert.deepEqual((await world.introspect(access_token)).body, INACTIVE);
  assert.deepEqual((await world.introspect(refresh_token)).body, INACTIVE);
});

test('an expired token is inactive from the second of its exp on [I4]', async () => {
  world.wind(SECOND - (world.clock() % SECOND));
  const { access_token, refresh_token } = await world.connect();
  world.wind(HOUR - 1);
  assert.equal((await world.introspect(access_token)).body.active, true);
  world.wind(1);
  assert.deepEqual((await world.introspect(access_token)).body, INACTIVE);
  assert.equal((await world.introspect(refresh_token)).body.active, true);
  world.wind(30 * DAY - HOUR);
  assert.deepEqual((await world.introspect(refresh_token)).body, INACTIVE);
});

test('only an app that proves itself may ask, and the token is no proof [I1]', async () => {
  const { access_token } = await world.connect();

  const anonymous = await world.introspect(access_token, { client_id: undefined, client_secret: undefined });
  const wrong = await world.introspect(access_token, { client_secret: 'gcs_wrong' });
  const bearer = await world.post('introspect', { token: access_token }, { authorization: `Bearer ${access_token}` });

  for (const { status, body, headers } of [anonymous, wrong, bearer]) {
    assert.deepEqual([status, body.error], [401, 'invalid_client']);
    assert.equal(headers.get('cache-control'), 'no-store');
    assert.equal('active' in body, false);
  }
});

test('no introspection response may be cached, whatever it says of the token [I1]', async () => {
  const { access_token, refresh_token } = await world.connect();

  for (const [about, answer, status] of [
    ['an access token', await world.introspect(access_token), 200],
    ['a refresh token', await world.introspect(refresh_token), 200],
    ['an unknown token', await world.introspect('nonsense'), 200],
    ['a token of another app', await world.introspect(access_token, asOther), 200],
    ['no token', await world.introspect(undefined), 400],
    ['a wrong secret', await world.introspect(access_token, { client_secret: 'gcs_wrong' }), 401],
  ] as const) {
    assert.equal(answer.status, status, about);
    assert.equal(answer.headers.get('cache-control'), 'no-store', about);
    assert.equal(answer.headers.get('pragma'), 'no-cache', about);
  }
});

test('looking at a token changes nothing about it', async () => {
  const { refresh_token } = await world.connect();
  const first = await world.introspect(refresh_token);
  const second = await world.introspect(refresh_token);

  assert.deepEqual(first.body, second.body);
  assert.equal((await world.refresh(refresh_token)).status, 200);
});
