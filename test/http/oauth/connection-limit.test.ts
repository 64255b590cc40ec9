import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NewApp } from '../../../src/apps/apps.ts';
import { OPERATOR } from '../../../src/audit/entries.ts';
import { MAX_GRANTS } from '../../../src/grants/connection-limit.ts';
import { inactiveGrants } from '../../../src/grants/grants.ts';
import { removeMember } from '../../../src/grants/member-changes.ts';
import { selectLiveGrants } from '../../../src/grants/status.ts';
import { stop } from '../../../src/grants/stops.ts';
import { DAY, HOUR } from '../../../src/lib/clock.ts';
import { addExchangedGrants, addGrant } from '../../support/new-grants.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const db = () => server.storage().durable;
let users = 0;

/** A new member has connected a new app. */
async function connect(changes: Partial<NewApp> = { ownerBusinessId: server.acme.id }) {
  const app = await server.addApp(changes);
  const user = await server.addUser(`Sam${++users}`, [[server.acme, 'member']]);
  const credentials = { client_id: app.id, client_secret: app.secret };
  const parties = { appId: app.id, userId: user.id, businessId: server.acme.id };
  const allow = async (query = {}) => server.allow({ client_id: app.id, ...query }, await server.signedIn(user));
  const exchange = async (code: string) => (await server.exchange(code, credentials)).body;
  return {
    app,
    parties,
    allow,
    exchange,
    tokens: await exchange(await allow()),
    refresh: async (token: string) => (await server.refresh(token, credentials)).body,
    fill: (count: number) => addExchangedGrants(server.storage(), { ...parties, count }, server.clock()),
    countLive: async () => {
      const live = selectLiveGrants(db(), server.clock()).select('grants.id').where('grants.app_id', '=', app.id);
      return (await live.execute()).length;
    },
    listEnded: async () => {
      const events = db().selectFrom('events').select('data').where('type', '=', 'grant.revoked');
      const rows = await events.where('app_id', '=', app.id).orderBy('id').execute();
      return rows.map(({ data }): { grantId: string; reason: string } => JSON.parse(data));
    },
  };
}

const WAYS = [
  { how: 'on the consent screen', query: { scope: 'read:invoices read:contacts' } },
  { how: 'without a screen', query: {} },
  { how: 'with prompt=none', query: { prompt: 'none' } },
];

for (const { how, query } of WAYS) {
  test(`an authorization ${how} beyond the limit ends the grant that expires first, and no other [X9]`, async () => {
    const { allow, exchange, refresh, tokens: first, fill, countLive, listEnded } = await connect();
    const second = await exchange(await allow());
    server.advanceClock(HOUR);
    await fill(MAX_GRANTS - 2);

    const tokens = await exchange(await allow(query));

    assert.equal((await refresh(first.refresh_token)).reason, 'connection_limit');
    assert.ok((await refresh(second.refresh_token)).access_token);
    assert.ok((await refresh(tokens.refresh_token)).access_token);
    assert.deepEqual(
      [await countLive(), (await listEnded()).map(({ reason }) => reason)],
      [MAX_GRANTS, ['connection_limit']],
    );
  });
}

test('an authorization of an app of the platform, which has no consent, has the same limit', async () => {
  const { allow, refresh, tokens, fill } = await connect({});
  server.advanceClock(DAY);
  await fill(MAX_GRANTS - 1);

  await allow();

  assert.equal((await refresh(tokens.refresh_token)).reason, 'connection_limit');
});

test('a grant that is refreshed expires later, so that one that was allowed after it ends first', async () => {
  const { allow, exchange, refresh, tokens: older, fill } = await connect();
  const newer = await exchange(await allow());
  server.advanceClock(DAY);
  const refreshed = await refresh(older.refresh_token);
  await fill(MAX_GRANTS - 2);

  await allow();

  assert.equal((await refresh(newer.refresh_token)).reason, 'connection_limit');
  assert.ok((await refresh(refreshed.refresh_token)).access_token);
});

test('codes that are not exchanged end no grant, and have a limit of their own [X9]', async () => {
  const { parties, allow, fill, listEnded } = await connect();
  await fill(MAX_GRANTS - 2);
  const codes = await server.storage().transaction(async (tx) => {
    const ids = [];
    for (let i = 0; i < MAX_GRANTS; i++) ids.push(await addGrant(tx, parties, server.clock()));
    return ids;
  });

  await allow();

  const ended = await listEnded();
  assert.deepEqual(
    ended.map(({ grantId }) => grantId),
    codes.slice(0, 1),
  );
});

