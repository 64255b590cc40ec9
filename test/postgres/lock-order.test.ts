import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findBusiness, lockBusiness } from '../../src/accounts/businesses.ts';
import { lockOwnership } from '../../src/accounts/memberships.ts';
import { notify } from '../../src/accounts/notices.ts';
import { changeBusinessRule } from '../../src/accounts/second-factor-rules.ts';
import { insertSession, lockSession } from '../../src/accounts/sessions.ts';
import { findCredentials, type User, userActor } from '../../src/accounts/users.ts';
import { renameBusiness } from '../../src/apps/business-names.ts';
import { OPERATOR } from '../../src/audit/entries.ts';
import { deleteAccount } from '../../src/grants/account-deletion.ts';
import { lockAppRulesForShare } from '../../src/grants/app-policies.ts';
import { disconnect } from '../../src/grants/connections.ts';
import { findConsentForUpdate, saveConsent } from '../../src/grants/consents.ts';
import { hasFollowUps, runFollowUp } from '../../src/grants/follow-ups.ts';
import { changeAuthority } from '../../src/grants/handovers.ts';
import { removeMember } from '../../src/grants/member-changes.ts';
import type { Database } from '../../src/storage/storage.ts';
import { untilLockWait } from '../support/lock-waits.ts';
import { startPostgresFixtures } from '../support/postgres-fixtures.ts';

const { storage, ada, acme, addUser, addApp } = await startPostgresFixtures();
const db = storage.durable;

/** Takes the first lock, starts the other operation, and continues when it waits. Returns the result of the other one. */
async function interleave<Result>(
  first: (tx: Database) => Promise<unknown>,
  other: () => Promise<Result>,
  then: (tx: Database) => Promise<unknown>,
): Promise<Result> {
  let started: Promise<Result> | undefined;
  await storage.transaction(async (tx) => {
    await first(tx);
    started = other();
    // The test asserts a rejection.
    started.catch(() => {});
    await untilLockWait(storage);
    await then(tx);
  });
  return started as Promise<Result>;
}

async function deleteOwnAccount(user: User): Promise<boolean> {
  const credentials = await findCredentials(db, user.id);
  assert.ok(credentials);
  return deleteAccount(userActor(user, null), db, credentials, Date.now());
}

const partiesOf = (user: User) => ({ userId: user.id, businessId: acme.id });

async function connectForBusiness(user: User, to?: Awaited<ReturnType<typeof addApp>>) {
  const app = to ?? (await addApp({ ownerBusinessId: acme.id }));
  const consent = { allowed: ['read:invoices'], declined: [], connectedFor: 'business', expiresAt: null } as const;
  await saveConsent(db, { ...partiesOf(user), appId: app.id }, consent, Date.now());
  return app;
}

test('a member can be removed while the owner who inherits their connections deletes the account', async () => {
  const heir = ada;
  await addUser('Another owner', [[acme, 'owner']]);
  const admin = await addUser('An admin', [[acme, 'admin']]);
  await connectForBusiness(admin);

  const isDeleted = await interleave(
    (tx) => lockOwnership(tx, partiesOf(admin)),
    () => deleteOwnAccount(heir),
    (tx) => removeMember(OPERATOR, tx, partiesOf(admin), Date.now()),
  );

  assert.equal(isDeleted, true);
  const owners = await db.selectFrom('consents').select('user_id').execute();
  const people = new Set((await db.selectFrom('users').select('id').execute()).map(({ id }) => id));
  assert.equal(owners.length, 1);
  for (const { user_id } of owners) assert.ok(people.has(user_id), 'the responsible user exists');
});

test('a user who clicks Allow while they delete their account in another tab blocks neither', async () => {
  const user = await addUser('In two tabs', [[acme, 'member']]);
  const { id } = await insertSession(db, { user, browser: 'A test', address: '127.0.0.1' }, Date.now());

  const isDeleted = await interleave(
    (tx) => lockSession(tx, id),
    () => deleteOwnAccount(user),
    // The last statement of Allow.
    (tx) =>
      notify(
        tx,
        [user.id],
        { kind: 'app_connected', values: { app: 'Ledger', business: 'Acme', businessId: 'b' } },
        Date.now(),
      ),
  );

  assert.equal(isDeleted, true);
});

test('a notice to one platform admin does not stop another one from deleting their account', async () => {
  const [leaving, staying] = [await addUser('Leaving', [[acme, 'owner']]), await addUser('Staying', [[acme, 'owner']])];
  const ids = [leaving.id, staying.id];
  await db.updateTable('users').set({ platform_admin: 1 }).where('id', 'in', ids).execute();

  const isDeleted = await interleave(
    (tx) => lockOwnership(tx, partiesOf(staying)),
    () => deleteOwnAccount(leaving),
    (tx) =>
      notify(
        tx,
        [staying.id],
        { kind: 'app_connected', values: { app: 'Ledger', business: 'Acme', businessId: 'b' } },
        Date.now(),
      ),
  );

  assert.equal(isDeleted, true);
});

test('an app is disconnected for everyone while an owner takes a connection of it over', async () => {
  const owner = await addUser('The new owner', [[acme, 'owner']]);
  const admin = await addUser('The admin', [[acme, 'admin']]);
  const app = await connectForBusiness(owner);
  await connectForBusiness(admin, app);
  const [actor, key] = [userActor(owner, null), { ...partiesOf(admin), appId: app.id }];
  const handover = { app, ...partiesOf(admin), to: owner.id, scopes: ['read:invoices'] };

  const isEnded = await interleave(
    async (tx) => {
      await lockAppRulesForShare(tx, acme.id);
      await lockOwnership(tx, partiesOf(admin));
      await findConsentForUpdate(tx, key, Date.now());
    },
    () => disconnect(actor, db, { app, businessId: acme.id }, Date.now()),
    (tx) => changeAuthority(actor, tx, handover, Date.now()),
  );

  assert.equal(isEnded, true);
  while (await hasFollowUps(db)) await runFollowUp(db, Date.now());
  const left = await db.selectFrom('consents').selectAll().where('app_id', '=', app.id).execute();
  assert.deepEqual(left, []);
});

test('an owner requires a second factor while another one renames the business', async () => {
  const [one, other] = [await addUser('Renames', [[acme, 'owner']]), await addUser('Requires', [[acme, 'owner']])];
  const rule = { businessId: acme.id, isRequired: true };

  const isChanged = await interleave(
    (tx) => lockBusiness(tx, acme.id),
    () => changeBusinessRule(userActor(other, null), db, rule, Date.now()),
    (tx) => renameBusiness(userActor(one, null), tx, { businessId: acme.id, name: 'Acme & Co' }, Date.now()),
  );

  assert.equal(isChanged, true);
  const business = await findBusiness(db, acme.id);
  assert.deepEqual([business?.name, business?.requiresSecondFactor], ['Acme & Co', true]);
  const [entry] = await db.selectFrom('audit_entries').selectAll().where('action', '=', 'factor.required').execute();
  assert.equal(entry?.subject_name, 'Acme & Co');
});

test('only a current owner can disconnect an app for everyone', async () => {
  const admin = await addUser('Not an owner', [[acme, 'admin']]);
  const app = await connectForBusiness(admin);

  assert.equal(await disconnect(userActor(admin, null), db, { app, businessId: acme.id }, Date.now()), false);
});
