import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/lib/clock.ts';
import { readGrant } from '../../support/rows.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const WIDE = { scope: 'read:invoices read:contacts' };
const works = async (accessToken: string) => (await server.listInvoices(accessToken)).status === 200;

function assertReused({ status, body }: Awaited<ReturnType<typeof server.refresh>>) {
  assert.deepEqual([status, body.error], [400, 'invalid_grant']);
  assert.match(body.error_description, /\(refresh_token_reused\)$/);
}

test('a refresh gives a new pair in the same five fields, in a response that may not be cached [T14][T2]', async () => {
  const first = await server.connect(WIDE);
  const { status, body, headers } = await server.refresh(first.refresh_token);

  assert.equal(status, 200);
  assert.deepEqual(Object.keys(body), ['access_token', 'token_type', 'expires_in', 'refresh_token', 'scope']);
  assert.deepEqual([body.token_type, body.expires_in, body.scope], ['bearer', 3600, 'read:invoices read:contacts']);
  assert.notEqual(body.access_token, first.access_token);
  assert.notEqual(body.refresh_token, first.refresh_token);
  assert.equal(headers.get('cache-control'), 'no-store');
  assert.equal(headers.get('pragma'), 'no-cache');
});

test('50 parallel refreshes of one token all get the same pair, from exactly one rotation [T15]', async () => {
  for (let round = 0; round < 4; round += 1) {
    const { refresh_token } = await server.connect();
    const requests: ReturnType<typeof server.refresh>[] = [];
    // The clock advances between them, so that a second rotation would create another pair.
    while (requests.length < 50) {
      requests.push(server.refresh(refresh_token));
      server.advanceClock(SECOND / 10);
      await setImmediate();
    }
    const responses = await Promise.all(requests);

    assert.ok(responses.every(({ status }) => status === 200));
    assert.equal(new Set(responses.map(({ body }) => `${body.access_token} ${body.refresh_token}`)).size, 1);
    const { rotation, revoked_at } = await readGrant(server, refresh_token);
    assert.deepEqual([rotation, revoked_at], [1, null]);
  }
});

test('every refresh extends a grant to 30 days, and moves the removal day of its row', async () => {
  let { refresh_token } = await server.connect();
  for (const waited of [HOUR, DAY, HOUR, 3 * DAY]) {
    server.advanceClock(waited);
    ({ refresh_token } = (await server.refresh(refresh_token)).body);

    const { refresh_expires_at, removable_on } = await readGrant(server, refresh_token);
    assert.equal(refresh_expires_at, server.clock() + 30 * DAY);
    assert.equal(removable_on, Math.ceil((server.clock() + 31 * DAY) / DAY));
  }
});

test('a retry after a lost response gets the same pair byte for byte, with a correct expires_in [T16]', async () => {
  const { refresh_token } = await server.connect();
  const lost = await server.refresh(refresh_token);
  server.advanceClock(29 * SECOND);
  const retry = await server.refresh(refresh_token);

  assert.equal(retry.status, 200);
  assert.deepEqual(retry.body, { ...lost.body, expires_in: 3571 });
  assert.equal((await readGrant(server, refresh_token)).rotation, 1);
});

test('the retry window closes to the millisecond, once the new pair has been used', async () => {
  const { refresh_token } = await server.connect();
  assert.equal(await works((await server.refresh(refresh_token)).body.access_token), true);
  server.advanceClock(30 * SECOND - 1);
  const inside = await server.refresh(refresh_token);
  server.advanceClock(1);

  assert.equal(inside.status, 200);
  assertReused(await server.refresh(refresh_token));
});

test('a retry after the new pair was used, and after the retry window, is a replay: the grant is revoked [T14][T17]', async () => {
  const { refresh_token } = await server.connect();
  const { body } = await server.refresh(refresh_token);
  assert.equal(await works(body.access_token), true);
  server.advanceClock(30 * SECOND);

  assertReused(await server.refresh(refresh_token));
  assertReused(await server.refresh(body.refresh_token));
  assert.equal(await works(body.access_token), false);
});

test('a token two rotations old is a replay even inside the retry window [T18]', async () => {
  const { refresh_token } = await server.connect();
  const second = await server.refresh(refresh_token);
  const third = await server.refresh(second.body.refresh_token);

  assertReused(await server.refresh(refresh_token));
  assertReused(await server.refresh(third.body.refresh_token));
  assert.equal(await works(third.body.access_token), false);
});

test('a replay is recorded as an event, once, with its reason and without a token [T17]', async () => {
  const { refresh_token } = await server.connect();
  assert.equal(await works((await server.refresh(refresh_token)).body.access_token), true);
  server.advanceClock(MINUTE);
  await Promise.all([server.refresh(refresh_token), server.refresh(refresh_token)]);

  const { id: grantId, user_id: userId } = await readGrant(server, refresh_token);
  const rows = await server.storage().durable.selectFrom('events').selectAll().execute();
  const ended = rows.filter(({ type, data }) => type === 'grant.revoked' && data.includes(grantId));
  assert.deepEqual(
    ended.map(({ data }) => JSON.parse(data)),
    [{ grantId, userId, reason: 'refresh_token_reused' }],
  );
});

