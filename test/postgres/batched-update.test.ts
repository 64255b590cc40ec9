import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { sql } from 'kysely';
import { createGrant, findGrant, markExchanged, rotate } from '../../src/grants/grants.ts';
import { revokeByApp, revokeGrant } from '../../src/grants/revocation.ts';
import { newId } from '../../src/lib/ids.ts';
import { preparedQuery } from '../../src/storage/prepared-query.ts';
import { addGrant } from '../support/new-grants.ts';
import { startPostgresFixtures } from '../support/postgres-fixtures.ts';

const { storage, ada, acme, ledger } = await startPostgresFixtures();
const db = storage.durable;
const NOW = Date.now();

async function newGrant() {
  return findOne(await addGrant(db, { appId: ledger.id, userId: ada.id, businessId: acme.id }, NOW));
}

async function findOne(grantId: string) {
  const grant = await findGrant(db, { grantId, rotation: 0 }, NOW);
  return grant ?? assert.fail('there is no grant');
}

const newGrants = (count: number) => Promise.all(Array.from({ length: count }, newGrant));

const eventsOf = async (grantId: string) =>
  (await db.selectFrom('events').selectAll().where('type', '=', 'grant.revoked').execute())
    .map(({ data, ...event }) => ({ ...event, data: JSON.parse(data) }))
    .filter(({ data }) => data.grantId === grantId);

test('each of several refreshes in one event loop iteration moves its own row', async () => {
  const grants = await newGrants(3);
  const spent = [0, 4, 7];

  const moved = await Promise.all(
    grants.map((grant, index) => rotate(storage.relaxed, { grant, spent: spent[index] ?? 0 }, NOW)),
  );

  const found = await Promise.all(grants.map(({ id }) => findOne(id)));
  assert.deepEqual(moved, [true, true, true]);
  assert.deepEqual(
    found.map(({ rotation, rotatedAt }) => ({ rotation, rotatedAt })),
    [1, 5, 8].map((rotation) => ({ rotation, rotatedAt: NOW })),
  );
});

test('of several refreshes of one grant in one event loop iteration, one succeeds', async () => {
  const [grant, other] = await newGrants(2);
  assert.ok(grant && other);

  const moved = await Promise.all(
    [grant, grant, other, grant].map((each) => rotate(storage.relaxed, { grant: each, spent: 0 }, NOW)),
  );

  assert.equal(moved.filter(Boolean).length, 2);
  assert.equal(moved[2], true);
  assert.equal((await findOne(grant.id)).rotation, 1);
});

test('of several exchanges in one event loop iteration, those of revoked and exchanged grants fail alone', async () => {
  const [revoked, exchanged, open] = await newGrants(3);
  assert.ok(revoked && exchanged && open);
  await revokeGrant(db, revoked.id, 'disconnected_by_user', NOW);
  await markExchanged(db, exchanged.id, NOW);

  const marked = await Promise.all(
    [revoked.id, exchanged.id, newId(NOW), open.id].map((id) => markExchanged(db, id, NOW)),
  );

  assert.deepEqual(marked, [false, false, false, true]);
});

test('each of several revocations in one event loop iteration leaves one event and one audit entry', async () => {
  const grants = await newGrants(3);
  const addresses = ['192.0.2.1', '"a", \\b {c}', 'NULL'];

  await Promise.all(
    grants.map(({ id: grantId }, index) => revokeByApp(db, { grantId, address: addresses[index] ?? '' }, NOW)),
  );

  for (const { id: grantId } of grants) {
    const [event, ...others] = await eventsOf(grantId);
    assert.deepEqual(event?.data, { grantId, userId: ada.id, reason: 'revoked_by_app' });
    assert.deepEqual([event?.app_id, event?.business_id, event?.created_at], [ledger.id, acme.id, NOW]);
    assert.equal(others.length, 0);
    assert.equal((await findOne(grantId)).inactiveReason, 'revoked_by_app');
  }
  const entries = await db.selectFrom('audit_entries').selectAll().where('action', '=', 'grant.revoked').execute();
  assert.deepEqual(entries.map(({ address }) => address).sort(), addresses.sort());
  assert.deepEqual(new Set(entries.map(({ actor_id }) => actor_id)), new Set([ledger.id]));
});

test('a grant that is revoked several times in one event loop iteration keeps one reason and gets one event', async () => {
  const [grant, other] = await newGrants(2);
  assert.ok(grant && other);

  const revoked = await Promise.all([
    revokeGrant(db, grant.id, 'code_reused', NOW),
    revokeGrant(db, other.id, 'refresh_token_reused', NOW),
    revokeGrant(db, grant.id, 'code_verifier_wrong', NOW),
  ]);

  const [event, ...others] = await eventsOf(grant.id);
  assert.deepEqual([revoked.filter(Boolean).length, others.length], [2, 0]);
  assert.equal((await findOne(grant.id)).inactiveReason, event?.data.reason);
  assert.equal((await findOne(other.id)).inactiveReason, 'refresh_token_reused');
});

