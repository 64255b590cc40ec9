import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { sql } from 'kysely';
import { DAY, HOUR, MINUTE } from '../../../src/lib/clock.ts';
import { createKeyring } from '../../../src/lib/keyring.ts';
import { decodeToken } from '../../../src/oauth/tokens.ts';
import { grantIdIn, readGrant } from '../../support/rows.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const other = await server.addApp({ name: 'Other', ownerBusinessId: server.acme.id });
const asOther = { client_id: other.id, client_secret: other.secret };
const works = async (accessToken: string) => (await server.listInvoices(accessToken)).status === 200;

function assertDone({ status, body, headers }: Awaited<ReturnType<typeof server.revoke>>) {
  assert.equal(status, 200);
  assert.deepEqual(body, {});
  assert.equal(headers.get('cache-control'), 'no-store');
}

test('the token alone is enough: revoking a refresh token ends the whole grant at once [R1][R4]', async () => {
  const first = await server.connect();
  const second = (await server.refresh(first.refresh_token)).body;

  assertDone(await server.revoke(second.refresh_token));

  for (const pair of [first, second]) {
    assert.equal(await works(pair.access_token), false);
    assert.match((await server.refresh(pair.refresh_token)).body.error_description, /\(revoked_by_app\)$/);
  }
});

test('revoking a refresh token that has been replaced ends the grant too [R4]', async () => {
  const { refresh_token } = await server.connect();
  const second = (await server.refresh(refresh_token)).body;
  server.advanceClock(MINUTE);

  assertDone(await server.revoke(refresh_token));

  assert.equal(await works(second.access_token), false);
});

test('revoking an access token ends only itself: the refresh token and its other access tokens stay valid', async () => {
  const first = await server.connect();
  const second = (await server.refresh(first.refresh_token)).body;

  assertDone(await server.revoke(first.access_token));

  assert.equal(await works(first.access_token), false);
  assert.equal((await server.listInvoices(first.access_token)).body.error, 'invalid_token');
  assert.equal(await works(second.access_token), true);
  const third = await server.refresh(second.refresh_token);
  assert.equal(third.status, 200);
  assert.equal(await works(third.body.access_token), true);
});

const isActive = async (token: string) => (await server.introspect(token)).body.active === true;

test('revoking an access token leaves another one of its rotation', async () => {
  const first = await server.connect({ scope: 'read:invoices read:contacts' });
  const wide = (await server.refresh(first.refresh_token)).body;
  const narrow = (await server.refresh(first.refresh_token, { scope: 'read:contacts' })).body;
  const narrower = (await server.refresh(first.refresh_token, { scope: 'read:invoices' })).body;

  await server.revoke(wide.access_token);
  assert.deepEqual(await Promise.all([wide, narrow, narrower].map((each) => isActive(each.access_token))), [
    false,
    true,
    true,
  ]);
  await server.revoke(narrow.access_token);
  await server.revoke(narrow.access_token);

  assert.deepEqual(await Promise.all([wide, narrow, narrower].map((each) => isActive(each.access_token))), [
    false,
    false,
    true,
  ]);
  const { rows } = await sql<{ tokens: string }>`select tokens from revoked_access_tokens
    where grant_id = ${grantIdIn(first.refresh_token)}`.execute(server.storage().durable);
  assert.deepEqual(
    rows.map(({ tokens }) => tokens.split(' ').length),
    [2],
  );
});

test('a refresh that is repeated after its access token was revoked gets another one, and the same refresh token', async () => {
  const first = await server.connect();
  const lost = (await server.refresh(first.refresh_token)).body;
  await server.revoke(lost.access_token);

  const again = await server.refresh(first.refresh_token);
  await server.revoke(again.body.access_token);
  const third = await server.refresh(first.refresh_token);

  assert.equal(new Set([lost, again.body, third.body].map(({ access_token }) => access_token)).size, 3);
  for (const { status, body } of [again, third]) {
    assert.deepEqual([status, body.refresh_token], [200, lost.refresh_token]);
  }
  assert.equal(await works(lost.access_token), false);
  assert.equal(await works(again.body.access_token), false);
  assert.equal(await works(third.body.access_token), true);
  assert.equal((await server.refresh(lost.refresh_token)).status, 200);
});

test('an app that revokes access token after access token of one rotation ends all of them: the list is bounded [X9]', async () => {
  const first = await server.connect({ scope: 'read:invoices read:contacts' });
  const second = (await server.refresh(first.refresh_token)).body;
  const unused = (await server.refresh(first.refresh_token, { scope: 'read:contacts' })).body;
  for (let revoked = 0; revoked < 60; revoked++) {
    const again = (await server.refresh(first.refresh_token)).body;
    await server.revoke(again.access_token);
  }

  const { rows } = await sql<{ tokens: string }>`select tokens from revoked_access_tokens
    where grant_id = ${grantIdIn(first.refresh_token)}`.execute(server.storage().durable);
  assert.deepEqual(rows, [{ tokens: 'all' }]);
  assert.equal(await isActive(unused.access_token), false);
  const third = await server.refresh(second.refresh_token);
  assert.equal(await works(third.body.access_token), true);
});

