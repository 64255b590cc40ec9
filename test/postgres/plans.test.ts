import assert from 'node:assert/strict';
import { constants, DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { sql } from 'kysely';
import { searchEntries } from '../../src/audit/search.ts';
import { listRecords } from '../../src/business/pages.ts';
import { findGrant, type Grant, rotate } from '../../src/grants/grants.ts';
import { DAY } from '../../src/lib/clock.ts';
import { newId } from '../../src/lib/ids.ts';
import { createKeyring } from '../../src/lib/keyring.ts';
import { createRateLimit } from '../../src/lib/rate-limit.ts';
import { authenticateClient } from '../../src/oauth/client-authentication.ts';
import { decodeToken, encodeToken, NO_SCOPE_BITS } from '../../src/oauth/tokens.ts';
import { invoices } from '../../src/resources/invoices.ts';
import { migrate } from '../../src/storage/migrate.ts';
import { openStorage } from '../../src/storage/open.ts';
import { type ExecutedStatement, watchStatements } from '../../src/storage/statement-log.ts';
import type { Database, Storage } from '../../src/storage/storage.ts';
import { withLongConnectTimeout } from '../support/databases.ts';
import { startPostgres } from '../support/postgres-server.ts';

const GRANT = '0190b9a1-7d4c-7c5e-9a51-3c2f6f0e8d10';

const CHECK = [
  'SEARCH grants USING INDEX sqlite_autoindex_grants_1',
  'SEARCH apps USING INDEX sqlite_autoindex_apps_1',
  'SEARCH disabled USING INDEX users_disabled',
  'SEARCH memberships USING COVERING INDEX memberships_since',
  // Hardly any app or user was ever stopped, so this table is small.
  'SEARCH app_stop USING INDEX sqlite_autoindex_stops_1',
  'SEARCH pair_stop USING INDEX sqlite_autoindex_stops_1',
  'SEARCH user_stop USING INDEX sqlite_autoindex_stops_1',
  'SEARCH revoked USING INDEX sqlite_autoindex_revoked_access_tokens_1',
];

/** The first statement that `work` executes. */
async function firstStatement(
  open: () => Promise<Storage>,
  work: (storage: Storage) => Promise<unknown>,
): Promise<[Database, string]> {
  let seen: ExecutedStatement[] = [];
  const stopWatching = watchStatements((statement) => seen.push(statement));
  const storage = await open();
  seen = [];
  await work(storage);
  stopWatching();
  return [storage.durable, seen[0]?.sql ?? ''];
}

async function openMemory(): Promise<Storage> {
  const storage = await openStorage('sqlite::memory:');
  after(() => storage.close());
  await migrate(storage);
  return storage;
}

async function planOf([db, text]: [Database, string]): Promise<string[]> {
  const { rows } = await sql.raw<{ detail: string }>(`explain query plan ${text}`).execute(db);
  return rows.map(({ detail }) => detail.replace(/ \(.*/, ''));
}

const check = ({ durable }: Storage) => findGrant(durable, { grantId: GRANT, rotation: 0 }, 0);

test('a token check reads the rows of the grant and its app, and only indexes of users and memberships', async () => {
  assert.deepEqual(await planOf(await firstStatement(openMemory, check)), CHECK);
});

test('an app and its token are found by one statement, each by its primary key', async () => {
  const keys = createKeyring(['the-key-that-this-test-signs-with']);
  const fields = { kind: 'refresh', grantId: GRANT, rotation: 0, expiresAt: 0, scopeBits: NO_SCOPE_BITS } as const;
  const token = decodeToken(keys, 'refresh', encodeToken(keys, new Uint8Array(16), fields));
  const limit = createRateLimit({ points: 10, seconds: 60 });
  const credentials = {
    authorization: undefined,
    clientId: GRANT,
    clientSecret: '-',
    address: '127.0.0.1',
    context: {},
  };

  const plan = await planOf(
    await firstStatement(openMemory, async (storage) => {
      const limits = { perApp: limit, wrongSecrets: limit };
      const identified = authenticateClient({ storage, limits }, credentials, token, 0);
      await assert.rejects(identified, /No app has this client_id/);
    }),
  );

  // Each is found by its own key, so the order of the searches does not matter.
  const expected = [
    'SEARCH client USING INDEX sqlite_autoindex_apps_1',
    ...CHECK,
    'SEARCH app_secrets USING INDEX sqlite_autoindex_app_secrets_2',
  ];
  assert.deepEqual(plan.toSorted(), expected.toSorted());
});

test('a refresh on the same day as the last one writes to no index, and one on another day writes to one', async () => {
  const grant = { id: GRANT, rotation: 0, exchangedAt: 0, removableOn: 31 } as Grant;
  const opcodesAt = async (now: number) => {
    const move = ({ relaxed }: Storage) => rotate(relaxed, { grant, spent: 0 }, now);
    const [db, text] = await firstStatement(openMemory, move);
    const { rows } = await sql.raw<{ opcode: string }>(`explain ${text}`).execute(db);
    return rows.map(({ opcode }) => opcode);
  };

  const [sameDay, nextDay] = [await opcodesAt(0), await opcodesAt(DAY)];

  assert.deepEqual([sameDay.includes('Insert'), sameDay.includes('IdxInsert')], [true, false]);
  assert.equal(nextDay.filter((opcode) => opcode === 'IdxInsert').length, 1);
});

const NEWEST = {
  filters: {},
  sort: 'createdAt',
  isDescending: true,
  since: undefined,
  until: undefined,
  after: undefined,
};

test('a page of invoices is planned once, however often it is read', async () => {
  const [db, text] = await firstStatement(openMemory, ({ durable }) =>
    listRecords(durable, invoices, { ...NEWEST, businessId: GRANT, limit: 2 }),
  );
  const { rows } = await sql<{ sql: string }>`select sql from sqlite_schema where name = 'invoices'`.execute(db);
  const file = new DatabaseSync(':memory:');
  after(() => file.close());
  file.exec(rows[0]?.sql ?? '');
  // SQLite calls it whenever it plans a statement.
  let plannings = 0;
  file.setAuthorizer(() => {
    plannings += 1;
    return constants.SQLITE_OK;
  });
  const statement = file.prepare(text);
  assert.ok(plannings > 0);
  plannings = 0;

  for (const limit of [1, 2, 2]) statement.all(GRANT, limit);

  assert.equal(plannings, 0);
});

test('on PostgreSQL the app of a token is found by its primary key, also among a few hundred apps', async () => {
  const server = await startPostgres();
  after(() => server.remove());
  const url = withLongConnectTimeout(server.url);
  const migrating = await openStorage(url, 'migrating');
  await migrate(migrating);
  await sql`
    insert into apps (id, name, owner_scope, open_to_any_business, requires_pkce, allowed_scopes, redirect_uris, created_at)
    select gen_random_uuid(), 'App ' || n, 'platform', 1, 0, 'read:invoices', '[]', 0 from generate_series(1, 300) as n`.execute(
    migrating.durable,
  );
  await sql`analyze`.execute(migrating.durable);
  await migrating.close();
  const [db, statement] = await firstStatement(async () => {
    const storage = await openStorage(url);
    after(() => storage.close());
    return storage;
  }, check);

  const text = statement.replace('$1', '0').replace('$2', '0').replace('$3', `'${GRANT}'`);
  const { rows } = await sql.raw<{ 'QUERY PLAN': string }>(`explain ${text}`).execute(db);

  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  assert.match(plan, /Index Scan using apps_pkey on apps/);
});

test('the audit entries of one person are found by an index, in a business and on the platform', async () => {
  const seen: string[] = [];
  const stopWatching = watchStatements(({ sql: text }) => seen.push(text));
  const { durable } = await openMemory();
  seen.length = 0;
  const plans: string[] = [];
  for (const tenant of [{ businessId: GRANT, platformName: 'x' }, undefined]) {
    await searchEntries(durable, { tenant, personId: GRANT, since: 0, until: DAY, limit: 10 });
  }
  stopWatching();
  for (const text of seen) {
    const { rows: plan } = await sql.raw<{ detail: string }>(`explain query plan ${text}`).execute(durable);
    plans.push(plan[0]?.detail ?? '');
  }

  assert.equal(plans.length, 4);
  for (const plan of plans) {
    assert.match(plan, /INDEX audit_entries_by_person \(person_id=\? AND id>\? AND id<\?\)/);
  }
});

test('each step of an audit search reads its own part of the index, and not the rest of the time range', async () => {
  const seen: string[] = [];
  const stopWatching = watchStatements(({ sql: text }) => seen.push(text));
  const { durable } = await openMemory();
  const row = { action: 'x', actor_kind: 'user', actor_name: 'x', subject_kind: 'x', subject_id: 'x' } as const;
  const more = {
    actor_id: null,
    person_id: null,
    actor_email: null,
    address: null,
    business_id: GRANT,
    subject_name: 'x',
    detail: '{}',
  };
  const rows = Array.from({ length: 600 }, () => ({ ...row, ...more, id: newId(DAY), at: DAY }));
  await durable.insertInto('audit_entries').values(rows).execute();
  seen.length = 0;

  await searchEntries(durable, { tenant: { businessId: GRANT, platformName: 'x' }, search: 'y', since: 0, limit: 10 });
  stopWatching();

  assert.equal(seen.length, 4, 'two steps of two statements each');
  for (const text of seen) {
    // SQLite uses one of two lower bounds, which may be the start of the whole range.
    assert.equal(text.match(/"audit_entries"\."id" >= \?/g)?.length, 1, text);
    const { rows: plan } = await sql.raw<{ detail: string }>(`explain query plan ${text}`).execute(durable);
    assert.match(
      plan[0]?.detail ?? '',
      /SEARCH audit_entries USING (?:COVERING )?INDEX audit_entries_by_business \(business_id=\? AND id>\?/,
    );
  }
});
