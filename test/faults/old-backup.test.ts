import assert from 'node:assert/strict';
import { test } from 'node:test';
import { copyDatabase } from '../support/rows.ts';
import { startTestServer } from '../support/test-server.ts';

const server = await startTestServer();
const browser = await server.signedIn();
const works = async (token: string) => (await server.listInvoices(token)).status;
const refreshed = async (token: string) => (await server.refresh(token)).body;
/** Longer than the retry window of a spent token. */
const LATER = 60_000;

/** A token carries its rotation, so it is accepted though the restored row is older. */
test('after an old backup is restored, every app continues with its newest token', async () => {
  const before = await server.connect({}, browser);
  const code = await server.allow({}, browser);
  const restore = await copyDatabase(server);
  const exchanged = (await server.exchange(code)).body;
  const newest = await refreshed((await refreshed(before.refresh_token)).refresh_token);
  server.advanceClock(LATER);
  await restore();

  assert.equal(await works(newest.access_token), 200);
  assert.equal((await server.refresh(newest.refresh_token)).status, 200);
  assert.equal((await server.refresh(exchanged.refresh_token)).status, 200);
  assert.equal((await server.exchange(code)).status, 400, 'the server has seen a token of this exchange since');
});

test('grants from after the backup are unknown, and grants revoked after it are active until they are revoked again', async () => {
  const ended = await server.connect({}, browser);
  const restore = await copyDatabase(server);
  await server.revoke(ended.refresh_token);
  const since = await server.connect({}, browser);
  await restore();

  assert.deepEqual([await works(since.access_token), (await server.refresh(since.refresh_token)).status], [401, 400]);
  assert.equal(await works(ended.access_token), 200, 'a plain copy of the file does this');
  assert.equal((await server.revoke(ended.refresh_token)).status, 200);
  assert.deepEqual([await works(ended.access_token), (await server.refresh(ended.refresh_token)).status], [401, 400]);
});

test('if two clients hold tokens from after the backup, the second use of either ends the grant', async () => {
  const first = await server.connect({}, browser);
  const restore = await copyDatabase(server);
  const stolen = await refreshed(first.refresh_token);
  const own = await refreshed((await refreshed(stolen.refresh_token)).refresh_token);
  server.advanceClock(LATER);
  await restore();

  const attacker = await server.refresh(stolen.refresh_token);
  const owner = await server.refresh(own.refresh_token);
  server.advanceClock(LATER);
  const again = await server.refresh(attacker.body.refresh_token);

  assert.deepEqual(
    [attacker.status, owner.status],
    [200, 200],
    'both tokens are newer than the row, and their signatures are valid',
  );
  assert.match(again.body.error_description, /\(refresh_token_reused\)$/);
  assert.deepEqual([await works(owner.body.access_token), await works(attacker.body.access_token)], [401, 401]);
  assert.equal((await server.refresh(owner.body.refresh_token)).status, 400);
});
