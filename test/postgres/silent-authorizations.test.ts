import assert from 'node:assert/strict';
import { test } from 'node:test';
import { updateRole } from '../../src/accounts/memberships.ts';
import { insertSession } from '../../src/accounts/sessions.ts';
import { userActor } from '../../src/accounts/users.ts';
import { OPERATOR } from '../../src/audit/entries.ts';
import { listEndedMemberships } from '../../src/grants/account-deletion.ts';
import { changeAppPolicy } from '../../src/grants/app-policies.ts';
import { MAX_GRANTS } from '../../src/grants/connection-limit.ts';
import { endConnection } from '../../src/grants/connections.ts';
import { forgetConsentsOfUser, saveConsent } from '../../src/grants/consents.ts';
import { findGrant } from '../../src/grants/grants.ts';
import { newId } from '../../src/lib/ids.ts';
import { createKeyring } from '../../src/lib/keyring.ts';
import { findPermission } from '../../src/oauth/authorize/permission.ts';
import { issueCodeSilently } from '../../src/oauth/authorize/silent.ts';
import { requestInvoices } from '../support/authorization-requests.ts';
import { untilLockWait } from '../support/lock-waits.ts';
import { addExchangedGrants } from '../support/new-grants.ts';
import { startPostgresFixtures } from '../support/postgres-fixtures.ts';

const { storage, ada, acme, ledger, addUser } = await startPostgresFixtures();
const db = storage.durable;
const keys = createKeyring(['the-key-that-the-tests-sign-their-tokens-with']);
const actor = userActor(ada, '127.0.0.1');
const parties = { userId: ada.id, appId: ledger.id, businessId: acme.id };
const consent = { allowed: ['read:invoices'], declined: [], expiresAt: null };

const newSession = async () =>
  (await insertSession(db, { user: ada, browser: 'A test', address: '127.0.0.1' }, Date.now())).id;

async function newAuthorization(sessionId: string) {
  const request = await requestInvoices({ storage, keys }, ledger);
  const { rules } = await findPermission(db, { request, userId: ada.id, businessId: acme.id });
  return { request, grantId: newId(Date.now()), sessionId, businessId: acme.id, consent, rules };
}

type Authorization = Awaited<ReturnType<typeof newAuthorization>>;

const authorize = (authorization: Authorization) => issueCodeSilently(actor, { db, keys }, authorization, Date.now());

const find = ({ grantId }: Authorization) => findGrant(db, { grantId, rotation: 0 }, Date.now());

/** The first one is recorded in the audit log, and the others are repeats of it. */
async function newRepeats(count: number): Promise<Authorization[]> {
  await storage.transaction((tx) => saveConsent(tx, parties, consent, Date.now()));
  const sessionId = await newSession();
  assert.ok(await authorize(await newAuthorization(sessionId)));
  return Promise.all(Array.from({ length: count }, () => newAuthorization(sessionId)));
}

test('each of several authorizations without a screen in one event loop iteration gets a code of its own', async () => {
  const authorizations = await newRepeats(3);

  const codes = await Promise.all(authorizations.map(authorize));

  assert.equal(new Set(codes).size, 3);
  for (const authorization of authorizations) {
    const { appId, userId, businessId, scopes, inactiveReason } = (await find(authorization)) ?? assert.fail();
    assert.deepEqual({ appId, userId, businessId }, parties);
    assert.deepEqual({ scopes, inactiveReason }, { scopes: ['read:invoices'], inactiveReason: null });
  }
});

test('of several authorizations in one event loop iteration, only that of an ended session gets no code', async () => {
  const [first, ended, last] = await newRepeats(3);
  assert.ok(first && ended && last);

  const codes = await Promise.all([authorize(first), authorize({ ...ended, sessionId: 'ended' }), authorize(last)]);

  assert.deepEqual(codes.map(Boolean), [true, false, true]);
  assert.equal(await find(ended), undefined);
});

test('several first authorizations in one event loop iteration leave one audit entry', async () => {
  await storage.transaction((tx) => endConnection(tx, parties, 'disconnected_by_user', Date.now()));
  await db.deleteFrom('audit_repeats').execute();
  await storage.transaction((tx) => saveConsent(tx, parties, consent, Date.now()));
  const sessionId = await newSession();
  const entries = () => db.selectFrom('audit_entries').select('id').where('action', '=', 'grant.allowed').execute();
  const before = await entries();
  const authorizations = await Promise.all([1, 2, 3].map(() => newAuthorization(sessionId)));

  const codes = await Promise.all(authorizations.map(authorize));

  assert.equal(new Set(codes).size, 3);
  assert.equal((await entries()).length - before.length, 1);
});

