import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { sql } from 'kysely';
import { oldEvents } from '../../src/events/events.ts';
import { retentionSteps } from '../../src/jobs.ts';
import { DAY, HOUR, SECOND } from '../../src/lib/clock.ts';
import { newId } from '../../src/lib/ids.ts';
import { removeExpired, startRetention } from '../../src/storage/retention.ts';
import type { Tables } from '../../src/storage/tables.ts';
import { startTestServer, type TestServer } from '../support/test-server.ts';

async function count(server: TestServer, table: keyof Tables): Promise<number> {
  return (await server.storage().durable.selectFrom(table).selectAll().execute()).length;
}

async function removeAllExpired(server: TestServer): Promise<void> {
  await removeExpired(server.storage().durable, retentionSteps(), server.clock());
}

test('a code that was not exchanged is removed within two days after it expired, and not before its error message is out of date', async () => {
  const server = await startTestServer();
  const code = await server.allow();

  server.advanceClock(HOUR);
  await removeAllExpired(server);
  const late = await server.exchange(code);
  server.advanceClock(2 * DAY);
  await removeAllExpired(server);

  assert.match(late.body.error_description, /expired: codes last 10 minutes/);
  assert.equal(await count(server, 'grants'), 0);
});

test('a grant is kept for as long as it is refreshed', async () => {
  const server = await startTestServer();
  let { refresh_token } = await server.connect();

  for (let i = 0; i < 4; i++) {
    server.advanceClock(29 * DAY);
    await removeAllExpired(server);
    const { status, body } = await server.refresh(refresh_token);
    assert.equal(status, 200, JSON.stringify(body));
    refresh_token = body.refresh_token;
  }
});

test('a grant is removed one or two days after its last refresh token expired', async () => {
  const server = await startTestServer();
  await server.connect();

  server.advanceClock(30 * DAY);
  await removeAllExpired(server);
  const kept = await count(server, 'grants');
  server.advanceClock(2 * DAY);
  await removeAllExpired(server);

  assert.equal(kept, 1);
  assert.equal(await count(server, 'grants'), 0);
});

test('a revoked grant is kept until its tokens have expired, so that the app receives the reason', async () => {
  const server = await startTestServer();
  const { refresh_token } = await server.connect();
  await server.revoke(refresh_token);

  server.advanceClock(29 * DAY);
  await removeAllExpired(server);

  assert.match((await server.refresh(refresh_token)).body.error_description, /revoked_by_app/);
});

test('the revocation of an access token is kept for an hour and a day, whatever the clock does meanwhile, and then removed', async () => {
  const server = await startTestServer();
  const { access_token } = await server.connect();
  await server.revoke(access_token);

  server.advanceClock(HOUR + DAY - 1);
  await removeAllExpired(server);
  server.advanceClock(-DAY - 1);
  const during = await server.listInvoices(access_token);
  server.advanceClock(DAY + 2);
  await removeAllExpired(server);
  const after = await server.listInvoices(access_token);

  assert.equal(during.body.reason, 'access_token_revoked');
  assert.equal(after.status, 401);
  assert.equal(await count(server, 'revoked_access_tokens'), 0);
});

test('an expired session is removed, and an active one is kept', async () => {
  const server = await startTestServer();
  await server.signedIn();
  server.advanceClock(6 * HOUR);
  const live = await server.signedIn();

  server.advanceClock(6 * HOUR);
  await removeAllExpired(server);

  assert.equal(await count(server, 'sessions'), 1);
  assert.equal((await live.open('/settings/account')).url, `${server.web}/settings/account`);
});

test('an event is removed after 30 days, and a younger one is kept', async () => {
  const server = await startTestServer();
  await server.allow();
  server.advanceClock(20 * DAY);
  const before = await count(server, 'events');
  await server.allow();

  server.advanceClock(10 * DAY + 1);
  await removeAllExpired(server);

  assert.ok(before > 0);
  assert.equal(await count(server, 'events'), 1);
});

test('users, apps, consents, memberships and invoices are never removed', async () => {
  const server = await startTestServer();
  await server.connect();
  await server.addInvoice(server.acme);
  const kept = ['users', 'apps', 'app_secrets', 'consents', 'memberships', 'invoices', 'businesses'] as const;
  const before = await Promise.all(kept.map((table) => count(server, table)));

  server.advanceClock(10_000 * DAY);
  await removeAllExpired(server);

  assert.deepEqual(await Promise.all(kept.map((table) => count(server, table))), before);
});

