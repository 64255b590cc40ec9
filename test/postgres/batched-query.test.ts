import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { findGrant } from '../../src/grants/grants.ts';
import { revokeGrant } from '../../src/grants/revocation.ts';
import { newId } from '../../src/lib/ids.ts';
import { batchedQuery } from '../../src/storage/batched-query.ts';
import { preparedQuery } from '../../src/storage/prepared-query.ts';
import { addGrant } from '../support/new-grants.ts';
import { startPostgresFixtures } from '../support/postgres-fixtures.ts';

const { storage, ada, acme, ledger } = await startPostgresFixtures();
const db = storage.durable;
const NOW = Date.now();

const newGrant = () => addGrant(db, { appId: ledger.id, userId: ada.id, businessId: acme.id }, NOW);

const find = (grantId: string, rotation = 0) => findGrant(db, { grantId, rotation }, NOW);

test('each of several reads in one event loop iteration finds its own grant, and none for an unknown id', async () => {
  const [first, second] = [await newGrant(), await newGrant()];
  await revokeGrant(db, second, 'disconnected_by_user', NOW);

  const found = await Promise.all([find(first), find(newId(NOW)), find(second), find(first)]);

  assert.deepEqual(
    found.map((grant) => grant && { id: grant.id, inactiveReason: grant.inactiveReason }),
    [
      { id: first, inactiveReason: null },
      undefined,
      { id: second, inactiveReason: 'disconnected_by_user' },
      { id: first, inactiveReason: null },
    ],
  );
  assert.deepEqual(found[0], await find(first));
});

test('of several access tokens of one grant that are read at once, only the revoked one is revoked', async () => {
  const grant_id = await newGrant();
  await db.insertInto('revoked_access_tokens').values({ grant_id, rotation: 1, expires_at: NOW }).execute();

  const found = await Promise.all([0, 1, 2].map((rotation) => find(grant_id, rotation)));

  assert.deepEqual(
    found.map((grant) => grant?.revokedTokens),
    [null, 'all', null],
  );
});

const readSecrets = batchedQuery({ appId: 'uuid' }, (database, { appId }: { appId: string }) =>
  database.selectFrom('app_secrets').selectAll().where('app_id', '=', appId),
);

test('a read of a batch gets all of its rows', async () => {
  const second = { id: newId(NOW), app_id: ledger.id, slot: 2, secret_hash: '-', hint: '-', created_at: NOW };
  await db.insertInto('app_secrets').values(second).execute();

  const [none, both] = await Promise.all([
    readSecrets(db, { appId: newId(NOW) }),
    readSecrets(db, { appId: ledger.id }),
  ]);

  assert.deepEqual([none.rows.length, both.rows.length], [0, 2]);
});

test('more reads than fit in one batch get their own rows', async () => {
  const ids = [await newGrant(), await newGrant()];
  const wanted = Array.from({ length: 130 }, (_, index) => ids[index % 2] ?? '');

  const found = await Promise.all(wanted.map((id) => find(id)));

  assert.deepEqual(
    found.map((grant) => grant?.id),
    wanted,
  );
});

test('if the statement of a batch fails, every read of it fails', async () => {
  const fail = batchedQuery({ id: 'uuid' }, (database, { id }: { id: string }) =>
    database.selectFrom('users').select(sql`1 / 0`.as('failed')).where('id', '=', id),
  );

  const results = await Promise.allSettled([fail(db, { id: ada.id }), fail(db, { id: ada.id })]);

  assert.deepEqual(
    results.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
});

test('a malformed value fails its own read only, and moves no rows to another', async () => {
  const [first, second] = [await newGrant(), await newGrant()];
  const malformed = [`${first},${first}`, '}', `${first}\n`, ''];

  const found = await Promise.allSettled([
    ...malformed.map((id) => find(id)),
    find(first, 0.5),
    find(first),
    find(second),
  ]);

  assert.deepEqual(
    found.map((result) => (result.status === 'fulfilled' ? result.value?.id : result.status)),
    [...malformed, ''].map(() => 'rejected').concat(first, second),
  );
});

test('texts of a batch find what they name, whatever characters they have', async () => {
  const read = batchedQuery({ email: 'text' }, (database, { email }: { email: string }) =>
    database.selectFrom('users').select('email').where('email', '=', email),
  );

  const found = await Promise.all([`${ada.email},`, 'NULL', '"', '\\', ada.email].map((email) => read(db, { email })));

  assert.deepEqual(
    found.map(({ rows }) => rows.map(({ email }) => email)),
    [[], [], [], [], [ada.email]],
  );
});

/** Runs on the same connection as the reads. */
const readPlans = preparedQuery((database, { like }: { like: string }) =>
  database
    .selectFrom(
      sql<{ statement: string; generic_plans: number; custom_plans: number }>`pg_prepared_statements`.as('all'),
    )
    .select(['all.generic_plans', 'all.custom_plans'])
    .where('all.statement', 'like', like),
);

test('a batch of two is planned five times per connection, and then no more, also if larger ones cost more', async () => {
  const read = batchedQuery({ planned: 'uuid' }, (database, { planned }: { planned: string }) =>
    database
      .selectFrom('users')
      .innerJoin(sql`generate_series(1, 1000)`.as('each'), (join) => join.onTrue())
      .select('users.id')
      .where('users.id', '=', planned),
  );
  const values = { planned: ada.id };
  for (let batch = 1; batch <= 12; batch += 1) await Promise.all([read(db, values), read(db, values)]);

  const { rows } = await readPlans(db, { like: '%"value_planned"%' });

  assert.deepEqual(rows, [{ generic_plans: 7, custom_plans: 5 }]);
});

test('a read in a transaction sees what the transaction has written', async () => {
  const id = await newGrant();

  const reasons = await storage.transaction(async (tx) => {
    await revokeGrant(tx, id, 'disconnected_by_user', NOW);
    const both = [findGrant(tx, { grantId: id, rotation: 0 }, NOW), findGrant(tx, { grantId: id, rotation: 0 }, NOW)];
    return (await Promise.all(both)).map((grant) => grant?.inactiveReason);
  });

  assert.deepEqual(reasons, ['disconnected_by_user', 'disconnected_by_user']);
});
