import assert from 'node:assert/strict';
import { test } from 'node:test';
import { markUsed } from '../../../src/grants/grants.ts';
import { createTokenUses } from '../../../src/grants/token-uses.ts';
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/lib/clock.ts';
import { createKeyring } from '../../../src/lib/keyring.ts';
import { refreshTokens } from '../../../src/oauth/token/refresh.ts';
import { decodeToken, findVerifiedToken } from '../../../src/oauth/tokens.ts';
import { grantIdIn, readGrant, withReadOnlyDatabase } from '../../support/rows.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const works = async (accessToken: string) => (await server.listInvoices(accessToken)).status === 200;

/** A token pair, and the response to its refresh, which the app did not receive. */
async function loseRefresh(changes: Record<string, string> = {}) {
  const first = await server.connect(changes);
  const { body: lost } = await server.refresh(first.refresh_token);
  return { first, lost };
}

function assertReused({ status, body }: Awaited<ReturnType<typeof server.refresh>>) {
  assert.deepEqual([status, body.error, body.reason], [400, 'invalid_grant', 'refresh_token_reused']);
}

for (const [after, wait] of [
  ['31 seconds', 31 * SECOND],
  ['six hours', 6 * HOUR],
  ['29 days', 29 * DAY],
] as const) {
  test(`a lost refresh response is sent again after ${after}, while nothing of it has been used [T16]`, async () => {
    const { first, lost } = await loseRefresh();
    server.advanceClock(wait);

    const { status, body } = await server.refresh(first.refresh_token);

    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(body.refresh_token, lost.refresh_token, 'the same refresh token, byte for byte');
    assert.notEqual(body.access_token, lost.access_token);
    assert.deepEqual([body.token_type, body.expires_in, body.scope], ['bearer', 3600, 'read:invoices']);
    assert.equal((await readGrant(server, first.refresh_token)).rotation, 1);
    server.advanceClock(HOUR - SECOND);
    assert.equal(await works(body.access_token), true, 'the access token lasts its full hour');
    server.advanceClock(2 * SECOND);
    assert.equal(await works(body.access_token), false);
    assert.equal((await server.refresh(body.refresh_token)).status, 200);
  });
}

test('a lost response can be requested again and again, and parallel requests get the same refresh token', async () => {
  const { first, lost } = await loseRefresh();
  for (const wait of [MINUTE, HOUR, DAY]) {
    server.advanceClock(wait);
    const responses = await Promise.all(Array.from({ length: 10 }, () => server.refresh(first.refresh_token)));

    assert.ok(responses.every(({ status }) => status === 200));
    assert.deepEqual([...new Set(responses.map(({ body }) => body.refresh_token))], [lost.refresh_token]);
  }
  assert.equal((await readGrant(server, first.refresh_token)).rotation, 1);
});

test('within the retry window the response is the same byte for byte, even after its access token was used [T16]', async () => {
  const { first, lost } = await loseRefresh();
  assert.equal(await works(lost.access_token), true);
  server.advanceClock(29 * SECOND);

  assert.deepEqual((await server.refresh(first.refresh_token)).body, { ...lost, expires_in: 3571 });
});

test('once the new access token was used at the API, the previous refresh token ends the grant [T14][T17]', async () => {
  const { first, lost } = await loseRefresh();
  assert.equal(await works(lost.access_token), true);
  server.advanceClock(30 * SECOND);

  assertReused(await server.refresh(first.refresh_token));
  assertReused(await server.refresh(lost.refresh_token));
  assert.equal(await works(lost.access_token), false);
});

test('once the app has introspected the new access token, the previous refresh token ends the grant [T17]', async () => {
  const { first, lost } = await loseRefresh();
  assert.equal((await server.introspect(lost.access_token)).body.active, true);
  server.advanceClock(MINUTE);

  assertReused(await server.refresh(first.refresh_token));
});

test('once the new access token was revoked, the previous refresh token ends the grant [T17]', async () => {
  const { first, lost } = await loseRefresh();
  await server.revoke(lost.access_token);
  server.advanceClock(MINUTE);

  assertReused(await server.refresh(first.refresh_token));
});

test('once the new refresh token was used, the previous refresh token ends the grant [T17]', async () => {
  const { first, lost } = await loseRefresh();
  const third = (await server.refresh(lost.refresh_token)).body;
  server.advanceClock(MINUTE);

  assertReused(await server.refresh(first.refresh_token));
  assertReused(await server.refresh(third.refresh_token));
});

test('once a response that was sent again has been used, the previous refresh token ends the grant [T17]', async () => {
  const { first } = await loseRefresh();
  server.advanceClock(HOUR);
  const { body } = await server.refresh(first.refresh_token);
  assert.equal(await works(body.access_token), true);

  assertReused(await server.refresh(first.refresh_token));
});

test('a request with insufficient scope counts as use; one by another app or with an older rotation does not', async () => {
  const other = await server.addApp({ name: 'Other', ownerBusinessId: server.acme.id });
  const asOther = { client_id: other.id, client_secret: other.secret };
  const { first, lost } = await loseRefresh();
  assert.equal(await works(first.access_token), true, 'the access token of the rotation before');
  assert.deepEqual((await server.introspect(lost.access_token, asOther)).body, { active: false });
  await server.revoke(lost.access_token, asOther);
  server.advanceClock(MINUTE);
  assert.equal((await server.refresh(first.refresh_token)).status, 200);

  const contacts = await loseRefresh({ scope: 'read:contacts' });
  assert.equal((await server.listInvoices(contacts.lost.access_token)).body.error, 'insufficient_scope');
  server.advanceClock(MINUTE);
  assertReused(await server.refresh(contacts.first.refresh_token));
});

