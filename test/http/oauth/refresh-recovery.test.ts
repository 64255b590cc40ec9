import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MINUTE } from '../../../src/lib/clock.ts';
import { copyDatabase, readGrant } from '../../support/rows.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const [oldKey = ''] = server.settings.secretKeys;
const newKey = 'another-key-that-the-tests-bring-in-later-on';
const works = async (accessToken: string) => (await server.listInvoices(accessToken)).status === 200;

test('with a retry window of 0 a replay ends the grant as soon as the new pair has been used', async () => {
  await server.restart({ settings: { retryWindow: 0 } });
  const { refresh_token } = await server.connect();
  const { body } = await server.refresh(refresh_token);
  assert.equal((await server.refresh(refresh_token)).body.refresh_token, body.refresh_token);
  assert.equal(await works(body.access_token), true);

  const replay = await server.refresh(refresh_token);

  assert.match(replay.body.error_description, /\(refresh_token_reused\)$/);
  assert.equal((await server.refresh(body.refresh_token)).body.error, 'invalid_grant');
  await server.restart();
});

test('the retry window can be set in seconds, up to 300', async () => {
  await server.restart({ settings: { retryWindow: 300_000 } });
  const { refresh_token } = await server.connect();
  const first = await server.refresh(refresh_token);
  assert.equal(await works(first.body.access_token), true);
  server.advanceClock(299_999);
  const inside = await server.refresh(refresh_token);
  server.advanceClock(1);
  const outside = await server.refresh(refresh_token);

  assert.equal(inside.body.refresh_token, first.body.refresh_token);
  assert.equal(outside.body.error, 'invalid_grant');
  await server.restart();
});

test('a spent token stays spent after a restart, and a retry still gets the same pair [T19][T16]', async () => {
  const { refresh_token } = await server.connect();
  const first = await server.refresh(refresh_token);
  assert.equal(await works(first.body.access_token), true);
  await server.restart();

  assert.deepEqual((await server.refresh(refresh_token)).body, first.body);
  server.advanceClock(MINUTE);
  await server.restart();
  assert.equal((await server.refresh(refresh_token)).body.error, 'invalid_grant');
});

test('the newest token repairs a database that lost rotations, and the client notices nothing', async () => {
  const { refresh_token, access_token } = await server.connect();
  const restore = await copyDatabase(server);
  const second = (await server.refresh(refresh_token)).body;
  const third = (await server.refresh(second.refresh_token)).body;
  await restore();
  assert.equal((await readGrant(server, refresh_token)).rotation, 0);

  const healed = await server.refresh(third.refresh_token);

  assert.equal(healed.status, 200);
  assert.equal((await readGrant(server, refresh_token)).rotation, 3);
  for (const token of [access_token, second.access_token, third.access_token, healed.body.access_token]) {
    assert.equal(await works(token), true);
  }
  assert.equal((await server.refresh(healed.body.refresh_token)).status, 200);
});

test('after the repair, an older token is still a replay', async () => {
  const { refresh_token } = await server.connect();
  const restore = await copyDatabase(server);
  const second = (await server.refresh(refresh_token)).body;
  const third = (await server.refresh(second.refresh_token)).body;
  await restore();
  const healed = (await server.refresh(third.refresh_token)).body;

  const replay = await server.refresh(second.refresh_token);

  assert.match(replay.body.error_description, /\(refresh_token_reused\)$/);
  assert.equal((await server.refresh(healed.refresh_token)).body.error, 'invalid_grant');
});

test('50 parallel refreshes that repair a row still get one and the same pair [T15]', async () => {
  const { refresh_token } = await server.connect();
  const restore = await copyDatabase(server);
  const second = (await server.refresh(refresh_token)).body;
  await restore();

  const responses = await Promise.all(Array.from({ length: 50 }, () => server.refresh(second.refresh_token)));

  assert.ok(responses.every(({ status }) => status === 200));
  assert.equal(new Set(responses.map(({ body }) => body.refresh_token)).size, 1);
  assert.equal((await readGrant(server, refresh_token)).rotation, 2);
});

test('a backup from before the exchange is repaired too, and the code cannot be used after that', async () => {
  const code = await server.allow();
  const restore = await copyDatabase(server);
  const { access_token, refresh_token } = (await server.exchange(code)).body;
  await restore();
  assert.equal((await readGrant(server, code)).exchanged_at, null);

  assert.equal(await works(access_token), true);
  const healed = await server.refresh(refresh_token);
  assert.equal(healed.status, 200);
  assert.notEqual((await readGrant(server, code)).exchanged_at, null);

  const again = await server.exchange(code);
  assert.match(again.body.error_description, /\(code_reused\)$/);
  assert.equal(await works(healed.body.access_token), false);
});

test('a token of a grant that is missing from the backup is rejected, and nothing fails', async () => {
  const restore = await copyDatabase(server);
  const { access_token, refresh_token } = await server.connect();
  await restore();

  const { status, body } = await server.refresh(refresh_token);
  assert.deepEqual([status, body.error], [400, 'invalid_grant']);
  assert.equal(await works(access_token), false);
  assert.equal((await server.revoke(refresh_token)).status, 200);
});

test('a new first key signs new tokens, and signatures of the old key stay valid', async () => {
  const { access_token, refresh_token } = await server.connect();
  const code = await server.allow();
  await server.restart({ settings: { secretKeys: [oldKey, newKey] } });
  await server.restart({ settings: { secretKeys: [newKey, oldKey] } });

  assert.equal(await works(access_token), true);
  const refreshed = await server.refresh(refresh_token);
  const exchanged = await server.exchange(code);
  assert.deepEqual([refreshed.status, exchanged.status], [200, 200]);

  await server.restart({ settings: { secretKeys: [newKey] } });
  assert.equal(await works(refreshed.body.access_token), true);
  assert.equal((await server.refresh(exchanged.body.refresh_token)).status, 200);
  await server.restart();
});

test('once the old key is gone, its tokens are rejected like any unknown text', async () => {
  const { access_token, refresh_token } = await server.connect();
  const code = await server.allow();
  await server.restart({ settings: { secretKeys: [newKey] } });

  assert.equal((await server.listInvoices(access_token)).body.error, 'invalid_token');
  assert.equal((await server.refresh(refresh_token)).body.error, 'invalid_grant');
  assert.equal((await server.exchange(code)).body.error, 'invalid_grant');
  assert.deepEqual((await server.introspect(access_token)).body, { active: false });
  await server.restart();
  assert.equal(await works(access_token), true, 'with the key the token works again: nothing was revoked');
});