test('a locked grant delays no other of its batch, and changes when it is free', async () => {
  const [locked, free] = await newGrants(2);
  assert.ok(locked && free);
  let isRevoked = false;
  let revoking: Promise<unknown> | undefined;

  await storage.transaction(async (tx) => {
    await tx.selectFrom('grants').select('id').where('id', '=', locked.id).forUpdate().execute();
    revoking = revokeGrant(db, locked.id, 'code_reused', NOW).then((done) => {
      isRevoked = done;
    });
    assert.equal(await revokeGrant(db, free.id, 'code_reused', NOW), true);
    assert.equal(isRevoked, false);
  });
  await revoking;

  assert.equal(isRevoked, true);
  assert.equal((await findOne(locked.id)).inactiveReason, 'code_reused');
});

test('values that PostgreSQL rejects fail their own revocation only', async () => {
  const [first, second] = await newGrants(2);
  assert.ok(first && second);

  const results = await Promise.allSettled([
    revokeByApp(db, { grantId: first.id, address: 'a\0b' }, NOW),
    revokeByApp(db, { grantId: `${first.id},${second.id}`, address: '' }, NOW),
    revokeByApp(db, { grantId: second.id, address: '' }, NOW),
    setImmediate(),
  ]);

  assert.deepEqual(
    results.map(({ status }) => status),
    ['rejected', 'rejected', 'fulfilled', 'fulfilled'],
  );
  assert.equal((await findOne(first.id)).inactiveReason, null);
  assert.equal((await findOne(second.id)).inactiveReason, 'revoked_by_app');
});

test('of two grants created with the same id at the same time, one is created, with one event', async () => {
  const { appId, userId, businessId, connectedFor } = await newGrant();
  const parties = { appId, userId, businessId, connectedFor };
  const request = { scopes: [], expiresAt: null, resource: null, redirectUri: null, codeChallenge: null, stops: 0 };
  const [id, other] = [newId(Date.now()), newId(Date.now())];

  const [one, separate, two] = await Promise.all(
    [id, other, id].map((each) => createGrant(db, { id: each, ...parties, ...request }, NOW)),
  );

  // Each runs on its own connection: either may be first.
  const created = [one, two].filter((grant) => grant !== undefined);
  assert.deepEqual([created.length, separate?.id], [1, other]);
  assert.deepEqual((await findOne(id)).salt, created[0]?.salt);
  const events = await db.selectFrom('events').select('data').where('type', '=', 'grant.created').execute();
  assert.equal(events.filter(({ data }) => JSON.parse(data).grantId === id).length, 1);
});

/** A read with a `with` clause runs on the connection of the refreshes. */
const readPlans = preparedQuery((database, { like }: { like: string }) =>
  database
    .with('plans', (creator) =>
      creator
        .selectFrom(sql<{ statement: string; custom_plans: number }>`pg_prepared_statements`.as('all'))
        .select(['all.statement', 'all.custom_plans'])
        .where('all.statement', 'like', like),
    )
    .selectFrom('plans')
    .selectAll(),
);

test('a batch of refreshes is planned five times per connection, and then no more', async () => {
  let grants = await newGrants(2);
  for (let batch = 1; batch <= 12; batch += 1) {
    await Promise.all(grants.map((grant) => rotate(storage.relaxed, { grant, spent: grant.rotation }, NOW)));
    grants = await Promise.all(grants.map(({ id }) => findOne(id)));
  }

  const { rows } = await readPlans(storage.relaxed, { like: '%"value_from"%' });

  assert.ok(rows.length > 0);
  for (const { custom_plans: plans } of rows) assert.ok(plans <= 5, `${plans} plans`);
});

test('a batch of refreshes finds each of many grants by its id', async () => {
  const { id } = await newGrant();
  const columns = sql.raw(
    'salt, app_id, user_id, business_id, scopes, created_at, code_expires_at, rotation, removable_on',
  );
  // In parts: a statement may take three seconds.
  for (let part = 0; part < 10; part += 1) {
    await sql`insert into grants (id, ${columns})
      select gen_random_uuid(), ${columns} from grants, generate_series(1, 2000) where grants.id = ${id}`.execute(db);
  }
  await sql`analyze grants`.execute(db);

  const { rows } = await readPlans(storage.relaxed, { like: '%"value_from"%' });
  const plans = await Promise.all(
    rows.map(({ statement }) => sql.raw<object>(`explain ${statement.replace(/\$\d+/g, "'{}'")}`).execute(db)),
  );

  assert.ok(plans.length > 0);
  for (const plan of plans) assert.doesNotMatch(JSON.stringify(plan.rows), /Seq Scan on grants/);
});