test('an authorization waits for a consent that is being withdrawn and gets no code, and no other waits for it', async () => {
  const [own] = await newRepeats(1);
  assert.ok(own);
  const bob = await addUser('Bob', [[acme, 'owner']]);
  await storage.transaction((tx) => saveConsent(tx, { ...parties, userId: bob.id }, consent, Date.now()));
  const { id: sessionId } = await insertSession(db, { user: bob, browser: '', address: '' }, Date.now());
  const bobs = { ...own, sessionId, grantId: newId(Date.now()) };
  const authorizeBob = (authorization: Authorization) =>
    issueCodeSilently(userActor(bob, ''), { db, keys }, authorization, Date.now());
  assert.ok(await authorizeBob(bobs));
  let adas: Promise<string | undefined> | undefined;

  await storage.transaction(async (tx) => {
    await endConnection(tx, parties, 'disconnected_by_user', Date.now());
    adas = authorize(own);
    assert.ok(await authorizeBob({ ...bobs, grantId: newId(Date.now()) }));
    await untilLockWait(storage);
  });

  assert.equal(await adas, undefined);
});

test('while the rules of a business change, an authorization that is no repeat waits, and no token check does', async () => {
  const [repeat] = await newRepeats(1);
  assert.ok(repeat);
  const authorization = { ...repeat, rules: undefined };
  let code: Promise<string | undefined> | undefined;

  await storage.transaction(async (tx) => {
    await tx.selectFrom('businesses').select('id').where('id', '=', acme.id).forNoKeyUpdate().execute();
    code = authorize(authorization);
    await untilLockWait(storage);
    await listEndedMemberships(db, ada.id);
    assert.equal(await find(authorization), undefined);
  });

  assert.ok(await code);
});

test('a repeat gets no code if the rules of the business, the role or the consent have changed since they were read', async () => {
  const carl = await addUser('Carl', [[acme, 'member']]);
  const { id: sessionId } = await insertSession(db, { user: carl, browser: '', address: '' }, Date.now());
  const key = { ...parties, userId: carl.id };
  await storage.transaction((tx) => saveConsent(tx, key, consent, Date.now()));
  const request = await requestInvoices({ storage, keys }, ledger);
  const authorizeCarl = async (change: () => Promise<unknown>) => {
    const { rules } = await findPermission(db, { request, userId: carl.id, businessId: acme.id });
    const ids = { grantId: newId(Date.now()), sessionId, businessId: acme.id };
    await change();
    return issueCodeSilently(userActor(carl, ''), { db, keys }, { request, ...ids, consent, rules }, Date.now());
  };
  const decide = (who: 'anyone' | 'admins') =>
    changeAppPolicy(OPERATOR, db, { businessId: acme.id, who, reservesSensitive: false }, Date.now());
  const changeRole = (role: string) => updateRole(db, carl.id, acme.id, role);
  assert.ok(await authorizeCarl(async () => {}));

  assert.equal(await authorizeCarl(() => decide('admins')), undefined);
  await changeRole('admin');
  assert.ok(await authorizeCarl(async () => {}));
  assert.equal(await authorizeCarl(() => changeRole('member')), undefined);
  await decide('anyone');
  assert.ok(await authorizeCarl(async () => {}));
  assert.equal(await authorizeCarl(() => forgetConsentsOfUser(db, carl.id)), undefined);
});

test('authorizations of a full connection in parallel, on several connections, end one grant, and one event tells of it', async () => {
  const authorizations = await newRepeats(8);
  const grants = await addExchangedGrants(storage, { ...parties, count: MAX_GRANTS }, Date.now());

  const codes = await Promise.all(authorizations.map(authorize));

  assert.equal(new Set(codes.filter(Boolean)).size, 8);
  const ended = await db.selectFrom('grants').select('id').where('revoked_reason', '=', 'connection_limit').execute();
  assert.deepEqual(
    ended.map(({ id }) => id),
    grants.slice(0, 1),
  );
  const told = db.selectFrom('events').select('data').where('type', '=', 'grant.revoked');
  const events = (await told.execute()).filter(({ data }) => JSON.parse(data).reason === 'connection_limit');
  assert.equal(events.length, 1);
});
