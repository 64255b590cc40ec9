import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import type { ApiResponse } from '../../support/client.ts';
import { countGrants, readGrant, withReadOnlyDatabase } from '../../support/rows.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const browser = await server.signedIn();
const works = async (accessToken: string) => (await server.listInvoices(accessToken)).status === 200;

function assertUnavailable({ status, body, headers }: ApiResponse) {
  assert.deepEqual([status, body.error], [503, 'temporarily_unavailable']);
  assert.match(headers.get('retry-after') ?? '', /^\d+$/);
  assert.equal(headers.get('cache-control'), 'no-store');
  assert.equal('access_token' in body, false);
}

/** While `work` runs, every write to the table fails. */
async function withoutTable(table: string, work: () => Promise<void>) {
  const { durable } = server.storage();
  await sql`alter table ${sql.table(table)} rename to missing`.execute(durable);
  try {
    await work();
  } finally {
    await sql`alter table missing rename to ${sql.table(table)}`.execute(durable);
  }
}

test('an exchange that cannot be stored is a 503, and the code still works [T29]', async () => {
  const code = await server.allow({}, browser);
  await server.exchange('any');

  assertUnavailable(await withReadOnlyDatabase(server, () => server.exchange(code)));

  const { exchanged_at, rotated_at, revoked_at } = await readGrant(server, code);
  assert.deepEqual([exchanged_at, rotated_at, revoked_at], [null, null, null]);
  assert.equal((await server.exchange(code)).status, 200);
});

test('a refresh that cannot be stored is a 503, and the refresh token still works [T29]', async () => {
  const { refresh_token } = await server.connect({}, browser);
  const before = await readGrant(server, refresh_token);

  assertUnavailable(await withReadOnlyDatabase(server, () => server.refresh(refresh_token)));

  assert.deepEqual(await readGrant(server, refresh_token), before);
  assert.equal((await server.refresh(refresh_token)).status, 200);
});

test('a revocation that cannot be stored is a 503, never a false 200 [R5]', async () => {
  const { access_token, refresh_token } = await server.connect({}, browser);

  assertUnavailable(await withReadOnlyDatabase(server, () => server.revoke(refresh_token)));
  assertUnavailable(await withReadOnlyDatabase(server, () => server.revoke(access_token)));

  assert.equal(await works(access_token), true);
  assert.equal((await server.revoke(access_token)).status, 200);
  assert.equal(await works(access_token), false);
  assert.equal((await server.revoke(refresh_token)).status, 200);
  assert.equal((await server.refresh(refresh_token)).body.error, 'invalid_grant');
});

test('a replay that cannot be stored is a 503, and ends the grant at the next attempt [T29]', async () => {
  const { refresh_token } = await server.connect({}, browser);
  assert.equal(await works((await server.refresh(refresh_token)).body.access_token), true);
  server.advanceClock(45_000);

  assertUnavailable(await withReadOnlyDatabase(server, () => server.refresh(refresh_token)));
  assert.match((await server.refresh(refresh_token)).body.error_description, /\(refresh_token_reused\)$/);
});

test('an Allow that cannot be stored is a 503 page, and neither grant nor consent is left behind [T29]', async () => {
  const member = await server.signedIn(await server.addUser('Grace', [[server.acme, 'member']]));
  const page = await member.open(server.authorizeUrl());
  const before = await countGrants(server);

  const response = await withReadOnlyDatabase(server, () => member.submit(page, '/consent', { decision: 'allow' }));

  assert.equal(response.status, 503);
  assert.equal(response.leftTo, undefined);
  assert.equal(await countGrants(server), before);
  assert.equal((await member.open(server.authorizeUrl())).status, 200, 'consent is still needed');
  assert.ok((await member.submit(page, '/consent', { decision: 'allow' })).leftTo?.searchParams.get('code'));
});

test('if the last of several writes fails, all are rolled back and no response reports success [T29]', async () => {
  const member = await server.signedIn(await server.addUser('Edsger', [[server.acme, 'member']]));
  const page = await member.open(server.authorizeUrl());
  const { access_token, refresh_token } = await server.connect({}, browser);
  const before = await countGrants(server);

  await withoutTable('events', async () => {
    const allowed = await member.submit(page, '/consent', { decision: 'allow' });
    assert.ok(allowed.status >= 500);
    assert.equal(allowed.leftTo, undefined);
    const revoked = await server.revoke(refresh_token);
    assert.ok(revoked.status >= 500);
    assert.doesNotMatch(JSON.stringify(revoked.body), /events|relation|sqlite|stack/i);
  });

  assert.equal(await countGrants(server), before);
  assert.equal((await member.open(server.authorizeUrl())).status, 200, 'consent is still needed');
  assert.equal(await works(access_token), true);
  assert.equal((await readGrant(server, refresh_token)).revoked_at, null);
});

test('a revocation whose audit entry cannot be stored is rolled back [T29]', async () => {
  const { access_token, refresh_token } = await server.connect({}, browser);

  await withoutTable('audit_entries', async () => assert.ok((await server.revoke(refresh_token)).status >= 500));

  assert.equal(await works(access_token), true);
  assert.equal((await readGrant(server, refresh_token)).revoked_at, null);
});