test('a grant whose refresh token has expired does not count', async () => {
  const { allow, tokens, refresh, fill, listEnded } = await connect();
  const [expired] = await fill(1);
  await fill(MAX_GRANTS - 2);
  const passed = { refresh_expires_at: server.clock() };
  await db()
    .updateTable('grants')
    .set(passed)
    .where('id', '=', expired ?? '')
    .execute();

  await allow();

  assert.deepEqual(await listEnded(), []);
  assert.ok((await refresh(tokens.refresh_token)).access_token);
});

test('a grant that a stop has ended keeps its reason, and takes no place of one that works', async () => {
  const { parties, allow, exchange, refresh, tokens: stopped, fill, listEnded } = await connect();
  await fill(MAX_GRANTS - 2);
  await server.storage().transaction((tx) => stop(tx, { appId: parties.appId }, 'app_tokens_ended', server.clock()));

  const [first, second] = [await exchange(await allow()), await exchange(await allow())];

  assert.equal((await refresh(stopped.refresh_token)).reason, 'app_tokens_ended');
  for (const { refresh_token } of [first, second]) assert.ok((await refresh(refresh_token)).access_token);
  assert.deepEqual(await listEnded(), []);
});

test('what people and apps have elsewhere does not count', async () => {
  const [full, other] = [await connect(), await connect()];
  await full.fill(MAX_GRANTS - 1);
  const grants = { userId: other.parties.userId, appId: full.app.id, businessId: server.acme.id, count: 5 };
  await addExchangedGrants(server.storage(), grants, server.clock());

  await other.allow();

  assert.deepEqual([await full.listEnded(), await other.listEnded()], [[], []]);
});

test('the row of a grant that the limit ended is removed a day later', async () => {
  const { allow, fill, listEnded } = await connect();
  await fill(MAX_GRANTS - 1);
  await allow();
  const [ended] = await listEnded();
  const isStored = async () => {
    await inactiveGrants.remove(db(), 1e6, server.clock());
    return (
      (
        await db()
          .selectFrom('grants')
          .select('id')
          .where('id', '=', ended?.grantId ?? '')
          .execute()
      ).length > 0
    );
  };

  server.advanceClock(DAY - HOUR);
  assert.equal(await isStored(), true);
  server.advanceClock(DAY + HOUR);
  assert.equal(await isStored(), false);
});

test('authorizations in parallel end no more than in sequence, and the next one restores the limit', async () => {
  const { allow, exchange, fill, countLive, listEnded } = await connect();
  await fill(MAX_GRANTS - 1);

  const codes = await Promise.all(Array.from({ length: 4 }, () => allow()));
  const endedAtOnce = (await listEnded()).length;
  for (const code of codes) await exchange(code);
  const transient = await countLive();
  await exchange(await allow());

  assert.deepEqual([endedAtOnce, transient, await countLive()], [1, MAX_GRANTS + 3, MAX_GRANTS]);
});

test('what is far above the limit is ended moments later, and not by Allow itself', async () => {
  const { allow, fill, countLive, listEnded } = await connect();
  await fill(2 * MAX_GRANTS);

  await allow();
  const endedByAllow = (await listEnded()).length;
  await server.finishFollowUps();

  assert.deepEqual([endedByAllow, await countLive()], [0, MAX_GRANTS]);
});

test('a connection that is handed over to somebody who has it, too, is within the limit moments later', async () => {
  const from = await server.addUser('Fay', [[server.acme, 'owner']]);
  const app = await server.addApp({ ownerBusinessId: server.acme.id });
  const parties = { appId: app.id, businessId: server.acme.id, count: MAX_GRANTS };
  for (const userId of [from.id, server.ada.id]) {
    await addExchangedGrants(server.storage(), { ...parties, userId }, server.clock());
  }
  await db().updateTable('grants').set({ connected_for: 'business' }).where('app_id', '=', app.id).execute();
  server.advanceClock(HOUR);

  await removeMember(OPERATOR, db(), { userId: from.id, businessId: server.acme.id }, server.clock());
  await server.finishFollowUps();

  const live = selectLiveGrants(db(), server.clock()).select('grants.user_id').where('grants.app_id', '=', app.id);
  const users = (await live.execute()).map(({ user_id }) => user_id);
  assert.deepEqual([users.length, new Set(users)], [MAX_GRANTS, new Set([server.ada.id])]);
});
