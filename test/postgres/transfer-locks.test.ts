import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Role } from '../../src/accounts/memberships.ts';
import { insertSession } from '../../src/accounts/sessions.ts';
import { type User, userActor } from '../../src/accounts/users.ts';
import { disconnect } from '../../src/grants/connections.ts';
import { markExchanged } from '../../src/grants/grants.ts';
import { changeAuthority } from '../../src/grants/handovers.ts';
import { CODE_LIFETIME } from '../../src/grants/lifetimes.ts';
import { changeRole, listMemberConnections, removeMember } from '../../src/grants/member-changes.ts';
import type { ConnectedFor } from '../../src/grants/transfers.ts';
import { newId } from '../../src/lib/ids.ts';
import { createKeyring } from '../../src/lib/keyring.ts';
import { issueCode } from '../../src/oauth/authorize/response.ts';
import type { Database } from '../../src/storage/storage.ts';
import { EXTERNAL_BOUNDS, requestInvoices } from '../support/authorization-requests.ts';
import { startPostgresFixtures } from '../support/postgres-fixtures.ts';
import { repeatChange } from '../support/unavailable.ts';

const { storage, ada, acme, addUser, addApp } = await startPostgresFixtures();
const owner = userActor(ada, '127.0.0.1');
const scopes = ['read:invoices'];
const keys = createKeyring(['the-key-that-the-tests-sign-their-tokens-with']);
const db = storage.durable;
let count = 0;

type NewApp = Awaited<ReturnType<typeof addApp>>;

async function newMember(role: Role): Promise<User> {
  return addUser(`Person ${++count}`, [[acme, role]]);
}

async function allow(user: User, app: NewApp, connectedFor: ConnectedFor, on = db): Promise<string | undefined> {
  const from = { user, browser: 'A test', address: '127.0.0.1' };
  const { id: sessionId } = await insertSession(db, from, Date.now());
  const request = await requestInvoices({ storage, keys }, app);
  const authorization = { request, grantId: newId(Date.now()), sessionId, businessId: acme.id, shown: scopes };
  const decision = { allowed: scopes, declined: [], connectedFor, expiresAt: null };
  const code = await issueCode(
    userActor(user, '127.0.0.1'),
    { db: on, keys, bounds: EXTERNAL_BOUNDS },
    { ...authorization, decision },
    Date.now(),
  );
  // A grant does not move right after the exchange of its code.
  await markExchanged(on, authorization.grantId, Date.now() - CODE_LIFETIME);
  return code;
}

/** Resolves when statements wait for a lock, or after two seconds; then the assertions of the test fail. */
async function untilLockWait(): Promise<void> {
  const waiting = sql`select pid from pg_stat_activity where wait_event_type = 'Lock'`;
  for (let attempt = 0; attempt < 400; attempt += 1) {
    if ((await waiting.execute(db)).rows.length > 0) return;
    await setTimeout(5);
  }
}

/** Runs `change`, starts `other` before the commit, and returns the result of `other`. */
async function during<Result>(change: (tx: Database) => Promise<unknown>, other: () => Promise<Result>) {
  let started: Promise<Result> | undefined;
  await storage.transaction(async (tx) => {
    await change(tx);
    started = other();
    // The test asserts a rejection later.
    started.catch(() => {});
    await untilLockWait();
  });
  return started as Promise<Result>;
}

/** Who is responsible for the unrevoked grants of an app. */
async function authorities(app: NewApp): Promise<string[]> {
  const rows = await db.selectFrom('grants').selectAll().where('app_id', '=', app.id).execute();
  return rows.filter(({ revoked_at }) => revoked_at === null).map(({ user_id }) => user_id);
}

async function countTransfers(app: NewApp): Promise<number> {
  const entries = await db.selectFrom('audit_entries').selectAll().where('subject_id', '=', app.id).execute();
  return entries.filter(({ action }) => action === 'grant.transferred').length;
}

const newApp = () => addApp({ ownerBusinessId: acme.id });
const partiesOf = (user: User) => ({ userId: user.id, businessId: acme.id });
const takeOver = (app: NewApp) => [{ appId: app.id, isTakenOver: true, scopes }];

test('disconnecting an app for everyone waits for no Allow, of which a business may always have some', async () => {
  const app = await newApp();
  assert.ok(await allow(await newMember('member'), app, 'user'));

  const isDone = await storage.transaction(async (tx) => {
    assert.ok(await allow(await newMember('member'), app, 'user', tx));
    return disconnect(owner, db, { app, businessId: acme.id }, Date.now());
  });

  assert.equal(isDone, true);
});

