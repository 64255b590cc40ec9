import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { sql } from 'kysely';
import { OPERATOR } from '../../src/audit/entries.ts';
import { endForEveryone } from '../../src/grants/connections.ts';
import { hasFollowUps, requestFollowUp, runFollowUp } from '../../src/grants/follow-ups.ts';
import { changeAppSettings, pauseApp, resumeApp } from '../../src/grants/suspension.ts';
import { newId } from '../../src/lib/ids.ts';
import { migrate } from '../../src/storage/migrate.ts';
import { openStorage } from '../../src/storage/open.ts';
import { createFixtures, type RegisteredApp } from '../support/fixtures.ts';
import { addGrant } from '../support/new-grants.ts';

const NOW = Date.UTC(2030, 0, 1);
const storage = await openStorage('sqlite::memory:');
after(() => storage.close());
await migrate(storage);
const db = storage.durable;
const { acme, ada, addApp, addBusiness, addUser } = await createFixtures(
  () => storage,
  () => NOW,
);
/** More than two batches. */
const MANY = 1100;

async function appWithGrants(count = MANY, settings = {}): Promise<RegisteredApp> {
  const app = await addApp({ ownerBusinessId: acme.id, ...settings });
  await addGrants(app, count, acme);
  return app;
}

async function addGrants(app: RegisteredApp, count: number, business: { id: string }, user = ada): Promise<void> {
  const parties = { appId: app.id, userId: user.id, businessId: business.id };
  await storage.transaction(async (tx) => {
    for (let i = 0; i < count; i++) await addGrant(tx, parties, NOW);
  });
  await db
    .updateTable('grants')
    .set({ exchanged_at: NOW, refresh_expires_at: NOW + 1e9 })
    .where('app_id', '=', app.id)
    .execute();
}

async function reasonsOf(app: RegisteredApp): Promise<Map<string, number>> {
  const rows = await db
    .selectFrom('events')
    .select('data')
    .where('app_id', '=', app.id)
    .where('type', '=', 'grant.revoked')
    .execute();
  const grants = new Set(rows.map(({ data }) => JSON.parse(data).grantId));
  assert.equal(grants.size, rows.length, 'one event for each grant');
  return new Map(
    [...Map.groupBy(rows, ({ data }) => String(JSON.parse(data).reason))].map(([reason, all]) => [reason, all.length]),
  );
}

const countUnrevoked = async ({ id }: RegisteredApp) =>
  (await db.selectFrom('grants').select('id').where('app_id', '=', id).where('revoked_at', 'is', null).execute())
    .length;
const finish = async () => {
  while (await hasFollowUps(db)) await runFollowUp(db, NOW);
};

test('a disconnect for everyone changes no grant itself, and its follow-up ends every one with one event', async () => {
  const app = await appWithGrants();

  await storage.transaction((tx) =>
    endForEveryone(tx, { appId: app.id, businessId: acme.id }, 'disconnected_by_owner', NOW),
  );
  const before = await countUnrevoked(app);
  await runFollowUp(db, NOW);
  const between = await countUnrevoked(app);
  await finish();

  assert.deepEqual([before, between, await countUnrevoked(app)], [MANY, MANY - 500, 0]);
  assert.deepEqual(await reasonsOf(app), new Map([['disconnected_by_owner', MANY]]));
});

test('a batch that fails changes nothing, and the next one does all of it once', async () => {
  const app = await appWithGrants();
  await storage.transaction((tx) => pauseApp(OPERATOR, tx, { app }, NOW));
  await runFollowUp(db, NOW);
  await sql`create trigger broken before update on follow_ups begin select raise(abort, 'broken'); end`.execute(db);
  await assert.rejects(runFollowUp(db, NOW), /broken/);
  const afterFailure = (await reasonsOf(app)).get('app_paused');
  await sql`drop trigger broken`.execute(db);

  await finish();

  assert.equal(afterFailure, 500);
  assert.deepEqual(await reasonsOf(app), new Map([['app_paused', MANY]]));
  assert.equal(await countUnrevoked(app), MANY);
});

test('an app that is resumed gets no further events of the pause, and all of the next one', async () => {
  const app = await appWithGrants();
  await storage.transaction((tx) => pauseApp(OPERATOR, tx, { app }, NOW));
  await runFollowUp(db, NOW);

  await storage.transaction((tx) => resumeApp(OPERATOR, tx, app, NOW));
  const isWaiting = await hasFollowUps(db);

  assert.equal(isWaiting, false);
  assert.deepEqual(await reasonsOf(app), new Map([['app_paused', 500]]));
});

test('a small follow-up does not wait for a large one', async () => {
  const [large, small] = [await appWithGrants(), await appWithGrants(1)];
  await storage.transaction((tx) => pauseApp(OPERATOR, tx, { app: large }, NOW));
  await runFollowUp(db, NOW);
  await storage.transaction((tx) => pauseApp(OPERATOR, tx, { app: small }, NOW));

  await runFollowUp(db, NOW);

  assert.deepEqual(await reasonsOf(small), new Map([['app_paused', 1]]));
  await finish();
});

test('a follow-up ends only grants that have ended', async () => {
  const app = await appWithGrants(3);
  await storage.transaction((tx) =>
    requestFollowUp(tx, { kind: 'end', userId: ada.id, reason: 'password_reset' }, NOW),
  );
  await storage.transaction((tx) =>
    requestFollowUp(tx, { kind: 'end', userId: newId(NOW), reason: 'password_reset' }, NOW),
  );

  await finish();

  assert.equal(await countUnrevoked(app), 3);
});

test('an app that is closed to others gets an event for each grant in another business, unless it is opened again before', async () => {
  const app = await appWithGrants(2, { openToAnyBusiness: true });
  const bolt = await addBusiness('Bolt');
  await addGrants(app, 3, bolt, await addUser('Boltine', [[bolt, 'owner']]));
  const open = (openToAnyBusiness: boolean) =>
    changeAppSettings(OPERATOR, db, { appId: app.id, change: (before) => ({ ...before, openToAnyBusiness }) }, NOW);

  await open(false);
  await open(true);
  await finish();
  assert.deepEqual(await reasonsOf(app), new Map());
  await open(false);
  await finish();

  assert.deepEqual(await reasonsOf(app), new Map([['app_closed', 3]]));
});
