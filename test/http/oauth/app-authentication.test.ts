import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addSecret, listSecrets, removeSecret, useSecret } from '../../../src/apps/secrets.ts';
import { OPERATOR } from '../../../src/audit/entries.ts';
import { MINUTE, SECOND } from '../../../src/lib/clock.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const browser = await server.signedIn();
const { client_id, client_secret } = server.credentials;
const none = { client_id: undefined, client_secret: undefined };
const basic = (id: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
});
const refreshFields = async () => ({
  grant_type: 'refresh_token',
  refresh_token: (await server.connect({}, browser)).refresh_token,
});

test('an app may send its credentials by HTTP Basic instead, also together with the same client_id in the body', async () => {
  const fields = await refreshFields();

  assert.equal((await server.post('token', fields, basic(client_id, client_secret))).status, 200);
  assert.equal((await server.post('token', { ...fields, client_id }, basic(client_id, client_secret))).status, 200);
});

test('both halves of HTTP Basic are form-encoded, as RFC 6749 requires', async () => {
  const encoded = (text: string) => text.replace(/[a-z]/g, (letter) => `%${letter.charCodeAt(0).toString(16)}`);
  const headers = basic(encoded(client_id), encoded(client_secret));

  assert.equal((await server.post('token', await refreshFields(), headers)).status, 200);
});

test('the use of a secret is written once a minute, however many requests have read that it is due', async () => {
  const app = await server.addApp({ ownerBusinessId: server.acme.id });
  const db = server.storage().durable;
  const [secret] = await listSecrets(db, app.id);
  assert.ok(secret);
  const now = server.clock();
  const lastUse = async () => (await listSecrets(db, app.id))[0]?.lastUsedAt;

  await useSecret(db, secret.id, now);
  await Promise.all(Array.from({ length: 20 }, (_, index) => useSecret(db, secret.id, now + index * SECOND)));
  assert.equal(await lastUse(), now);
  await useSecret(db, secret.id, now + MINUTE);

  assert.equal(await lastUse(), now + MINUTE);
});

test('credentials in both ways at once are an invalid_request [T4]', async () => {
  const fields = await refreshFields();
  const headers = basic(client_id, client_secret);

  for (const extra of [{ client_id, client_secret }, { client_secret }, { client_id: 'another' }]) {
    const { status, body } = await server.post('token', { ...fields, ...extra }, headers);
    assert.deepEqual([status, body.error], [400, 'invalid_request']);
  }
});

test('a failed HTTP Basic gives 401 invalid_client and a Basic challenge [T3]', async () => {
  const fields = await refreshFields();
  for (const headers of [
    basic(client_id, 'gcs_wrong'),
    basic('unknown', client_secret),
    basic('', ''),
    { authorization: 'Basic' },
    { authorization: `Basic ${Buffer.from('nocolon').toString('base64')}` },
    { authorization: 'Basic !!!' },
    { authorization: `Bearer ${client_secret}` },
  ]) {
    const response = await server.post('token', fields, headers);

    assert.deepEqual([response.status, response.body.error], [401, 'invalid_client'], headers.authorization);
    assert.match(response.headers.get('www-authenticate') ?? '', /^Basic realm="/);
    assert.equal(response.headers.get('cache-control'), 'no-store');
  }
});

test('wrong credentials in the body give 401 invalid_client without a challenge', async () => {
  const { status, body, headers } = await server.exchange('any', { client_secret: 'gcs_wrong' });

  assert.deepEqual([status, body.error], [401, 'invalid_client']);
  assert.equal(headers.get('www-authenticate'), null);
});

test('an app without its secret is rejected at the exchange and at the refresh [T5]', async () => {
  const code = await server.allow({}, browser);
  const { refresh_token } = await refreshFields();

  for (const missing of [none, { client_id: undefined }, { client_secret: undefined }, { client_secret: '' }]) {
    for (const response of [await server.exchange(code, missing), await server.refresh(refresh_token, missing)]) {
      assert.deepEqual([response.status, response.body.error], [401, 'invalid_client']);
    }
  }
  assert.equal((await server.exchange(code)).status, 200);
  assert.equal((await server.refresh(refresh_token)).status, 200);
});

test('an unknown app and a wrong secret get the same response [T6]', async () => {
  const wrong = await server.exchange('any', { client_secret: 'gcs_wrong' });
  const unknown = await server.exchange('any', { client_id: '0190a6c6-0000-7000-8000-000000000000' });
  const malformed = await server.exchange('any', { client_id: 'ledger' });

  assert.deepEqual([unknown.status, unknown.body], [wrong.status, wrong.body]);
  assert.deepEqual([malformed.status, malformed.body], [wrong.status, wrong.body]);
  const names = (response: typeof wrong) => [...response.headers.keys()].sort();
  assert.deepEqual(names(unknown), names(wrong));
});

test('the secret of another app, or one that is almost right, is wrong', async () => {
  const other = await server.addApp({ ownerBusinessId: server.acme.id });

  for (const secret of [other.secret, client_secret.slice(0, -1), `${client_secret} `, client_secret.toUpperCase()]) {
    assert.equal((await server.exchange('any', { client_secret: secret })).status, 401);
  }
});

test('an app has two secrets at most: both work until one is removed, and then only the other', async () => {
  const app = await server.addApp({ ownerBusinessId: server.acme.id });
  const db = server.storage().durable;
  const second = await addSecret(OPERATOR, db, app, server.clock() + 1);
  const attempt = async (secret: string) =>
    (await server.exchange('any', { client_id: app.id, client_secret: secret })).body.error;

  assert.equal(await attempt(app.secret), 'invalid_grant');
  assert.equal(await attempt(second), 'invalid_grant');
  await assert.rejects(addSecret(OPERATOR, db, app, server.clock()), /at most two secrets/);

  const [first] = await listSecrets(db, app.id);
  await removeSecret(OPERATOR, db, { app, secretId: first?.id ?? '' }, server.clock());
  assert.equal(await attempt(app.secret), 'invalid_client');
  assert.equal(await attempt(second), 'invalid_grant');
});

test('credentials and tokens in the query are ignored [T1]', async () => {
  const fields = await refreshFields();
  const query = new URLSearchParams({ client_id, client_secret });

  const noCredentials = await server.post(`token?${query}`, fields);
  const noToken = await server.post(`token?refresh_token=${fields.refresh_token}`, {
    grant_type: 'refresh_token',
    client_id,
    client_secret,
  });

  assert.deepEqual([noCredentials.status, noCredentials.body.error], [401, 'invalid_client']);
  assert.deepEqual([noToken.status, noToken.body.error], [400, 'invalid_request']);
});