test('Allow for the business waits for the removal of its user, and creates no grant', async () => {
  const [user, app] = [await newMember('admin'), await newApp()];

  const code = await during(
    (tx) => removeMember(owner, tx, partiesOf(user), Date.now()),
    () => allow(user, app, 'business'),
  );

  assert.equal(code, undefined);
  assert.deepEqual(await authorities(app), []);
});

test('Allow for the business waits for a demotion, and creates no grant', async () => {
  const [user, app] = [await newMember('admin'), await newApp()];

  const code = await during(
    (tx) => changeRole(owner, tx, { ...partiesOf(user), role: 'member' }, Date.now()),
    () => allow(user, app, 'business'),
  );

  assert.equal(code, undefined);
  assert.deepEqual(await authorities(app), []);
});

test('a removal waits for an Allow for the business that is being committed, and lists it for confirmation', async () => {
  const [user, app] = [await newMember('admin'), await newApp()];
  const removal = { ...partiesOf(user), choices: [] };

  const removed = during(
    (tx) => allow(user, app, 'business', tx),
    () => removeMember(owner, db, removal, Date.now()),
  );

  await assert.rejects(removed, /has connected Ledger in the meantime/);
  assert.deepEqual(await authorities(app), [user.id]);
});

test('a connection that is disconnected while its user is removed does not come back', async () => {
  const [user, app] = [await newMember('admin'), await newApp()];
  await allow(user, app, 'business');

  await during(
    (tx) => disconnect(userActor(user, null), tx, { app, businessId: acme.id, user }, Date.now()),
    () => removeMember(owner, db, { ...partiesOf(user), choices: takeOver(app) }, Date.now()),
  );

  assert.deepEqual(await authorities(app), []);
});

test('a disconnect that comes after the take-over ends nothing of the new owner', async () => {
  const [user, app] = [await newMember('admin'), await newApp()];
  await allow(user, app, 'business');

  const ended = await during(
    (tx) => removeMember(owner, tx, { ...partiesOf(user), choices: takeOver(app) }, Date.now()),
    () => disconnect(userActor(user, null), db, { app, businessId: acme.id, user }, Date.now()),
  );

  assert.equal(ended, false);
  assert.deepEqual(await authorities(app), [ada.id]);
});

test('two owners who remove the same member move a connection once', async () => {
  const [user, second, app] = [await newMember('admin'), await newMember('owner'), await newApp()];
  await allow(user, app, 'business');
  const removal = { ...partiesOf(user), choices: takeOver(app) };

  const again = await during(
    (tx) => removeMember(owner, tx, removal, Date.now()),
    () => removeMember(userActor(second, null), db, removal, Date.now()),
  );

  assert.equal(again, false);
  assert.deepEqual(await authorities(app), [ada.id]);
  assert.equal(await countTransfers(app), 1);
});

test('two owners who take a connection over at the same time move it once', async () => {
  const [user, second, app] = [await newMember('admin'), await newMember('owner'), await newApp()];
  await allow(user, app, 'business');
  const handover = { app, businessId: acme.id, userId: user.id, scopes };

  const again = await during(
    (tx) => changeAuthority(owner, tx, { ...handover, to: ada.id }, Date.now()),
    () => changeAuthority(userActor(second, null), db, { ...handover, to: second.id }, Date.now()),
  );

  assert.equal(again, undefined);
  assert.deepEqual(await authorities(app), [ada.id]);
  assert.equal(await countTransfers(app), 1);
});

test('many removals, Allows and disconnects at once leave no connection under a former member', async () => {
  const people = await Promise.all(Array.from({ length: 6 }, () => newMember('admin')));
  const app = await newApp();
  await Promise.all(people.map((user) => allow(user, app, 'business')));

  await Promise.all(
    people.flatMap((user) => [
      repeatChange(() => removeMember(owner, db, partiesOf(user), Date.now())),
      repeatChange(() => allow(user, app, 'business')),
      repeatChange(() => disconnect(userActor(user, null), db, { app, businessId: acme.id, user }, Date.now())),
    ]),
  );

  const members = new Set((await db.selectFrom('memberships').selectAll().execute()).map(({ user_id }) => user_id));
  for (const id of await authorities(app)) assert.ok(members.has(id));
  for (const user of people) assert.deepEqual(await listMemberConnections(db, partiesOf(user), Date.now()), []);
});