test('a backlog is removed in batches, the oldest rows first', async () => {
  const server = await startTestServer();
  const now = server.clock();
  await server.storage().durable.deleteFrom('events').execute();
  const events = Array.from({ length: 1300 }, (_, i) => ({
    id: newId(now + i),
    type: 'grant.created',
    app_id: server.ledger.id,
    business_id: server.acme.id,
    data: '{}',
    created_at: now + i,
  }));
  await server.storage().durable.insertInto('events').values(events).execute();
  server.advanceClock(31 * DAY);
  const left = [];

  for (let i = 0; i < 3; i++) {
    await oldEvents.remove(server.storage().durable, 500, server.clock());
    left.push(await count(server, 'events'));
  }

  assert.deepEqual(left, [800, 300, 0]);
});

test('a step that fails stops neither the steps after it, nor the return of free pages, nor the notices of grants that expire', {
  timeout: 30_000,
}, async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const server = await startTestServer();
  const { durable } = server.storage();
  const event = { id: newId(1), type: 'app.disabled', data: '{}', created_at: 1 };
  const of = { app_id: server.ledger.id, business_id: server.acme.id };
  await durable.deleteFrom('events').execute();
  await durable
    .insertInto('events')
    .values({ ...event, ...of })
    .execute();
  const done: string[] = [];
  const failing = async () => assert.fail('This step always fails.');
  const storage = {
    ...server.storage(),
    async releaseFreePages() {
      done.push('free pages');
      return false;
    },
  };
  const reported: unknown[] = [];
  let isNotified = false;
  const stop = startRetention(storage, server.clock, {
    steps: [
      { table: 'sessions', remove: failing },
      { table: 'grants', prepare: failing, remove: async () => assert.fail('The rows were not prepared.') },
      oldEvents,
    ],
    async notifyExpiring() {
      isNotified = true;
      return 0;
    },
    meter: { removed() {}, finished: () => done.push('finished'), recordClockJump() {} },
    report: (error) => reported.push(error),
    warn: assert.fail,
  });

  while (!isNotified) {
    t.mock.timers.tick(5 * SECOND);
    await setImmediate();
  }
  await stop();

  assert.equal(await count(server, 'events'), 0);
  const [error] = reported;
  assert.ok(error instanceof AggregateError);
  assert.deepEqual(error.errors.map(String), ['AssertionError [ERR_ASSERTION]: This step always fails.']);
  assert.deepEqual(new Set(done), new Set(['free pages']));
});

test('every step finds its rows by an index, so that a run does not depend on the size of the tables', async () => {
  const server = await startTestServer();
  const { durable } = server.storage();
  const plans = [];
  const queries = [
    durable.selectFrom('grants').select('id').where('removable_on', '<=', 1).limit(500),
    durable.selectFrom('revoked_access_tokens').select('grant_id').where('expires_at', '<=', 1).orderBy('expires_at'),
    durable.selectFrom('sessions').select('id_hash').where('expires_at', '<=', 1).orderBy('expires_at').limit(500),
    durable.selectFrom('events').select('id').where('created_at', '<', 1).orderBy('created_at').limit(500),
    durable.selectFrom('deliveries').select('id').where('created_at', '<', 1).orderBy('created_at').limit(500),
    durable.selectFrom('attempts').select('id').where('at', '<', 1).orderBy('at').limit(500),
    durable.selectFrom('logged_requests').select('id').where('at', '<', 1).orderBy('at').limit(500),
    durable.selectFrom('request_counts').select('app_id').where('hour', '<', 1).orderBy('hour').limit(500),
    durable.selectFrom('scope_uses').select('app_id').where('day', '<', 1).orderBy('day').limit(500),
  ];

  for (const query of queries) plans.push(...(await query.explain<{ detail: string }>(undefined, sql`query plan`)));

  assert.equal(plans.length, queries.length);
  for (const { detail } of plans) assert.match(detail, /^SEARCH \w+ USING (?:COVERING )?INDEX/);
});