test('an access token issued in the middle of a second is valid for the whole hour that expires_in states', async () => {
  server.advanceClock(SECOND - (server.clock() % SECOND) + 999);
  const { access_token, expires_in } = await server.connect();

  assert.equal(expires_in, 3600);
  server.advanceClock(HOUR - 1);
  assert.equal(await works(access_token), true);
});

test('an old access token stays valid for its own hour after a refresh, and not longer', async () => {
  server.advanceClock(SECOND - (server.clock() % SECOND));
  const first = await server.connect();
  server.advanceClock(30 * MINUTE);
  const second = (await server.refresh(first.refresh_token)).body;
  assert.equal(await works(first.access_token), true);

  server.advanceClock(30 * MINUTE - 1);
  assert.equal(await works(first.access_token), true);
  server.advanceClock(1);
  assert.equal(await works(first.access_token), false);
  assert.equal(await works(second.access_token), true);
});

test('a refresh may narrow one access token; the refresh token keeps all the scopes [T21]', async () => {
  const first = await server.connect(WIDE);
  const narrow = (await server.refresh(first.refresh_token, { scope: 'read:contacts' })).body;
  const full = (await server.refresh(narrow.refresh_token)).body;

  assert.equal(narrow.scope, 'read:contacts');
  assert.equal((await server.listInvoices(narrow.access_token)).body.error, 'insufficient_scope');
  assert.equal(full.scope, 'read:invoices read:contacts');
  assert.equal(await works(full.access_token), true);
});

test('a refresh never widens the scope, and a request for too much does not use up the token [T21]', async () => {
  const { refresh_token } = await server.connect({ scope: 'read:invoices' });

  for (const scope of ['read:invoices read:contacts', 'write:invoices', 'read:minds', 'READ:INVOICES', ' ']) {
    const { status, body } = await server.refresh(refresh_token, { scope });
    assert.deepEqual([status, body.error], [400, 'invalid_scope'], scope);
  }
  assert.equal((await readGrant(server, refresh_token)).rotation, 0);
  assert.equal((await server.refresh(refresh_token, { scope: 'read:invoices' })).status, 200);
});

test('each refresh token is valid for 30 days from its own issue, and is then reported as expired [T22]', async () => {
  const { refresh_token } = await server.connect();
  server.advanceClock(30 * DAY - SECOND);
  const second = await server.refresh(refresh_token);
  assert.equal(second.status, 200);

  server.advanceClock(30 * DAY - SECOND);
  const third = await server.refresh(second.body.refresh_token);
  assert.equal(third.status, 200);

  server.advanceClock(30 * DAY);
  const late = await server.refresh(third.body.refresh_token);
  assert.deepEqual([late.status, late.body.error], [400, 'invalid_grant']);
  assert.match(late.body.error_description, /expired: it lasts 30 days/);
});

test('an expired refresh token that was spent long ago is expired, not a replay that revokes', async () => {
  const { refresh_token } = await server.connect();
  server.advanceClock(15 * DAY);
  const second = (await server.refresh(refresh_token)).body;
  server.advanceClock(15 * DAY);

  assert.match((await server.refresh(refresh_token)).body.error_description, /expired/);
  assert.equal((await server.refresh(second.refresh_token)).status, 200);
});

test('a refresh token does not work for another app, and the attempt does not affect it [T20]', async () => {
  const other = await server.addApp({ ownerBusinessId: server.acme.id });
  const { refresh_token } = await server.connect();
  const asOther = { client_id: other.id, client_secret: other.secret };

  const stranger = await server.refresh(refresh_token, asOther);
  const owner = await server.refresh(refresh_token);
  server.advanceClock(HOUR);
  const replay = await server.refresh(refresh_token, asOther);

  assert.deepEqual([stranger.status, stranger.body.error], [400, 'invalid_grant']);
  assert.equal(owner.status, 200);
  assert.equal(replay.body.error, 'invalid_grant');
  assert.equal((await server.refresh(owner.body.refresh_token)).status, 200);
});

test('an access token, a code, a session or a client secret does not work as a refresh token [T24]', async () => {
  const browser = await server.signedIn();
  const code = await server.allow({}, browser);
  const tokens = await server.connect({}, browser);
  const session = browser.cookies.get('__Host-session') ?? '';

  for (const [sent, words] of [
    [tokens.access_token, /This is an access token/],
    [code, /This is a code/],
    [session, /not a refresh token/],
    [server.ledger.secret, /not a refresh token/],
    [tokens.access_token.replace('gat_', 'grt_'), /not a refresh token/],
    [code.replace('gac_', 'grt_'), /not a refresh token/],
  ] as const) {
    const { status, body } = await server.refresh(sent);
    assert.deepEqual([status, body.error], [400, 'invalid_grant']);
    assert.match(body.error_description, words);
  }
  assert.equal((await server.refresh(tokens.refresh_token)).status, 200);
});
