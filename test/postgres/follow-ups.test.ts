import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import type { User } from '../../src/accounts/users.ts';
import { OPERATOR } from '../../src/audit/entries.ts';
import { resetAccount } from '../../src/grants/account-reset.ts';
import { MAX_GRANTS } from '../../src/grants/connection-limit.ts';
import { endForEveryone } from '../../src/grants/connections.ts';
import { hasFollowUps, requestFollowUp, runFollowUp } from '../../src/grants/follow-ups.ts';
import { disableUser, pauseApp } from '../../src/grants/suspension.ts';
import { openStorage } from '../../src/storage/open.ts';
import type { Database } from '../../src/storage/storage.ts';
import { addLiveGrants } from '../support/bulk-data.ts';
import { databaseUrl, TEMPLATE, withLongConnectTimeout } from '../support/databases.ts';
import { createFixtures, type RegisteredApp } from '../support/fixtures.ts';
import { createTemplate, startPostgres } from '../support/postgres-server.ts';

const postgres = await startPostgres();
after(() => postgres.remove());
await createTemplate(postgres.url);
const url = withLongConnectTimeout(databaseUrl(postgres.url, TEMPLATE));
const [storage, other] = await Promise.all([openStorage(url), openStorage(url)]);
after(() => Promise.all([storage.close(), other.close()]));
const db = storage.durable;
const { acme, addApp, addBusiness, addUser } = await createFixtures(() => storage, Date.now);
const businesses = [acme, await addBusiness('Globex')];

/** Of one user in one business. The app has four times as many: a batch ends amid a business, a user and an app. */
const MANY = 600;
let users = 0;

interface Connected {
  app: RegisteredApp;
  user: User;
  grants: Row[];
}

/** A new app that two new users have connected to both businesses. */
async function connect(): Promise<Connected> {
  const app = await addApp();
  const newUser = () => addUser(`Sam${++users}`, businesses.map((business) => [business, 'member'] as const) as never);
  const [user, colleague] = [await newUser(), await newUser()];
  const parties = businesses.flatMap(({ id: businessId }) =>
    [user, colleague].flatMap(({ id: userId }) => Array(MANY).fill({ appId: app.id, businessId, userId })),
  );
  await addLiveGrants(storage, parties, Date.now());
  return { app, user, grants: await readGrants(app) };
}

type Row = Awaited<ReturnType<typeof readGrants>>[number];

const readGrants = (app: RegisteredApp) =>
  db
    .selectFrom('grants')
    .select(['id', 'business_id', 'user_id', 'revoked_reason'])
    .where('app_id', '=', app.id)
    .orderBy('id')
    .execute();

interface Stop {
  what: string;
  reason: string;
  stop(tx: Database, connected: Connected): Promise<unknown>;
  concerns(grant: Row, connected: Connected): boolean;
  /** If not, the grants work again when the stop is undone. */
  isEnd: boolean;
}

const STOPS: Stop[] = [
  {
    what: 'a pause of an app',
    reason: 'app_paused',
    stop: (tx, { app }) => pauseApp(OPERATOR, tx, { app }, Date.now()),
    concerns: () => true,
    isEnd: false,
  },
  {
    what: 'a disconnect of an app for everyone in a business',
    reason: 'disconnected_by_owner',
    stop: (tx, { app }) =>
      endForEveryone(tx, { appId: app.id, businessId: acme.id }, 'disconnected_by_owner', Date.now()),
    concerns: ({ business_id }) => business_id === acme.id,
    isEnd: true,
  },
  {
    what: 'the end of every connection of a user',
    reason: 'password_reset',
    stop: (tx, { user }) => resetAccount(tx, { userId: user.id, hash: 'another', endsGrants: true }, Date.now()),
    concerns: ({ user_id }, { user }) => user_id === user.id,
    isEnd: true,
  },
  {
    what: 'the disabling of a user',
    reason: 'user_disabled',
    stop: (tx, { user }) => disableUser(OPERATOR, tx, { user }, Date.now()),
    concerns: ({ user_id }, { user }) => user_id === user.id,
    isEnd: false,
  },
];

async function followUpOnTwoNodes(): Promise<void> {
  const run = async (node: Database) => {
    while (await hasFollowUps(node)) if (!(await runFollowUp(node, Date.now()))) await setTimeout(1);
  };
  await Promise.all([run(db), run(other.durable)]);
}

