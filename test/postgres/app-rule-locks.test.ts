import assert from 'node:assert/strict';
import { test } from 'node:test';
import { insertSession } from '../../src/accounts/sessions.ts';
import { userActor } from '../../src/accounts/users.ts';
import { blockApp, decideRequest, withdrawRequestDecision } from '../../src/grants/app-approvals.ts';
import { changeAppPolicy } from '../../src/grants/app-policies.ts';
import { requestApproval } from '../../src/grants/app-requests.ts';
import { findConsent } from '../../src/grants/consents.ts';
import { findGrant } from '../../src/grants/grants.ts';
import { newId } from '../../src/lib/ids.ts';
import { createKeyring } from '../../src/lib/keyring.ts';
import { issueCode } from '../../src/oauth/authorize/response.ts';
import { EXTERNAL_BOUNDS, requestInvoices } from '../support/authorization-requests.ts';
import { untilLockWait } from '../support/lock-waits.ts';
import { startPostgresFixtures } from '../support/postgres-fixtures.ts';

const { storage, ada, acme, addUser, addApp } = await startPostgresFixtures();
const owner = userActor(ada, '127.0.0.1');
const member = await addUser('Mia', [[acme, 'member']]);
const scopes = ['read:invoices'];
const keys = createKeyring(['the-key-that-the-tests-sign-their-tokens-with']);

type NewApp = Awaited<ReturnType<typeof addApp>>;

/** The member clicks Allow. */
async function allow(app: NewApp, db = storage.durable): Promise<string | undefined> {
  const { id: sessionId } = await insertSession(
    storage.durable,
    { user: member, browser: 'A test', address: '127.0.0.1' },
    Date.now(),
  );
  const request = await requestInvoices({ storage, keys }, app);
  const authorization = { request, grantId: newId(Date.now()), sessionId, businessId: acme.id };
  const decision = { allowed: scopes, declined: [], expiresAt: null };
  const actor = userActor(member, '127.0.0.1');
  const codeDeps = { db, keys, bounds: EXTERNAL_BOUNDS };
  return issueCode(actor, codeDeps, { ...authorization, decision, shown: scopes }, Date.now());
}

/** Runs `change`, clicks Allow before the commit, and returns the result of Allow. */
async function allowDuring(app: NewApp, change: (tx: typeof storage.durable) => Promise<unknown>) {
  let code: Promise<string | undefined> | undefined;
  await storage.transaction(async (tx) => {
    await change(tx);
    code = allow(app);
    await untilLockWait(storage);
  });
  return code;
}

const countLive = async (app: NewApp) =>
  (
    await storage.durable
      .selectFrom('grants')
      .select('id')
      .where('app_id', '=', app.id)
      .where('revoked_at', 'is', null)
      .execute()
  ).length;

async function countActive(app: NewApp): Promise<number> {
  const db = storage.durable;
  const rows = await db.selectFrom('grants').select('id').where('app_id', '=', app.id).execute();
  const found = await Promise.all(rows.map(({ id }) => findGrant(db, { grantId: id, rotation: 0 }, Date.now())));
  return found.filter((grant) => grant?.inactiveReason === null).length;
}

test('Allow amid the commit of a block creates no active grant, and no consent that counts [C10] [C11]', async () => {
  const app = await addApp({ ownerBusinessId: acme.id });
  await storage.transaction(async (tx) => {
    await blockApp(owner, tx, { app, businessId: acme.id, reason: '' }, Date.now());
    await allow(app);
  });

  assert.equal(await countActive(app), 0);
  const parties = { userId: member.id, appId: app.id, businessId: acme.id };
  assert.deepEqual((await findConsent(storage.durable, parties, Date.now())).allowed, []);
});

test('a block waits for no Allow, of which a business may always have some', async () => {
  const app = await addApp({ ownerBusinessId: acme.id });

  const isBlocked = await storage.transaction(async (tx) => {
    assert.ok(await allow(app, tx));
    return blockApp(owner, storage.durable, { app, businessId: acme.id, reason: '' }, Date.now());
  });

  assert.equal(isBlocked, true);
  assert.equal(await countActive(app), 0);
});

test('Allow waits while an approval is withdrawn, and creates no grant [C10]', async () => {
  const app = await addApp({ ownerBusinessId: acme.id });
  const policy = { businessId: acme.id, who: 'approved' as const, reservesSensitive: false };
  await changeAppPolicy(owner, storage.durable, policy, Date.now());
  const request = { app, businessId: acme.id, scopes, note: '' };
  await requestApproval(userActor(member, '127.0.0.1'), storage.durable, request, Date.now());
  const key = { businessId: acme.id, appId: app.id, userId: member.id };
  const decided = { ...key, businessName: 'Acme', decision: 'approve_person' as const, reason: '', scopes };
  await decideRequest(owner, storage.durable, decided, Date.now());

  const code = await allowDuring(app, (tx) => withdrawRequestDecision(owner, tx, { app, ...key }, Date.now()));

  assert.equal(code, undefined);
  assert.equal(await countLive(app), 0);
});
