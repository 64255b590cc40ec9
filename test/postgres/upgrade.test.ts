import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { sql } from 'kysely';
import pg from 'pg';
import { newId, newRandomId } from '../../src/lib/ids.ts';
import { VERSION } from '../../src/lib/package.ts';
import { ensureMigrated, listPending, migrate, upgrade } from '../../src/storage/migrate.ts';
import { MIGRATIONS } from '../../src/storage/migrations/all.ts';
import type { Migration, Step } from '../../src/storage/migrations/migration.ts';
import { openStorage } from '../../src/storage/open.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { withLease } from '../../src/storage/upgrade/lease.ts';
import { registerNode } from '../../src/storage/upgrade/nodes.ts';
import { planUpgrade } from '../../src/storage/upgrade/plan.ts';
import { runStep } from '../../src/storage/upgrade/postgres-steps.ts';
import { createUpgradeTables, databaseNow, upgradeTables } from '../../src/storage/upgrade/state.ts';
import { databaseUrl, runAsAdmin, TEMPLATE, withLongConnectTimeout } from '../support/databases.ts';
import { createTemplate, startPostgres } from '../support/postgres-server.ts';
import { SAMPLE_CONTRACT, SAMPLE_EXPAND } from '../support/sample-migrations.ts';

// Without autovacuum, which would estimate the size of a table before a test has filled it.
const server = await startPostgres(['autovacuum=off']);
after(() => server.remove());
await createTemplate(server.url);
const EXPANDED = [...MIGRATIONS, SAMPLE_EXPAND];
const NEXT_RELEASE = [...EXPANDED, SAMPLE_CONTRACT];
let databases = 0;

async function openDatabase(grants: number): Promise<Storage> {
  const name = `upgrade_${databases++}`;
  await runAsAdmin(server.url, [`create database ${name} template ${TEMPLATE}`]);
  const storage = await openStorage(withLongConnectTimeout(databaseUrl(server.url, name)), 'migrating');
  after(() => storage.close());
  const day = (n: number) => n * 86_400_000;
  for (let n = 0; n < grants; n++) await addGrant(storage, day(n));
  return storage;
}

async function addGrant({ durable }: Storage, created_at: number): Promise<void> {
  const id = newId(created_at);
  await sql`insert into grants (id, salt, app_id, user_id, business_id, scopes, created_at, code_expires_at, rotation, removable_on)
    values (${id}, '', ${id}, ${id}, ${id}, '', ${created_at}, 0, 0, 0)`.execute(durable);
}

async function readDays({ durable }: Storage): Promise<unknown[]> {
  const { rows } = await sql<{ sample_day: number }>`select sample_day from grants order by id`.execute(durable);
  return rows.map(({ sample_day }) => sample_day);
}

test('an expand migration adds a column, an index, values and a check', async () => {
  const storage = await openDatabase(450);

  const applied = await migrate(storage, { migrations: EXPANDED });

  assert.deepEqual(applied, [SAMPLE_EXPAND.name]);
  assert.deepEqual(
    await readDays(storage),
    Array.from({ length: 450 }, (_, n) => n),
  );
  const { rows } = await sql`select indisvalid, convalidated from pg_index, pg_constraint
    where indexrelid = 'grants_by_sample'::regclass and conname = 'grants_sample_region_known'`.execute(
    storage.durable,
  );
  assert.deepEqual(rows, [{ indisvalid: true, convalidated: true }]);
  assert.deepEqual(await migrate(storage, { migrations: EXPANDED }), []);
});

test('this release starts on a schema that the next one has expanded, and not on one that it contracts', async () => {
  const storage = await openDatabase(0);
  await migrate(storage, { migrations: EXPANDED });

  await ensureMigrated(storage);
  const leave = await registerNode(storage);
  await leave();

  await upgrade(storage, { migrations: NEXT_RELEASE });
  await assert.rejects(ensureMigrated(storage), /changed by a newer Gatehouse \(901-sample-contract\)/);
  await assert.rejects(registerNode(storage), /changed by a newer Gatehouse/);
});

test('a release does not start on a schema that is not expanded for it, and starts before it is contracted', async () => {
  const storage = await openDatabase(0);
  const phases = async () => (await listPending(storage, NEXT_RELEASE)).map(({ phase }) => phase);

  assert.deepEqual(await phases(), ['expand', 'contract']);
  await migrate(storage, { migrations: EXPANDED });
  assert.deepEqual(await phases(), ['contract']);
});

