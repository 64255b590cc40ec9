import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { sql } from 'kysely';
import { MAX_GRANTS } from '../../src/grants/connection-limit.ts';
import { hasFollowUps, runFollowUp } from '../../src/grants/follow-ups.ts';
import { selectLiveGrants } from '../../src/grants/status.ts';
import { DAY } from '../../src/lib/clock.ts';
import { migrate } from '../../src/storage/migrate.ts';
import { MIGRATIONS } from '../../src/storage/migrations/all.ts';
import { openStorage } from '../../src/storage/open.ts';
import { createFixtures } from '../support/fixtures.ts';
import { addExchangedGrants, addGrant } from '../support/new-grants.ts';

const NOW = Date.UTC(2030, 0, 1);
const WITHOUT_LIMIT = MIGRATIONS.filter(({ name }) => !name.endsWith('connection-limit'));
const BEYOND = 600;

/** A database as a release without a limit leaves it, and the parties of the connections that `fill` gives grants. */
async function startWithoutLimit() {
  const storage = await openStorage('sqlite::memory:');
  after(() => storage.close());
  await migrate(storage, { migrations: WITHOUT_LIMIT });
  const { acme, ada, addApp, addUser, addBusiness } = await createFixtures(
    () => storage,
    () => NOW - 40 * DAY,
  );
  const db = storage.durable;
  const connect = async (user = ada, business = acme) => {
    const app = await addApp({ ownerBusinessId: acme.id, openToAnyBusiness: true });
    const parties = { appId: app.id, userId: user.id, businessId: business.id };
    return {
      parties,
      fill: (count: number, at = NOW) => addExchangedGrants(storage, { ...parties, count }, at),
      listLive: async () => {
        const live = selectLiveGrants(db, NOW).select('grants.id').where('grants.app_id', '=', app.id);
        return (await live.orderBy('grants.id').execute()).map(({ id }) => id);
      },
    };
  };
  return {
    storage,
    db,
    connect,
    addUser: (name: string, businesses = [acme]) =>
      addUser(name, businesses.map((each) => [each, 'member'] as const) as never),
    addBusiness,
    acme,
    upgrade: () => migrate(storage),
    async finish() {
      let batches = 0;
      for (; await hasFollowUps(db); batches++) await runFollowUp(db, NOW);
      return batches;
    },
    async listEnded() {
      const rows = await db.selectFrom('events').select('data').where('type', '=', 'grant.revoked').execute();
      return rows.map(({ data }): { grantId: string; reason: string } => JSON.parse(data));
    },
  };
}

test('an upgrade cuts each connection down to the limit, those first that expire first, with one event for each', async () => {
  const { connect, upgrade, finish, listEnded, addBusiness, addUser, acme } = await startWithoutLimit();
  const globex = await addBusiness('Globex');
  const bob = await addUser('Bob', [acme, globex]);
  const connections = await Promise.all([connect(), connect(bob), connect(bob, globex), connect()]);
  const kept: string[] = [];
  const ended: string[] = [];
  for (const { fill } of connections) {
    // The grants that were allowed first are refreshed, and expire last.
    kept.push(...(await fill(MAX_GRANTS - 100)));
    ended.push(...(await fill(BEYOND, NOW - 3 * DAY)));
    const sameDay = await fill(200, NOW - 2 * DAY);
    ended.push(...sameDay.slice(0, 100));
    kept.push(...sameDay.slice(100));
  }
  const within = await connect();
  kept.push(...(await within.fill(MAX_GRANTS)));

  await upgrade();
  await finish();

  const live = await Promise.all([...connections, within].map(({ listLive }) => listLive()));
  assert.deepEqual(live.flat().sort(), kept.sort());
  const events = await listEnded();
  assert.deepEqual(events.map(({ grantId }) => grantId).sort(), ended.sort());
  assert.deepEqual(new Set(events.map(({ reason }) => reason)), new Set(['connection_limit']));
});

test('each batch of the cut ends at most 500 grants, and continues after one that failed', async () => {
  const { db, connect, upgrade, listEnded } = await startWithoutLimit();
  const { fill, listLive } = await connect();
  await fill(3 * MAX_GRANTS);
  await upgrade();
  let before = 0;
  for (let batch = 0; await hasFollowUps(db); batch++) {
    if (batch % 3 === 2) {
      await sql`create trigger broken before update on follow_ups begin select raise(abort, 'broken'); end`.execute(db);
      await sql`create trigger broken_too before delete on follow_ups begin select raise(abort, 'broken'); end`.execute(
        db,
      );
      await assert.rejects(runFollowUp(db, NOW), /broken/);
      await sql`drop trigger broken`.execute(db);
      await sql`drop trigger broken_too`.execute(db);
    } else {
      await runFollowUp(db, NOW);
    }
    const ended = (await listEnded()).length;
    assert.ok(ended - before <= 500, `${ended - before} in one batch`);
    before = ended;
  }

  assert.deepEqual([before, (await listLive()).length], [2 * MAX_GRANTS, MAX_GRANTS]);
});

test('a refresh and an Allow during the cut end no grant more', async () => {
  const { db, storage, connect, upgrade, finish } = await startWithoutLimit();
  const { parties, fill, listLive } = await connect();
  const [refreshed = ''] = await fill(MAX_GRANTS + BEYOND, NOW - 5 * DAY);
  await upgrade();
  // It searches, and counts all of them.
  for (let batch = 0; batch < 5; batch++) await runFollowUp(db, NOW);
  const later = { refresh_expires_at: NOW + 30 * DAY, removable_on: NOW / DAY + 31 };
  await db.updateTable('grants').set(later).where('id', '=', refreshed).execute();
  await storage.transaction((tx) => addGrant(tx, parties, NOW));

  await finish();

  const live = await listLive();
  assert.ok(live.includes(refreshed));
  assert.ok(live.length === MAX_GRANTS || live.length === MAX_GRANTS + 1, `${live.length}`);
});

test('an upgrade of a database without grants has nothing to do', async () => {
  const { db, upgrade } = await startWithoutLimit();

  await upgrade();

  assert.equal(await hasFollowUps(db), false);
});