test('the use of a token is stored, once per rotation, and survives a restart [T17][T19]', async () => {
  const used = await loseRefresh();
  const unused = await loseRefresh();
  const usedOf = async (token: string) => (await readGrant(server, token)).used_rotation;
  assert.equal(await works(used.lost.access_token), true);
  assert.equal(await works(used.lost.access_token), true);
  await server.restart();

  assert.deepEqual([await usedOf(used.first.refresh_token), await usedOf(unused.first.refresh_token)], [1, 0]);
  server.advanceClock(MINUTE);
  assertReused(await server.refresh(used.first.refresh_token));
  assert.equal((await server.refresh(unused.first.refresh_token)).status, 200);
});

test('a use of one rotation does not count for the next, whose response can be lost as well', async () => {
  const { lost: second } = await loseRefresh();
  assert.equal(await works(second.access_token), true);
  const { body: lost } = await server.refresh(second.refresh_token);
  server.advanceClock(HOUR);

  assert.equal((await server.refresh(second.refresh_token)).body.refresh_token, lost.refresh_token);
});

test('a response that is sent again can have fewer scopes, and never more [T21]', async () => {
  const { first } = await loseRefresh({ scope: 'read:invoices read:contacts' });
  server.advanceClock(HOUR);

  const narrow = await server.refresh(first.refresh_token, { scope: 'read:contacts' });
  const wide = await server.refresh(first.refresh_token, { scope: 'write:invoices' });

  assert.deepEqual([narrow.status, narrow.body.scope], [200, 'read:contacts']);
  assert.deepEqual([wide.status, wide.body.error], [400, 'invalid_scope']);
});

test('a lost response cannot be requested after the previous refresh token has expired [T22]', async () => {
  const { first } = await loseRefresh();
  server.advanceClock(30 * DAY);

  assert.equal((await server.refresh(first.refresh_token)).body.reason, 'refresh_token_expired');
});

test('a revoked grant sends no response again [R6]', async () => {
  const { first, lost } = await loseRefresh();
  server.advanceClock(HOUR);
  await server.revoke(lost.refresh_token);

  assert.equal((await server.refresh(first.refresh_token)).body.reason, 'revoked_by_app');
});

test('a use that is stored while a refresh is under way is not missed by it [T17]', async () => {
  const { first, lost } = await loseRefresh();
  server.advanceClock(MINUTE);
  const keys = createKeyring(server.settings.secretKeys);
  const token = decodeToken(keys, 'refresh', first.refresh_token);
  assert.ok(token);
  const uses = createTokenUses(server.storage(), () => {});
  const deps = { storage: server.storage(), keys, issuer: server.api, retryWindow: 0, uses };
  // The request has read the row. Then the access token is used, and the use is stored and leaves the memory.
  const verified = await findVerifiedToken(server.storage().durable, token, server.clock());
  assert.equal(await works(lost.access_token), true);
  await markUsed(server.storage().relaxed, { id: token.grantId, rotation: 1 });

  const request = { refreshToken: first.refresh_token, verified, scope: undefined, resource: undefined, context: {} };
  await assert.rejects(refreshTokens(deps, server.ledger, request, server.clock()), { reason: 'refresh_token_reused' });
  await uses.stop();
});

test('a revocation is a use that no other node can miss [T17]', async () => {
  const { first, lost } = await loseRefresh();
  server.advanceClock(MINUTE);
  await server.revoke(lost.access_token);
  const keys = createKeyring(server.settings.secretKeys);
  const token = decodeToken(keys, 'refresh', first.refresh_token);
  assert.ok(token);
  // The memory of another node, or of this one after a crash.
  const uses = createTokenUses(server.storage(), () => {});
  const deps = { storage: server.storage(), keys, issuer: server.api, retryWindow: 0, uses };
  const verified = await findVerifiedToken(server.storage().durable, token, server.clock());

  const request = { refreshToken: first.refresh_token, verified, scope: undefined, resource: undefined, context: {} };
  await assert.rejects(refreshTokens(deps, server.ledger, request, server.clock()), { reason: 'refresh_token_reused' });
  await uses.stop();
});

test('a use of an earlier rotation, recorded later, does not replace that of the newest [T17]', async () => {
  const { first } = await loseRefresh();
  const uses = createTokenUses(server.storage(), () => {});
  const grant = { id: grantIdIn(first.refresh_token), rotation: 2, usedRotation: 0 };

  uses.record(grant, { rotation: 2 });
  uses.record({ ...grant, rotation: 1 }, { rotation: 1 });

  assert.equal(uses.isCurrentUsed(grant), true);
  await uses.stop();
  assert.equal((await readGrant(server, first.refresh_token)).used_rotation, 2);
});

test('a use that cannot be stored is kept in memory until it can be', async () => {
  const { first } = await loseRefresh();
  const grantId = grantIdIn(first.refresh_token);
  const errors: unknown[] = [];
  const uses = createTokenUses(server.storage(), (error) => errors.push(error));
  const grant = { id: grantId, rotation: 1, usedRotation: 0 };

  await withReadOnlyDatabase(server, async () => {
    uses.record(grant, { rotation: 1 });
    await uses.flush();
    assert.equal(uses.isCurrentUsed(grant), true);
    // The timer may have tried, too.
    assert.ok(errors.length > 0);
  });
  await uses.flush();

  assert.equal((await readGrant(server, first.refresh_token)).used_rotation, 1);
  assert.equal(uses.isCurrentUsed(grant), false, 'only the row has it now');
  await uses.stop();
});