test('a plan lists the steps that are left with table, lock and time, and changes nothing', async () => {
  const storage = await openDatabase(300);
  const leave = await registerNode(storage);

  const { steps, seconds, olderNodes } = await planUpgrade(storage, NEXT_RELEASE);
  await leave();

  assert.deepEqual(
    steps.map(({ migration, title, waits }) => [migration, title, waits]),
    [
      [SAMPLE_EXPAND.name, 'add grants.sample_region and grants.sample_day', false],
      [SAMPLE_EXPAND.name, 'build index grants_by_sample', false],
      [SAMPLE_EXPAND.name, 'fill rows of grants', false],
      [SAMPLE_EXPAND.name, 'check grants_sample_region_known', false],
      [SAMPLE_CONTRACT.name, 'drop index grants_by_sample', true],
      [SAMPLE_CONTRACT.name, 'drop grants.sample_region', true],
    ],
  );
  assert.ok(steps.every(({ table, rows, bytes }) => table === 'grants' && rows === 300 && bytes > 0));
  assert.ok(seconds > 0);
  assert.equal(olderNodes.length, 1);
  assert.match(steps[1]?.lock ?? '', /reads and writes continue/);
  assert.deepEqual((await listPending(storage, NEXT_RELEASE)).length, 2);
});

test('a contract migration waits while a node of an older release is running', async () => {
  const storage = await openDatabase(3);
  const leave = await registerNode(storage);

  const first = await upgrade(storage, { migrations: NEXT_RELEASE });
  await ensureMigrated(storage);
  await leave();
  const second = await upgrade(storage, { migrations: NEXT_RELEASE });

  assert.deepEqual(first.applied, [SAMPLE_EXPAND.name]);
  assert.deepEqual(first.waiting, [SAMPLE_CONTRACT.name]);
  assert.equal(first.olderNodes.length, 1);
  assert.deepEqual(second, { applied: [SAMPLE_CONTRACT.name], waiting: [], olderNodes: [] });
});

test('an operator can force a contract migration although an older node seems to be running', async () => {
  const storage = await openDatabase(0);
  const leave = await registerNode(storage);

  const { applied } = await upgrade(storage, { migrations: NEXT_RELEASE, ignoresOlderNodes: true });

  assert.deepEqual(applied, [SAMPLE_EXPAND.name, SAMPLE_CONTRACT.name]);
  await leave();
});

test('a contract migration waits for nodes of 0.1.0, which are known by their connections alone', async () => {
  const storage = await openDatabase(0);
  const [{ url }] = (await sql<{ url: string }>`select current_database() as url`.execute(storage.durable)).rows as [
    { url: string },
  ];
  const old = new pg.Client({ connectionString: databaseUrl(server.url, url), application_name: 'gatehouse' });
  await old.connect();

  const first = await upgrade(storage, { migrations: NEXT_RELEASE });
  await old.end();

  assert.deepEqual(first.waiting, [SAMPLE_CONTRACT.name]);
  assert.deepEqual(first.olderNodes, [{ name: '127.0.0.1', release: '0.1.0' }]);
});

test('a contract migration does not wait for a killed node once its last report is old and no new one arrives', async () => {
  const storage = await openDatabase(0);
  await addSilentNode(storage);

  const { waiting } = await upgrade(storage, { migrations: NEXT_RELEASE, missedHeartbeatPolls: 1 });

  assert.deepEqual(waiting, []);
});

test('after an outage, a contract migration waits for the nodes that were cut off to report again', async () => {
  const storage = await openDatabase(0);
  await addSilentNode(storage);
  const report = sql`update nodes set seen_at = ${databaseNow}`;
  let reported: Promise<unknown> | undefined;
  const onProgress = (text: string) => {
    if (/have not reported/.test(text)) reported = report.execute(storage.durable);
  };

  const { waiting, olderNodes } = await upgrade(storage, { migrations: NEXT_RELEASE, onProgress });

  assert.ok(reported);
  assert.deepEqual(waiting, [SAMPLE_CONTRACT.name]);
  assert.equal(olderNodes.length, 1);
  await ensureMigrated(storage);
});

/** A node of this release that last reported two minutes ago. `registerNode` would report every ten seconds. */
async function addSilentNode({ durable }: Storage): Promise<void> {
  const node = {
    id: newRandomId(),
    name: 'host-1:4711',
    release: VERSION,
    last_migration: MIGRATIONS.at(-1)?.name ?? '',
  };
  await upgradeTables(durable)
    .insertInto('nodes')
    .values({ ...node, seen_at: sql<number>`${databaseNow} - 120000` })
    .execute();
}