test('an access token that was revoked alone is rejected with a reason of its own, because its grant is active', async () => {
  const { access_token } = await server.connect();
  await server.revoke(access_token);

  const { status, body } = await server.listInvoices(access_token);

  assert.deepEqual([status, body.error, body.reason], [401, 'invalid_token', 'access_token_revoked']);
});

/** As nodes of 0.2.0 and older do: the row is for all access tokens of the rotation. */
async function revokeAsOlderNode(token: string): Promise<void> {
  const decoded = decodeToken(createKeyring(server.settings.secretKeys), 'access', token);
  assert.ok(decoded);
  const { grantId, rotation, expiresAt } = decoded;
  await server
    .storage()
    .durable.insertInto('revoked_access_tokens')
    .values({ grant_id: grantId, rotation, expires_at: expiresAt })
    .onConflict((conflict) =>
      conflict
        .columns(['grant_id', 'rotation'])
        .doUpdateSet({ expires_at: expiresAt })
        .where('revoked_access_tokens.expires_at', '<', expiresAt),
    )
    .execute();
}

test('what a node of an earlier release revokes is revoked, whoever revoked a token of the rotation first', async () => {
  const narrowed = async () => {
    const first = await server.connect({ scope: 'read:invoices read:contacts' });
    const scopes = ['read:invoices', 'read:contacts'];
    const [one, two] = await Promise.all(scopes.map((scope) => server.refresh(first.refresh_token, { scope })));
    return [one?.body.access_token, two?.body.access_token];
  };
  const [older, other] = await narrowed();
  const [newer, olderToo] = await narrowed();

  await revokeAsOlderNode(older);
  await server.revoke(other);
  await server.revoke(newer);
  await revokeAsOlderNode(olderToo);

  for (const token of [older, other, newer, olderToo]) assert.equal(await isActive(token), false);
});

test('a late retry after a revocation whose use was lost is a replay, and not a response with a revoked token', async () => {
  const first = await server.connect();
  const lost = (await server.refresh(first.refresh_token)).body;
  await revokeAsOlderNode(lost.access_token);
  server.advanceClock(MINUTE);

  const late = await server.refresh(first.refresh_token);

  assert.deepEqual([late.status, late.body.reason], [400, 'refresh_token_reused']);
});

test('a revoked access token stays revoked for its whole hour, also after a restart', async () => {
  const { access_token } = await server.connect();
  await server.revoke(access_token);
  await server.restart();
  server.advanceClock(59 * MINUTE);

  assert.equal(await works(access_token), false);
});

test('an unknown, malformed, expired or already revoked token gives 200 [R2]', async () => {
  const old = await server.connect();
  server.advanceClock(HOUR);
  assertDone(await server.revoke(old.access_token));
  server.advanceClock(30 * DAY);
  const { access_token, refresh_token } = await server.connect();

  for (const token of [
    old.refresh_token,
    'nonsense',
    'gat_',
    `grt_${'A'.repeat(96)}`,
    `${access_token}x`,
    'é\u0000',
    'x'.repeat(60_000),
    access_token,
    access_token,
    refresh_token,
    refresh_token,
  ]) {
    assertDone(await server.revoke(token));
  }
});

test('a wrong or unknown token_type_hint still finds the token [R2]', async () => {
  for (const token_type_hint of ['access_token', 'refresh_token', 'mystery', '']) {
    const { access_token, refresh_token } = await server.connect();

    assertDone(await server.revoke(access_token, { token_type_hint }));
    assert.equal(await works(access_token), false);
    assertDone(await server.revoke(refresh_token, { token_type_hint }));
    assert.equal((await server.refresh(refresh_token)).body.error, 'invalid_grant');
  }
});

test('an app that authenticates revokes its own token, in the body or by HTTP Basic', async () => {
  const [one, two] = [await server.connect(), await server.connect()];
  const basic = Buffer.from(`${server.ledger.id}:${server.ledger.secret}`).toString('base64');

  assertDone(await server.revoke(one.refresh_token, server.credentials));
  assertDone(await server.post('revoke', { token: two.refresh_token }, { authorization: `Basic ${basic}` }));

  assert.equal(await works(one.access_token), false);
  assert.equal(await works(two.access_token), false);
});

test('an app that authenticates cannot revoke the token of another, and the response does not reveal its owner [R3]', async () => {
  const { access_token, refresh_token } = await server.connect();

  assertDone(await server.revoke(access_token, asOther));
  assertDone(await server.revoke(refresh_token, asOther));

  assert.equal(await works(access_token), true);
  assert.equal((await server.refresh(refresh_token)).status, 200);
});

