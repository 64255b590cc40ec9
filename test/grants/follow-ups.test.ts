import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { sql } from 'kysely';
import { OPERATOR } from '../../src/audit/entries.ts';
import { endForEveryone } from '../../src/grants/connections.ts';
import { listProgress } from '../../src/grants/follow-up-progress.ts';
import { startFollowUps } from '../../src/grants/follow-up-worker.ts';
import { hasFollowUps, requestFollowUp, runFollowUp } from '../../src/grants/follow-ups.ts';
import { removeMember } from '../../src/grants/member-changes.ts';
import {
  changeAppSettings,
  disableApp,
  disableUser,
  enableApp,
  enableUser,
  pauseApp,
  resumeApp,
} from '../../src/grants/suspension.ts';
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

async function appWithGrants(count = MANY, settings = {}, user = ada): Promise<RegisteredApp> {
  const app = await addApp({ ownerBusinessId: acme.id, ...settings });
  await addGrants(app, count, acme, user);
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

/** By reason. */
async function reasonsOf(app: RegisteredApp): Promise<Map<string, number>> {
  const events = await listEvents(app);
  assert.equal(new Set(events.map(({ grantId }) => grantId)).size, events.length, 'one event for each grant');
  return countEvents(app);
}

async function countEvents(app: RegisteredApp): Promise<Map<string, number>> {
  const byReason = Map.groupBy(await listEvents(app), ({ reason }) => reason);
  return new Map([...byReason].map(([reason, all]) => [reason, all.length]));
}

async function listEvents(app: RegisteredApp): Promise<{ grantId: string; reason: string }[]> {
  const events = db.selectFrom('events').select('data').where('app_id', '=', app.id);
  const rows = await events.where('type', '=', 'grant.revoked').execute();
  return rows.map(({ data }) => JSON.parse(data));
}

const countUnrevoked = async ({ id }: RegisteredApp) =>
  (await db.selectFrom('grants').select('id').where('app_id', '=', id).where('revoked_at', 'is', null).execute())
    .length;
async function untilTold(app: RegisteredApp, count: number): Promise<void> {
  while ((await countEvents(app)).get('app_paused') !== count) await setTimeout(20);
}
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

test('a follow-up that fails again and again does not delay the others', async () => {
  const [broken, other] = [await appWithGrants(1), await appWithGrants()];
  for (const app of [broken, other]) await storage.transaction((tx) => pauseApp(OPERATOR, tx, { app }, NOW));
  await sql`create trigger broken before insert on events when new.app_id = ${sql.lit(broken.id)}
    begin select raise(abort, 'broken'); end`.execute(db);
  const errors: unknown[] = [];

  const worker = startFollowUps({ storage, clock: () => NOW }, (error) => errors.push(error));
  await untilTold(other, MANY);
  await sql`drop trigger broken`.execute(db);
  await untilTold(broken, 1);
  await worker.stop();

  assert.ok(errors.length > 0);
  assert.ok(errors.every((error) => /broken/.test(String(error))));
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

test('an app that is enabled gets no further events, and all of the next time', async () => {
  const app = await appWithGrants();
  await disableApp(OPERATOR, db, app, NOW);
  await runFollowUp(db, NOW);

  await enableApp(OPERATOR, db, app, NOW);
  const isWaiting = await hasFollowUps(db);
  await disableApp(OPERATOR, db, app, NOW);
  await finish();

  assert.equal(isWaiting, false);
  assert.equal((await countEvents(app)).get('app_disabled'), 500 + MANY);
});

test('of a user who is enabled again, apps get no further events, and all of the next time', async () => {
  const user = await addUser('Uma', [[acme, 'member']]);
  const app = await appWithGrants(MANY, {}, user);
  await disableUser(OPERATOR, db, { user }, NOW);
  await runFollowUp(db, NOW);

  await enableUser(OPERATOR, db, user, NOW);
  const isWaiting = await hasFollowUps(db);
  await disableUser(OPERATOR, db, { user }, NOW);
  await finish();

  assert.equal(isWaiting, false);
  assert.equal((await countEvents(app)).get('user_disabled'), 500 + MANY);
});

test('enabling a user leaves the follow-up of another stop of theirs', async () => {
  const user = await addUser('Una', [[acme, 'member']]);
  await storage.transaction((tx) =>
    requestFollowUp(tx, { kind: 'end', userId: user.id, reason: 'password_reset' }, NOW),
  );
  await disableUser(OPERATOR, db, { user }, NOW);

  await enableUser(OPERATOR, db, user, NOW);

  assert.equal(await hasFollowUps(db), true);
  await finish();
});

test('of a member who is invited again, the follow-up ends the former grants and not the new ones', async () => {
  const user = await addUser('Ugo', [[acme, 'member']]);
  const app = await appWithGrants(MANY, {}, user);
  await removeMember(OPERATOR, db, { userId: user.id, businessId: acme.id }, NOW);

  await db
    .insertInto('memberships')
    .values({ user_id: user.id, business_id: acme.id, role: 'member', created_at: NOW + 1 })
    .execute();
  await storage.transaction((tx) => addGrant(tx, { appId: app.id, userId: user.id, businessId: acme.id }, NOW + 1));
  await finish();

  assert.equal(await countUnrevoked(app), 1);
  assert.deepEqual(await reasonsOf(app), new Map([['member_removed', MANY]]));
});

test('the progress of follow-ups is shown by kind, with what is left', async () => {
  const app = await appWithGrants();
  await storage.transaction((tx) => pauseApp(OPERATOR, tx, { app }, NOW));
  await runFollowUp(db, NOW);

  const paused = await listProgress(db, { appId: app.id });
  await storage.transaction((tx) =>
    endForEveryone(tx, { appId: app.id, businessId: acme.id }, 'disconnected_by_owner', NOW),
  );
  const both = await listProgress(db, { businessId: acme.id, appId: app.id });
  await finish();

  assert.deepEqual(paused, [{ kind: 'notify', done: 500, left: MANY - 500 }]);
  assert.deepEqual(
    both.toSorted((a, b) => a.done - b.done),
    [
      { kind: 'end', done: 0, left: MANY },
      { kind: 'notify', done: 500, left: MANY - 500 },
    ],
  );
  assert.deepEqual(await listProgress(db, { appId: app.id }), []);
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
