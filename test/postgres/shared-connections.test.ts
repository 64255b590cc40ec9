import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { sql } from 'kysely';
import pg from 'pg';
import { createGrant, findGrant, type Grant, rotate } from '../../src/grants/grants.ts';
import { revokeGrant } from '../../src/grants/revocation.ts';
import { migrate } from '../../src/storage/migrate.ts';
import { openStorage } from '../../src/storage/open.ts';
import { preparedQuery } from '../../src/storage/prepared-query.ts';
import { pipelineWrites, StorageUnavailable } from '../../src/storage/storage.ts';
import { withLongConnectTimeout } from '../support/databases.ts';
import { createFixtures } from '../support/fixtures.ts';
import { startPostgres } from '../support/postgres-server.ts';

const server = await startPostgres();
const url = withLongConnectTimeout(server.url);
const migrating = await openStorage(url, 'migrating');
await migrate(migrating);
await migrating.close();
const storage = await openStorage(url);
const fixtures = await createFixtures(() => storage, Date.now);
const other = new pg.Client(server.url);
await other.connect();
after(async () => {
  await other.end();
  await storage.close();
  await server.remove();
});

const NOW = Date.now();

const NEW_GRANT = {
  connectedFor: 'user' as const,
  appId: fixtures.ledger.id,
  userId: fixtures.ada.id,
  businessId: fixtures.acme.id,
  scopes: ['read:invoices'],
  expiresAt: null,
  resource: null,
  redirectUri: null,
  codeChallenge: null,
  stops: 0,
};

async function newGrant(): Promise<string> {
  const id = crypto.randomUUID();
  await createGrant(storage.durable, { ...NEW_GRANT, id }, NOW);
  return id;
}

const find = (grantId: string) => findGrant(storage.durable, { grantId, rotation: 0 }, Date.now());

async function connections(): Promise<number> {
  const own = 'select count(*)::int as count from pg_stat_activity where application_name like $1';
  return (await other.query(own, ['gatehouse %'])).rows[0].count;
}

test('two hundred concurrent reads take one connection, and each returns its own row', async () => {
  const ids: string[] = [];
  while (ids.length < 200) ids.push(...(await Promise.all(Array.from({ length: 10 }, newGrant))));
  await find(ids[0] ?? '');
  const before = await connections();

  const found = await Promise.all(ids.map(find));

  assert.deepEqual(
    found.map((grant) => grant?.id),
    ids,
  );
  assert.equal(await connections(), before);
});

test('reads continue while a rotation waits for a locked row, and the rotation succeeds when the lock is released', async () => {
  const id = await newGrant();
  const grant = (await find(id)) as Grant;
  await other.query('begin');
  await other.query('update grants set scopes = scopes where id = $1', [id]);

  const rotating = rotate(storage.relaxed, { grant, spent: 0 }, NOW);
  const meanwhile = await find(id);
  await other.query('commit');

  assert.equal(meanwhile?.rotation, 0);
  assert.equal(await rotating, true);
  assert.equal((await find(id))?.rotation, 1);
});

test('a rotation that waits too long for a locked row fails, and later ones succeed', async () => {
  const [held, free] = [(await find(await newGrant())) as Grant, (await find(await newGrant())) as Grant];
  await other.query('begin');
  await other.query('update grants set scopes = scopes where id = $1', [held.id]);

  const rotated = await Promise.allSettled(
    [held, free].map((grant) => rotate(storage.relaxed, { grant, spent: 0 }, NOW)),
  );
  await other.query('commit');

  assert.deepEqual(
    rotated.map(({ status }) => status),
    ['rejected', 'fulfilled'],
  );
  assert.ok(rotated[0]?.status === 'rejected' && rotated[0].reason instanceof StorageUnavailable);
});

test('rotations that wait for a locked row do not delay rotations of other grants', async () => {
  const locked = (await find(await newGrant())) as Grant;
  const free = await Promise.all(Array.from({ length: 50 }, async () => (await find(await newGrant())) as Grant));
  await other.query('begin');
  await other.query('update grants set scopes = scopes where id = $1', [locked.id]);
  let isFirstSettled = false;

  const first = rotate(storage.relaxed, { grant: locked, spent: 0 }, NOW).finally(() => {
    isFirstSettled = true;
  });
  const more = Promise.allSettled(
    Array.from({ length: 50 }, () => rotate(storage.relaxed, { grant: locked, spent: 0 }, NOW)),
  );
  const rotated = await Promise.all(free.map((grant) => rotate(storage.relaxed, { grant, spent: 0 }, NOW)));
  const wasWaiting = !isFirstSettled;
  await other.query('commit');

  assert.ok(rotated.every(Boolean));
  assert.equal(wasWaiting, true);
  const wins = [await first, ...(await more).map((one) => one.status === 'fulfilled' && one.value)];
  assert.equal(wins.filter(Boolean).length, 1);
  for (const one of await more) assert.ok(one.status === 'fulfilled' || one.reason instanceof StorageUnavailable);
});

test('a transaction whose last writes fail is rolled back, although its commit was sent with them', async () => {
  const id = await newGrant();
  const entry = { ...NEW_GRANT, id: crypto.randomUUID() };

  const written = storage.transaction(async (tx) => {
    const invalid = createGrant(tx, { ...NEW_GRANT, id: crypto.randomUUID(), appId: 'not an id' }, NOW);
    await pipelineWrites(tx, [revokeGrant(tx, id, 'revoked_by_app', NOW), invalid, createGrant(tx, entry, NOW)]);
  });

  await assert.rejects(written, /invalid input syntax for type uuid/);
  assert.equal((await find(id))?.inactiveReason, null);
  assert.equal(await find(entry.id), undefined);
});

test('a transaction throws the failure of its first statement, and not that the later ones were rejected', async () => {
  const fail = preparedQuery((database, { id }: { id: string }) =>
    database.selectFrom('users').select(sql`1 / 0`.as('failed')).where('id', '=', id),
  );
  const read = preparedQuery((database, { id }: { id: string }) =>
    database.selectFrom('users').select('id').where('id', '=', id),
  );
  const { id } = fixtures.ada;
  const warm = () => storage.transaction(async (tx) => void (await read(tx, { id })));
  await warm();

  const failing = storage.transaction((tx) => Promise.all([fail(tx, { id }), read(tx, { id })]));

  await assert.rejects(failing, /division by zero/);
});

test('after a shared connection breaks, the next statement opens another', async () => {
  const id = await newGrant();
  await find(id);
  await other.query('select pg_terminate_backend(pid) from pg_stat_activity where application_name like $1', [
    'gatehouse %',
  ]);

  const first = await find(id).catch((error) => error);
  const second = await find(id);

  assert.ok(first.id === id || first instanceof StorageUnavailable, String(first));
  assert.equal(second?.id, id);
});

test('requests wait for a locked table, even if the first fails to prepare their statement on the shared connection', async () => {
  const fresh = await openStorage(url);
  const grants = await Promise.all(Array.from({ length: 3 }, async () => (await find(await newGrant())) as Grant));
  await other.query('begin; lock table grants in access exclusive mode');

  const rotations = Promise.allSettled(grants.map((grant) => rotate(fresh.relaxed, { grant, spent: 0 }, NOW)));
  await other.query('select pg_sleep(0.1)');
  await other.query('commit');

  const expected = { status: 'fulfilled', value: true };
  assert.deepEqual(await rotations, [expected, expected, expected]);
  await fresh.close();
});