test('a client_id without a secret is enough to revoke a token of that app, as the metadata says [R1]', async () => {
  const [one, two] = [await server.connect(), await server.connect()];
  const { revocation_endpoint_auth_methods_supported } = (await server.get('/.well-known/oauth-authorization-server'))
    .body;

  assert.ok(revocation_endpoint_auth_methods_supported.includes('none'));
  assertDone(await server.revoke(one.access_token, { client_id: server.ledger.id }));
  assertDone(await server.revoke(two.refresh_token, { client_id: server.ledger.id }));

  assert.equal(await works(one.access_token), false);
  assert.equal(await works(two.access_token), false);
  assert.equal((await server.refresh(two.refresh_token)).body.reason, 'revoked_by_app');
});

test('a client_id without a secret revokes no token of another app, and the response is the same [R3]', async () => {
  const { access_token, refresh_token } = await server.connect();

  for (const client_id of [other.id, 'unknown', server.ledger.id.toUpperCase()]) {
    for (const token of [access_token, refresh_token, 'nonsense']) {
      assertDone(await server.revoke(token, { client_id }));
    }
  }

  assert.equal(await works(access_token), true);
  assert.equal((await server.refresh(refresh_token)).status, 200);
});

test('credentials that are sent must be right: otherwise 401, and the token stays valid [R1]', async () => {
  const { access_token, refresh_token } = await server.connect();

  for (const wrong of [
    { client_id: server.ledger.id, client_secret: 'gcs_wrong' },
    { client_id: 'unknown', client_secret: server.ledger.secret },
    { client_secret: server.ledger.secret },
  ]) {
    const { status, body } = await server.revoke(refresh_token, wrong);
    assert.deepEqual([status, body.error], [401, 'invalid_client']);
  }
  const basic = await server.post('revoke', { token: refresh_token }, { authorization: 'Basic eDp5' });
  assert.equal(basic.status, 401);
  assert.match(basic.headers.get('www-authenticate') ?? '', /^Basic /);
  assert.equal(await works(access_token), true);
});

test('a missing or empty token is an invalid_request', async () => {
  for (const token of [undefined, '']) {
    const { status, body } = await server.revoke(token);
    assert.deepEqual([status, body.error], [400, 'invalid_request']);
  }
});

test('a token in the query is ignored [T1]', async () => {
  const { access_token } = await server.connect();

  assert.equal((await server.post(`revoke?token=${access_token}`, {})).status, 400);
  assert.equal(await works(access_token), true);
});

test('a code cannot be revoked, and does not authenticate an app', async () => {
  const code = await server.allow();

  assertDone(await server.revoke(code));

  assert.equal((await server.exchange(code)).status, 200);
});

test('after a revocation that races refreshes, no token of the family works [R6]', async () => {
  const first = await server.connect();
  const responses = await Promise.all([
    ...Array.from({ length: 10 }, () => server.refresh(first.refresh_token)),
    server.revoke(first.refresh_token),
    ...Array.from({ length: 10 }, () => server.refresh(first.refresh_token)),
  ]);

  assert.ok(responses.every(({ status }) => status === 200 || status === 400));
  const pairs = responses.filter(({ body }) => body.refresh_token).map(({ body }) => body);
  for (const pair of [first, ...pairs]) {
    assert.equal(await works(pair.access_token), false);
    assert.equal((await server.refresh(pair.refresh_token)).body.error, 'invalid_grant');
  }
});

test('a revocation that arrives at any moment of a refresh ends the family, round after round [R6]', async () => {
  const racer = await server.addApp({ name: 'Racer' });
  const credentials = { client_id: racer.id, client_secret: racer.secret };
  const browser = await server.signedIn();

  for (let round = 0; round < 80; round += 1) {
    const code = await server.allow({ client_id: racer.id }, browser);
    const first = (await server.exchange(code, credentials)).body;
    const refresh = () => server.refresh(first.refresh_token, credentials);
    const revoke = () => server.revoke(first.refresh_token, round % 3 === 0 ? credentials : {});
    const [before, after] = round % 2 === 0 ? [revoke, refresh] : [refresh, revoke];
    const started = before();
    await turns(Math.floor(round / 4) % 10);
    const responses = await Promise.all([started, after(), refresh()]);

    const pairs = responses.map(({ body }) => body).filter(({ refresh_token }) => refresh_token);
    for (const pair of [first, ...pairs]) {
      assert.equal(await works(pair.access_token), false, `round ${round}`);
      const again = await server.refresh(pair.refresh_token, credentials);
      assert.equal(again.body.error, 'invalid_grant', `round ${round}`);
    }
  }
});

/** Waits for this many event loop iterations, so that the next request arrives at another point of the previous one. */
async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) await setImmediate();
}

test('a grant that its app revoked is recorded as an event with that reason, once', async () => {
  const { refresh_token } = await server.connect();
  await Promise.all([server.revoke(refresh_token), server.revoke(refresh_token)]);

  const rows = await server.storage().durable.selectFrom('events').selectAll().execute();
  const ended = rows.filter(({ type, data }) => type === 'grant.revoked' && data.includes(grantIdIn(refresh_token)));
  assert.deepEqual(
    ended.map(({ data }) => JSON.parse(data).reason),
    ['revoked_by_app'],
  );
  assert.equal((await readGrant(server, refresh_token)).revoked_reason, 'revoked_by_app');
});