test('while a table is locked, a migration waits for it without blocking requests', async () => {
  const storage = await openDatabase(1);
  const reports: string[] = [];
  let upgraded: Promise<string[]> | undefined;

  await storage.transaction(async (tx) => {
    await sql`select 1 from grants`.execute(tx);
    const waited = new Promise<void>((resolve) => {
      const onProgress = (text: string) => {
        if (/is in use \(pid \d+/.test(text)) reports.push(text);
        if (reports.length === 2) resolve();
      };
      upgraded = migrate(storage, { migrations: EXPANDED, onProgress });
    });
    await waited;
    // A read in another transaction, queued behind the waiting statement.
    await sql`update grants set rotation = rotation + 1`.execute(storage.durable);
  });

  assert.deepEqual(await upgraded, [SAMPLE_EXPAND.name]);
});

test('two migrators at once apply each migration once', async () => {
  const storage = await openDatabase(300);

  const results = await Promise.all([1, 2, 3].map(() => upgrade(storage, { migrations: NEXT_RELEASE })));

  assert.deepEqual(
    results.flatMap(({ applied }) => applied),
    [SAMPLE_EXPAND.name, SAMPLE_CONTRACT.name],
  );
});

test('a row that is locked by a request delays a backfill, and is filled', async () => {
  const storage = await openDatabase(100);
  let upgraded: Promise<string[]> | undefined;

  await storage.transaction(async (tx) => {
    upgraded = migrate(storage, { migrations: EXPANDED });
    while ((await listStep(storage)) < 2) await sql`select pg_sleep(0.02)`.execute(storage.durable);
    await sql`update grants set rotation = 7 where created_at = 86400000`.execute(tx);
    await sql`select pg_sleep(0.3)`.execute(tx);
  });

  assert.deepEqual(await upgraded, [SAMPLE_EXPAND.name]);
  assert.ok((await readDays(storage)).every((day) => day !== null));
});

/** How many steps of the sample are complete. */
async function listStep({ durable }: Storage): Promise<number> {
  const { rows } = await sql<{
    step: number;
  }>`select step from migration_progress where name = ${SAMPLE_EXPAND.name}`.execute(durable);
  return rows[0]?.step ?? 0;
}

/** A migrator that holds the lease, finds an invalid index, and stalls until another one has taken over. */
async function runAfterTakeover(storage: Storage, migration: Migration, index: number): Promise<void> {
  await createUpgradeTables(storage);
  await sql`delete from migration_lease`.execute(storage.durable);
  await withLease(
    storage.durable,
    () => {},
    async (lease) => {
      await sql`update migration_lease set holder = 'another'`.execute(storage.durable);
      await runStep({ storage, lease, migration, onProgress: () => {} }, migration.steps[index] as Step, index);
    },
  );
}

async function findIndexes({ durable }: Storage): Promise<unknown[]> {
  const { rows } = await sql<{
    name: string;
  }>`select indexrelid::regclass::text as name, indisvalid as "isValid" from pg_index
    where indexrelid::regclass::text like 'grants_by_sample%'`.execute(durable);
  return rows;
}

test('a migrator that was replaced drops no index, which the other one may have rebuilt', async () => {
  const storage = await openDatabase(0);
  await migrate(storage, { migrations: EXPANDED });
  await sql`update pg_index set indisvalid = false where indexrelid = 'grants_by_sample'::regclass`.execute(
    storage.durable,
  );

  await assert.rejects(runAfterTakeover(storage, SAMPLE_EXPAND, 1), /has taken over/);
  const afterBuild = await findIndexes(storage);
  await assert.rejects(runAfterTakeover(storage, SAMPLE_CONTRACT, 0), /has taken over/);
  const afterDrop = await findIndexes(storage);

  assert.deepEqual(afterBuild, [{ name: 'grants_by_sample', isValid: false }]);
  assert.deepEqual(afterDrop, afterBuild);
});

test('an invalid index is built again, also if an interrupted run has left a part of another', async () => {
  const storage = await openDatabase(0);
  await migrate(storage, { migrations: EXPANDED });
  await sql`update pg_index set indisvalid = false where indexrelid = 'grants_by_sample'::regclass`.execute(
    storage.durable,
  );
  await sql`create index grants_by_sample_dropped on grants (sample_region)`.execute(storage.durable);
  await sql`update migration_progress set step = 1, finished_at = null where name = ${SAMPLE_EXPAND.name}`.execute(
    storage.durable,
  );

  await migrate(storage, { migrations: EXPANDED });

  assert.deepEqual(await findIndexes(storage), [{ name: 'grants_by_sample', isValid: true }]);
});