/** Which grant got an event of which reason, in the order of the grants. */
async function readRevoked({ app }: Pick<Connected, 'app'>): Promise<{ grantId: string; reason: string }[]> {
  const events = db.selectFrom('events').select('data').where('type', '=', 'grant.revoked');
  const rows = await events.where('app_id', '=', app.id).execute();
  const revoked = rows.map(({ data }): { grantId: string; reason: string } => JSON.parse(data));
  return revoked.map(({ grantId, reason }) => ({ grantId, reason })).sort((a, b) => (a.grantId < b.grantId ? -1 : 1));
}

for (const { what, reason, stop, concerns, isEnd } of STOPS) {
  test(`two nodes that follow up ${what} record one event for each of its grants`, async () => {
    const connected = await connect();
    const stopped = connected.grants.filter((grant) => concerns(grant, connected));

    await storage.transaction((tx) => stop(tx, connected));
    await followUpOnTwoNodes();

    assert.ok(stopped.length > 1000);
    assert.deepEqual(
      await readRevoked(connected),
      stopped.map(({ id: grantId }) => ({ grantId, reason })),
    );
    const marked = isEnd ? stopped.map(({ id }) => id) : [];
    assert.deepEqual(
      await readGrants(connected.app),
      connected.grants.map((grant) => ({ ...grant, revoked_reason: marked.includes(grant.id) ? reason : null })),
    );
  });
}

test('several stops at once of the same grants end each of them once, and never wait for each other for ever', async () => {
  const connected = await connect();
  const ends = STOPS.filter(({ isEnd }) => isEnd);
  const stopped = connected.grants.filter((grant) => ends.some(({ concerns }) => concerns(grant, connected)));

  await Promise.all(ends.map(({ stop }) => storage.transaction((tx) => stop(tx, connected))));
  await followUpOnTwoNodes();

  const marked = (await readGrants(connected.app)).filter(({ revoked_reason }) => revoked_reason !== null);
  assert.deepEqual(
    marked.map(({ id }) => id),
    stopped.map(({ id }) => id),
  );
  assert.deepEqual(
    await readRevoked(connected),
    marked.map(({ id: grantId, revoked_reason: reason }) => ({ grantId, reason })),
  );
});

test('a pause that follows a pause tells each app once for each', async () => {
  const connected = await connect();
  const [pause] = STOPS as [Stop];
  await storage.transaction((tx) => pause.stop(tx, connected));
  await followUpOnTwoNodes();
  await db.updateTable('apps').set({ paused_at: null }).where('id', '=', connected.app.id).execute();

  await storage.transaction((tx) => pause.stop(tx, connected));
  await followUpOnTwoNodes();

  const twice = connected.grants.flatMap(({ id: grantId }) => Array(2).fill({ grantId, reason: pause.reason }));
  assert.deepEqual(await readRevoked(connected), twice);
});

test('while a node runs a batch, another skips that follow-up and waits for nothing', async () => {
  const connected = await connect();
  const [pause] = STOPS as [Stop];
  await storage.transaction((tx) => pause.stop(tx, connected));

  await storage.transaction(async (tx) => {
    await runFollowUp(tx, Date.now());
    assert.equal(await runFollowUp(other.durable, Date.now()), false);
  });

  await followUpOnTwoNodes();
  assert.equal((await readRevoked(connected)).length, connected.grants.length);
});

test('two nodes that look for connections above the limit end the same grants as one, each once', async () => {
  const app = await addApp();
  const crowded = await Promise.all(['Tess', 'Uma'].map((name) => addUser(name, [[acme, 'member']])));
  const counts = [MAX_GRANTS + 700, MAX_GRANTS + 1];
  const added = [];
  for (const [index, { id: userId }] of crowded.entries()) {
    const parties = Array(counts[index]).fill({ appId: app.id, businessId: acme.id, userId });
    added.push(await addLiveGrants(storage, parties, Date.now()));
  }

  await storage.transaction((tx) => requestFollowUp(tx, { kind: 'limit', reason: 'connection_limit' }, Date.now()));
  await followUpOnTwoNodes();

  const ended = added.flatMap((ids) => ids.slice(0, -MAX_GRANTS)).sort();
  const rows = await readGrants(app);
  assert.deepEqual(
    rows.filter(({ revoked_reason }) => revoked_reason === 'connection_limit').map(({ id }) => id),
    ended,
  );
  assert.deepEqual(
    await readRevoked({ app }),
    ended.map((grantId) => ({ grantId, reason: 'connection_limit' })),
  );
});
