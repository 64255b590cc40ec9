import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSettings } from '../../../src/config/settings.ts';
import { InvalidSetting } from '../../../src/lib/errors.ts';
import { newId } from '../../../src/lib/ids.ts';
import type { ApiResponse } from '../../support/client.ts';
import { startTestServer } from '../../support/test-server.ts';

const limited = { LIMIT_PER_APP: '4', LIMIT_WRONG_SECRETS: '3', LIMIT_PER_GRANT: '2' };

function assertTooMany({ status, body, headers }: ApiResponse) {
  assert.deepEqual([status, body.error], [429, 'too_many_requests']);
  const seconds = Number(headers.get('retry-after'));
  assert.ok(Number.isInteger(seconds) && seconds >= 1 && seconds <= 60, `${seconds}`);
  assert.equal(headers.get('cache-control'), 'no-store');
}

test('the requests of one app at token, revoke and introspect are counted together, apart from other apps [I1]', async () => {
  const server = await startTestServer(limited);
  const { access_token, refresh_token } = await server.connect();
  const other = await server.addApp({ ownerBusinessId: server.acme.id });
  const asOther = { client_id: other.id, client_secret: other.secret };

  const within = [
    await server.introspect(access_token),
    await server.revoke(access_token, server.credentials),
    await server.refresh(refresh_token),
  ];
  for (const { status } of within) assert.equal(status, 200);

  assertTooMany(await server.refresh(refresh_token));
  assertTooMany(await server.introspect(access_token));
  assertTooMany(await server.revoke(refresh_token, server.credentials));
  assert.equal((await server.introspect(access_token, asOther)).status, 200);
});

test('wrong secrets are limited per app and address, and right ones do not count [T6]', async () => {
  const server = await startTestServer({ LIMIT_WRONG_SECRETS: '3', TRUST_PROXY: '127.0.0.1' });
  const other = await server.addApp({ ownerBusinessId: server.acme.id });
  const attempt = (client_id: string, client_secret: string, address: string) =>
    server.post('introspect', { token: 'x', client_id, client_secret }, { 'x-forwarded-for': address });
  const { id, secret } = server.ledger;

  for (let i = 0; i < 6; i += 1) assert.equal((await attempt(id, secret, '192.0.2.1')).status, 200);
  for (let i = 0; i < 3; i += 1) assert.equal((await attempt(id, 'gcs_wrong', '192.0.2.1')).status, 401);

  assertTooMany(await attempt(id, 'gcs_wrong', '192.0.2.1'));
  assertTooMany(await attempt(id, secret, '192.0.2.1'));
  assert.equal((await attempt(id, secret, '192.0.2.2')).status, 200, 'the app itself is not locked out elsewhere');
  assert.equal(
    (await attempt(other.id, other.secret, '192.0.2.1')).status,
    200,
    'another app at this address is not locked out',
  );
});

test('a 429 says which limit was reached', async () => {
  const server = await startTestServer(limited);
  const { access_token } = await server.connect();
  const sentence = async (send: () => Promise<ApiResponse>) => {
    for (let i = 0; i < 5; i += 1) await send();
    const response = await send();
    assertTooMany(response);
    return response.body.error_description.replace(/ Try again in \d+ seconds?\.$/, '');
  };
  const wrong = { token: 'x', client_id: server.ledger.id, client_secret: 'gcs_wrong' };

  assert.equal(
    await sentence(() => server.listInvoices(access_token)),
    'Too many requests with the tokens of this grant.',
  );
  assert.equal(await sentence(() => server.introspect('x')), 'Too many requests of this app.');
  assert.equal(await sentence(() => server.post('introspect', wrong)), 'Too many wrong secrets from this network.');
});

test('guesses at an app that does not exist are limited in the same way, so the limit reveals nothing [T6]', async () => {
  const server = await startTestServer({ LIMIT_WRONG_SECRETS: '3', TRUST_PROXY: '127.0.0.1' });
  const guess = (client_id: string, address: string) =>
    server.post('token', { grant_type: 'x', client_id, client_secret: 'gcs_wrong' }, { 'x-forwarded-for': address });
  const ids = [server.ledger.id, '0190a6c6-0000-7000-8000-000000000000'];

  for (const [index, id] of ids.entries()) {
    for (let i = 0; i < 3; i += 1) assert.equal((await guess(id, `192.0.2.${index}`)).status, 401);
    for (const either of ids) assertTooMany(await guess(either, `192.0.2.${index}`));
  }
});

test('unknown client ids share one limit per network, which does not affect an app there with its correct secret [T6]', async () => {
  const server = await startTestServer({ LIMIT_WRONG_SECRETS: '3' });
  const guess = (client_id: string) => server.post('token', { grant_type: 'x', client_id, client_secret: 'gcs_wrong' });
  const madeUp = [newId(server.clock()), 'ledger', newId(server.clock())];

  for (const id of madeUp) assert.equal((await guess(id)).status, 401);

  assertTooMany(await guess(newId(server.clock())));
  assertTooMany(await guess('yet another'));
  assert.equal((await server.introspect('x')).status, 200);
});

test('X-Forwarded-For from anyone but a trusted proxy does not change the address that a guess counts against [S12]', async () => {
  const server = await startTestServer(limited);
  const guess = (address: string) =>
    server.post(
      'token',
      { grant_type: 'x', ...server.credentials, client_secret: 'x' },
      { 'x-forwarded-for': address },
    );

  for (let i = 0; i < 3; i += 1) assert.equal((await guess(`192.0.2.${i}`)).status, 401);
  assertTooMany(await guess('192.0.2.9'));
});

test('business API requests are limited per grant, apart from other grants', async () => {
  const server = await startTestServer(limited);
  const [one, two] = [await server.connect(), await server.connect()];

  for (let i = 0; i < 2; i += 1) assert.equal((await server.listInvoices(one.access_token)).status, 200);

  assertTooMany(await server.listInvoices(one.access_token));
  assertTooMany(await server.get('/api/v1/businesses', { authorization: `Bearer ${one.access_token}` }));
  assert.equal((await server.listInvoices(two.access_token)).status, 200);
});

test('each limit is a setting, generous by default, and an invalid one is rejected by name', () => {
  const names = {
    LIMIT_PER_APP: 'perApp',
    LIMIT_PER_GRANT: 'perGrant',
    LIMIT_WRONG_SECRETS: 'wrongSecrets',
    LIMIT_PER_USER: 'perUser',
    LIMIT_CHANGES_PER_USER: 'changesPerUser',
    LIMIT_EXPORTS_PER_USER: 'exportsPerUser',
    LIMIT_SIGN_IN_PER_ACCOUNT: 'signInPerAccount',
    LIMIT_SIGN_IN_PER_ADDRESS: 'signInPerAddress',
  } as const;
  const keys = { SECRET_KEYS: 'a-key-of-at-least-thirty-two-characters' };

  for (const [variable, name] of Object.entries(names)) {
    assert.ok(readSettings(keys).limits[name] >= 20, variable);
    assert.equal(readSettings({ ...keys, [variable]: '7' }).limits[name], 7);
    for (const value of ['0', '-1', 'many', '1.5', '1e3']) {
      assert.throws(
        () => readSettings({ ...keys, [variable]: value }),
        (error) => error instanceof InvalidSetting && error.message.startsWith(variable),
      );
    }
  }
});
