import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MINUTE } from '../../../src/lib/clock.ts';
import { readGrant } from '../../support/rows.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const browser = await server.signedIn();
const allow = (changes: Record<string, string | undefined> = {}) => server.allow(changes, browser);
const other = await server.addApp({ name: 'Other', ownerBusinessId: server.acme.id });
const asOther = { client_id: other.id, client_secret: other.secret };

test('a code is exchanged for exactly five fields, in a response that may not be cached [T2]', async () => {
  const { status, body, headers } = await server.exchange(await allow({ scope: 'read:contacts read:invoices' }));

  assert.equal(status, 200);
  assert.deepEqual(Object.keys(body), ['access_token', 'token_type', 'expires_in', 'refresh_token', 'scope']);
  assert.match(body.access_token, /^gat_[\w-]{96}$/);
  assert.match(body.refresh_token, /^grt_[\w-]{96}$/);
  assert.equal(body.token_type, 'bearer');
  assert.equal(body.expires_in, 3600);
  assert.equal(body.scope, 'read:invoices read:contacts');
  assert.match(headers.get('content-type') ?? '', /^application\/json/);
  assert.equal(headers.get('cache-control'), 'no-store');
  assert.equal(headers.get('pragma'), 'no-cache');
});

test('a code works for 10 minutes, and is then reported as expired [A23]', async () => {
  const [inTime, late] = [await allow(), await allow()];
  server.advanceClock(10 * MINUTE - 1);
  const good = await server.exchange(inTime);
  server.advanceClock(1);
  const bad = await server.exchange(late);

  assert.equal(good.status, 200);
  assert.equal(bad.status, 400);
  assert.equal(bad.body.error, 'invalid_grant');
  assert.match(bad.body.error_description, /expired: codes last 10 minutes/);
  assert.equal(bad.body.reason, 'code_expired');
  assert.equal(bad.body.error_uri, `${server.api}/docs/errors/invalid_grant#code_expired`);
});

test('a code used twice revokes the tokens of its first use [T13]', async () => {
  const code = await allow();
  const first = await server.exchange(code);
  const refreshed = await server.refresh(first.body.refresh_token);

  const second = await server.exchange(code);

  assert.equal(second.status, 400);
  assert.equal(second.body.error, 'invalid_grant');
  assert.match(second.body.error_description, /\(code_reused\)$/);
  for (const { body } of [first, refreshed]) {
    assert.equal((await server.listInvoices(body.access_token)).status, 401);
    assert.equal((await server.refresh(body.refresh_token)).body.error, 'invalid_grant');
  }
});

test('a code used twice revokes its grant even when the second use comes after its 10 minutes [T13]', async () => {
  const code = await allow();
  const first = await server.exchange(code);
  server.advanceClock(11 * MINUTE);

  assert.equal((await server.exchange(code)).body.error, 'invalid_grant');
  assert.equal((await server.listInvoices(first.body.access_token)).status, 401);
});

test('50 parallel exchanges of one code: exactly one 200, 49 invalid_grant, and no 5xx [T12]', async () => {
  // The first round also opens the connections. In later rounds, requests arrive in the same event loop iteration.
  for (let round = 0; round < 4; round += 1) {
    const code = await allow();
    const responses = await Promise.all(Array.from({ length: 50 }, () => server.exchange(code)));

    assert.equal(responses.filter(({ status }) => status === 200).length, 1);
    const rejected = responses.filter(({ status }) => status !== 200);
    for (const { status, body } of rejected) assert.deepEqual([status, body.error], [400, 'invalid_grant']);
    assert.equal((await readGrant(server, code)).revoked_reason, 'code_reused');
  }
});

test('a code of one app does not work for another, and still works for its own [T7]', async () => {
  const code = await allow();

  const stranger = await server.exchange(code, asOther);
  const owner = await server.exchange(code);
  const late = await server.exchange(code, asOther);

  assert.deepEqual([stranger.status, stranger.body.error], [400, 'invalid_grant']);
  assert.equal(owner.status, 200);
  assert.equal(late.body.error, 'invalid_grant');
  assert.equal(
    (await server.listInvoices(owner.body.access_token)).status,
    200,
    'only its own app can end it this way',
  );
});

test('a caller that fails client authentication neither spends a code nor revokes its grant', async () => {
  const code = await allow();
  const wrong = { client_secret: 'gcs_wrong' };

  assert.equal((await server.exchange(code, wrong)).status, 401);
  const { status, body } = await server.exchange(code);
  assert.equal(status, 200);
  assert.equal((await server.exchange(code, wrong)).status, 401);
  assert.equal((await server.listInvoices(body.access_token)).status, 200);
});

test('the redirect_uri must be identical to that of the authorize request [T8]', async () => {
  const code = await allow();

  for (const redirect_uri of [
    undefined,
    '',
    'https://ledger.example/callback/',
    'https://LEDGER.example/callback',
    'https://evil.example/',
  ]) {
    const { status, body } = await server.exchange(code, { redirect_uri });
    assert.deepEqual([status, body.error], [400, 'invalid_grant'], `${redirect_uri}`);
  }
  assert.equal((await server.exchange(code)).status, 200);
});

test('if the authorize request had no redirect_uri, the exchange needs none, but may not name another one [T8]', async () => {
  const [silent, named, foreign] = [
    await allow({ redirect_uri: undefined }),
    await allow({ redirect_uri: undefined }),
    await allow({ redirect_uri: undefined }),
  ];

  assert.equal((await server.exchange(silent, { redirect_uri: undefined })).status, 200);
  assert.equal((await server.exchange(named)).status, 200);
  const rejected = await server.exchange(foreign, { redirect_uri: 'https://evil.example/' });
  assert.equal(rejected.body.error, 'invalid_grant');
});

test('text that is not a code of this server is an invalid_grant that names what was sent instead [T24]', async () => {
  const tokens = await server.connect({}, browser);
  const code = await allow();

  for (const [sent, words] of [
    ['nonsense', /not a code/],
    [`${code}x`, /not a code/],
    [code.slice(0, -1), /not a code/],
    [code.replace('gac_', 'GAC_'), /not a code/],
    [tokens.access_token, /This is an access token/],
    [tokens.refresh_token, /This is a refresh token/],
    [tokens.refresh_token.replace('grt_', 'gac_'), /not a code/],
  ] as const) {
    const { status, body } = await server.exchange(sent);
    assert.deepEqual([status, body.error], [400, 'invalid_grant'], sent);
    assert.match(body.error_description, words);
  }
});

test('a malformed request does not use up its code', async () => {
  const code = await allow();

  assert.equal((await server.exchange(code, { code: [code] })).status, 400);
  assert.equal((await server.exchange(code, { grant_type: 'password' })).body.error, 'unsupported_grant_type');
  assert.equal((await server.exchange(code)).status, 200);
});

test('each Allow creates its own grant: ending one leaves the other', async () => {
  const [one, two] = [await server.connect({}, browser), await server.connect({}, browser)];

  await server.revoke(one.refresh_token);

  assert.equal((await server.refresh(one.refresh_token)).body.error, 'invalid_grant');
  assert.equal((await server.refresh(two.refresh_token)).status, 200);
});
