import assert from 'node:assert/strict';
import { test } from 'node:test';
import { userActor } from '../../src/accounts/users.ts';
import { OPERATOR } from '../../src/audit/entries.ts';
import { changeAuthority } from '../../src/grants/handovers.ts';
import { narrowConnection } from '../../src/grants/narrowing.ts';
import { DAY } from '../../src/lib/clock.ts';
import { createFixtures, type RegisteredApp } from '../support/fixtures.ts';
import { addExchangedGrants } from '../support/new-grants.ts';
import { openRecordedStorage } from '../support/recorded-statements.ts';

const NOW = Date.UTC(2030, 0, 1);
const { storage, record } = await openRecordedStorage();
const db = storage.durable;
const { acme, ada, addApp, addUser } = await createFixtures(
  () => storage,
  () => NOW,
);
const BOTH = ['read:invoices', 'read:contacts'];
const COUNT = 1000;
/** One for 64 events, and some that do not depend on the number of grants. */
const FEW = 45;

/** Of Ada. Half of them have one scope only. */
async function connectedApp(): Promise<RegisteredApp> {
  const app = await addApp({ ownerBusinessId: acme.id, scopes: BOTH });
  const parties = { appId: app.id, userId: ada.id, businessId: acme.id };
  await addExchangedGrants(storage, { ...parties, scopes: BOTH, count: COUNT / 2 }, NOW);
  await addExchangedGrants(storage, { ...parties, scopes: ['read:contacts'], count: COUNT / 2 }, NOW);
  return app;
}

const listGrants = (app: RegisteredApp) => db.selectFrom('grants').selectAll().where('app_id', '=', app.id).execute();

async function countEvents(app: RegisteredApp): Promise<Record<string, number>> {
  const events = await db
    .selectFrom('events')
    .selectAll()
    .where('app_id', '=', app.id)
    .where('type', 'like', 'grant.%')
    .execute();
  const grants = new Set(events.map(({ type, data }) => `${type} ${JSON.parse(data).grantId}`));
  assert.equal(grants.size, events.length, 'one event for each grant');
  return Object.fromEntries([...Map.groupBy(events, ({ type }) => type)].map(([type, all]) => [type, all.length]));
}

test('narrowing a connection of a thousand grants takes a few statements, and leaves one event for each grant', async () => {
  const app = await connectedApp();
  const narrowing = { app, businessId: acme.id, user: ada, withdrawn: ['read:contacts'] };

  const statements = await record(() => narrowConnection(OPERATOR, db, narrowing, NOW));

  assert.ok(statements.length < FEW, `${statements.length} statements`);
  assert.deepEqual(await countEvents(app), { 'grant.narrowed': COUNT / 2, 'grant.revoked': COUNT / 2 });
  const grants = await listGrants(app);
  const active = grants.filter(({ revoked_at }) => revoked_at === null);
  assert.deepEqual(new Set(active.map(({ scopes }) => scopes)), new Set(['read:invoices read:contacts']));
  assert.deepEqual(new Set(active.map(({ withdrawn_scopes }) => withdrawn_scopes)), new Set(['read:contacts']));
});

test('taking over a connection of a thousand grants takes a few statements, and leaves one event for each grant', async () => {
  const [app, grace] = [await connectedApp(), await addUser('Grace', [[acme, 'owner']])];
  await db.updateTable('grants').set({ connected_for: 'business' }).where('app_id', '=', app.id).execute();
  const handover = { app, businessId: acme.id, userId: ada.id, to: grace.id, scopes: BOTH };

  const statements = await record(() => changeAuthority(userActor(grace, null), db, handover, NOW + DAY));

  assert.ok(statements.length < FEW, `${statements.length} statements`);
  assert.deepEqual(await countEvents(app), { 'grant.transferred': COUNT });
  assert.deepEqual(new Set((await listGrants(app)).map(({ user_id }) => user_id)), new Set([grace.id]));
});
