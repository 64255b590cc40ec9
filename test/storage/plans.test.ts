import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { sql } from 'kysely';
import { findGrant } from '../../src/oauth/grants.ts';
import { openStorage } from '../../src/storage/database.ts';
import { migrate } from '../../src/storage/migrate.ts';
import { type SeenStatement, watchStatements } from '../../src/storage/statements.ts';
import type { Database } from '../../src/storage/storage.ts';
import { startPostgres } from '../support/postgres-server.ts';
import { newWorld } from '../support/world.ts';

const GRANT = '0190b9a1-7d4c-7c5e-9a51-3c2f6f0e8d10';

/** The one statement by which a token is checked, on a database that is opened while statements are watched. */
async function statementOfCheck(open: () => Promise<Database>): Promise<[Database, string]> {
  let seen: SeenStatement[] = [];
  const stopWatching = watchStatements((statement) => seen.push(statement));
  const db = await open();
  seen = [];
  await findGrant(db, { grantId: GRANT, rotation: 0 });
  stopWatching();
  return [db, seen[0]?.sql ?? ''];
}

test('to check a token, the rows of the grant and its app are read; of people and memberships an index says enough', async () => {
  const [db, check] = await statementOfCheck(async () => (await newWorld()).storage().durable);

  const { rows } = await sql.raw<{ detail: string }>(`explain query plan ${check}`).execute(db);

  assert.deepEqual(
    rows.map(({ detail }) => detail.replace(/ \(.*/, '')),
    [
      'SEARCH grants USING INDEX sqlite_autoindex_grants_1',
      'SEARCH apps USING INDEX sqlite_autoindex_apps_1',
      'SEARCH disabled USING INDEX users_disabled',
      'SEARCH memberships USING COVERING INDEX memberships_since',
      'SEARCH revoked USING COVERING INDEX sqlite_autoindex_revoked_access_tokens_1',
    ],
  );
});

test('on PostgreSQL the app of a token is found by its key, though to read all of a few hundred would be quick, too', async () => {
  const server = await startPostgres();
  after(() => server.remove());
  const migrating = await openStorage(server.url, 'migrating');
  await migrate(migrating);
  await sql`
    insert into apps (id, name, owner_scope, open_to_any_business, requires_pkce, allowed_scopes, redirect_uris, created_at)
    select gen_random_uuid(), 'App ' || n, 'platform', 1, 0, 1, '[]', 0 from generate_series(1, 300) as n`.execute(
    migrating.durable,
  );
  await sql`analyze`.execute(migrating.durable);
  await migrating.close();
  const [db, check] = await statementOfCheck(async () => {
    const storage = await openStorage(server.url);
    after(() => storage.close());
    return storage.durable;
  });

  const text = check.replace('$1', '0').replace('$2', `'${GRANT}'`);
  const { rows } = await sql.raw<{ 'QUERY PLAN': string }>(`explain ${text}`).execute(db);

  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  assert.match(plan, /Index Scan using apps_pkey on apps/);
});
