import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { removeOldEvents } from '../../src/events/events.ts';
import { DAY, HOUR } from '../../src/lib/clock.ts';
import { newId } from '../../src/lib/ids.ts';
import { retentionSteps } from '../../src/retention-steps.ts';
import { removeExpired } from '../../src/storage/retention.ts';
import type { Tables } from '../../src/storage/tables.ts';
import { newWorld, type World } from '../support/world.ts';

async function count(world: World, table: keyof Tables): Promise<number> {
  return (await world.storage().durable.selectFrom(table).selectAll().execute()).length;
}

async function removeAllExpired(world: World): Promise<void> {
  await removeExpired(world.storage().durable, retentionSteps(), world.clock());
}

test('a code that was not exchanged is removed within two days after it expired, and not before its error message is out of date', async () => {
  const world = await newWorld();
  const code = await world.allow();

  world.wind(HOUR);
  await removeAllExpired(world);
  const late = await world.exchange(code);
  world.wind(2 * DAY);
  await removeAllExpired(world);

  assert.match(late.body.error_description, /expired: codes last 10 minutes/);
  assert.equal(await count(world, 'grants'), 0);
});

test('a grant is kept for as long as it is refreshed', async () => {
  const world = await newWorld();
  let { refresh_token } = await world.connect();

  for (let i = 0; i < 4; i++) {
    world.wind(29 * DAY);
    await removeAllExpired(world);
    const { status, body } = await world.refresh(refresh_token);
    assert.equal(status, 200, JSON.stringify(body));
    refresh_token = body.refresh_token;
  }
});

test('a grant is removed one or two days after its last refresh token expired', async () => {
  const world = await newWorld();
  await world.connect();

  world.wind(30 * DAY);
  await removeAllExpired(world);
  const kept = await count(world, 'grants');
  world.wind(2 * DAY);
  await removeAllExpired(world);

  assert.equal(kept, 1);
  assert.equal(await count(world, 'grants'), 0);
});

test('a revoked grant is kept until its tokens have expired, so that the app receives the reason', async () => {
  const world = await newWorld();
  const { refresh_token } = await world.connect();
  await world.revoke(refresh_token);

  world.wind(29 * DAY);
  await removeAllExpired(world);

  assert.match((await world.refresh(refresh_token)).body.error_description, /revoked_by_app/);
});

test('the revocation of an access token is kept for an hour and a day, whatever the clock does meanwhile, and then removed', async () => {
  const world = await newWorld();
  const { access_token } = await world.connect();
  await world.revoke(access_token);

  world.wind(HOUR + DAY - 1);
  await removeAllExpired(world);
  world.wind(-DAY - 1);
  const during = await world.listInvoices(access_token);
  world.wind(DAY + 2);
  await removeAllExpired(world);
  const after = await world.listInvoices(access_token);

  assert.match(during.body.error_description, /revoked_by_app/);
  assert.equal(after.status, 401);
  assert.equal(await count(world, 'revoked_access_tokens'), 0);
});

test('an expired session is removed, and an active one is kept', async () => {
  const world = await newWorld();
  await world.signedIn();
  world.wind(6 * HOUR);
  const live = await world.signedIn();

  world.wind(6 * HOUR);
  await removeAllExpired(world);

  assert.equal(await count(world, 'sessions'), 1);
  assert.equal((await live.open('/settings/account')).url, `${world.web}/settings/account`);
});

test('an event is removed after 30 days, and a younger one is kept', async () => {
  const world = await newWorld();
  await world.allow();
  world.wind(20 * DAY);
  const before = await count(world, 'events');
  await world.allow();

  world.wind(10 * DAY + 1);
  await removeAllExpired(world);

  assert.ok(before > 0);
  assert.equal(await count(world, 'events'), 1);
});

test('users, apps, consents, memberships and invoices are never removed', async () => {
  const world = await newWorld();
  await world.connect();
  await world.addInvoice(world.acme);
  const kept = ['users', 'apps', 'app_secrets', 'consents', 'memberships', 'invoices', 'businesses'] as const;
  const before = await Promise.all(kept.map((table) => count(world, table)));

  world.wind(10_000 * DAY);
  await removeAllExpired(world);

  assert.deepEqual(await Promise.all(kept.map((table) => count(world, table))), before);
});

test('a backlog is removed in batches, the oldest rows first', async () => {
  const world = await newWorld();
  const now = world.clock();
  await world.storage().durable.deleteFrom('events').execute();
  const events = Array.from({ length: 1300 }, (_, i) => ({
    id: newId(now + i),
    type: 'grant.created',
    app_id: world.ledger.id,
    business_id: world.acme.id,
    data: '{}',
    created_at: now + i,
  }));
  await world.storage().durable.insertInto('events').values(events).execute();
  world.wind(31 * DAY);
  const left = [];

  for (let i = 0; i < 3; i++) {
    await removeOldEvents(world.storage().durable, 500, world.clock());
    left.push(await count(world, 'events'));
  }

  assert.deepEqual(left, [800, 300, 0]);
});

test('every step finds its rows by an index, so that a run does not depend on the size of the tables', async () => {
  const world = await newWorld();
  const { durable } = world.storage();
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
