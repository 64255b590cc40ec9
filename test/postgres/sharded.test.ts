import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { sql } from 'kysely';
import { addBusiness, findBusiness, lockBusiness, setBusinessName } from '../../src/accounts/businesses.ts';
import { OPERATOR } from '../../src/audit/entries.ts';
import { lockAppRulesForShare } from '../../src/grants/app-policies.ts';
import { databaseUrl, runAsAdmin, TEMPLATE } from '../support/databases.ts';
import { untilLockWait } from '../support/lock-waits.ts';
import { createTemplate, startPostgres } from '../support/postgres-server.ts';
import { startTestServer } from '../support/test-server.ts';

/** Makes the server treat a plain database as one with Citus. */
const MARK = `insert into pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
  values (16000, 'citus', 10, 2200, false, '0')`;

const postgres = await startPostgres();
await createTemplate(postgres.url);
await runAsAdmin(databaseUrl(postgres.url, TEMPLATE), ['set allow_system_table_mods = on', MARK]);
process.env.TEST_DATABASE_URL = postgres.url;
const server = await startTestServer();
after(() => postgres.remove());

test('with Citus, Allow and revocation write in several statements, and leave the same events', async () => {
  const tokens = await server.connect();
  await server.revoke(tokens.refresh_token);
  const events = await server.storage().durable.selectFrom('events').select('type').orderBy('id').execute();
  const types = events.map(({ type }) => type).filter((type) => type.startsWith('grant.'));
  assert.deepEqual(types, ['grant.created', 'grant.revoked']);
});

test('with Citus, Allow fails and leaves no grant if its event cannot be recorded', async () => {
  const { durable } = server.storage();
  const forbid = sql`alter table events add constraint no_grants check (type <> 'grant.created') not valid`;
  await forbid.execute(durable);
  const count = async () => (await durable.selectFrom('grants').select('id').execute()).length;
  const before = await count();

  const page = await server.authorize({ scope: 'write:invoices' });

  assert.equal(page.leftTo, undefined);
  assert.equal(await count(), before);
  await sql`alter table events drop constraint no_grants`.execute(durable);
});

test('with Citus, a transaction locks a business before it reads, and waits for one that has locked another business', async () => {
  const storage = server.storage();
  const [one, other] = await Promise.all(
    ['One', 'Other'].map((name) => addBusiness(OPERATOR, storage.durable, { name }, Date.now())),
  );
  assert.ok(one && other);
  let read: Promise<string | undefined> | undefined;

  await storage.transaction(async (tx) => {
    await lockBusiness(tx, other.id);
    read = storage.transaction(async (later) => {
      const [, business] = await Promise.all([lockAppRulesForShare(later, one.id), findBusiness(later, one.id)]);
      return business?.name;
    });
    await untilLockWait(storage);
    await setBusinessName(tx, { id: one.id, name: 'Renamed' });
  });

  assert.equal(await read, 'Renamed');
});
