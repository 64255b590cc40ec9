import assert from 'node:assert/strict';
import { test } from 'node:test';
import { insertSession, lockSession } from '../../src/accounts/sessions.ts';
import { userActor } from '../../src/accounts/users.ts';
import { resetAccount } from '../../src/grants/account-reset.ts';
import { endConnection } from '../../src/grants/connections.ts';
import { findConsentForShare, saveConsent } from '../../src/grants/consents.ts';
import { createGrant, findGrant } from '../../src/grants/grants.ts';
import { newId } from '../../src/lib/ids.ts';
import { createKeyring } from '../../src/lib/keyring.ts';
import { findPermission } from '../../src/oauth/authorize/permission.ts';
import { issueCode } from '../../src/oauth/authorize/response.ts';
import { issueCodeSilently } from '../../src/oauth/authorize/silent.ts';
import type { Database } from '../../src/storage/storage.ts';
import { EXTERNAL_BOUNDS, requestInvoices } from '../support/authorization-requests.ts';
import { untilLockWait } from '../support/lock-waits.ts';
import { startPostgresFixtures } from '../support/postgres-fixtures.ts';

const { storage, ada, acme, ledger } = await startPostgresFixtures();
const scopes = ['read:invoices'];
const parties = { userId: ada.id, appId: ledger.id, businessId: acme.id };

const allowOnce = (db: Database) =>
  saveConsent(db, parties, { allowed: scopes, declined: [], expiresAt: null }, Date.now());
const leave = () => storage.transaction((db) => endConnection(db, parties, 'disconnected_by_user', Date.now()));

/** Creates a grant from a consent as a silent authorization does, and runs `meanwhile` in between. */
async function allowSilently(meanwhile: () => unknown): Promise<string | undefined> {
  return storage.transaction(async (db) => {
    const { allowed } = await findConsentForShare(db, parties, Date.now());
    await meanwhile();
    const [id, now] = [newId(Date.now()), Date.now()];
    const allowedTo = { connectedFor: 'user' as const, expiresAt: null };
    const request = { ...allowedTo, resource: null, redirectUri: null, codeChallenge: null, stops: 0 };
    return allowed.length === 0
      ? undefined
      : (await createGrant(db, { id, ...parties, ...request, scopes: allowed }, now))?.id;
  });
}

test('disconnecting waits for a grant that is being created from the consent, and revokes it', async () => {
  await storage.transaction(allowOnce);
  let left: Promise<unknown> | undefined;

  const id = await allowSilently(async () => {
    left = leave();
    await untilLockWait(storage);
  });
  await left;

  const grant = await findGrant(storage.durable, { grantId: id ?? '', rotation: 0 }, Date.now());
  assert.equal(grant?.inactiveReason, 'disconnected_by_user');
});

test('no grant is created from a consent that is being withdrawn', async () => {
  await storage.transaction(allowOnce);
  let made: Promise<string | undefined> | undefined;

  await storage.transaction(async (db) => {
    await endConnection(db, parties, 'disconnected_by_user', Date.now());
    made = allowSilently(() => {});
    await untilLockWait(storage);
  });

  assert.equal(await made, undefined);
});

test('Allow creates no grant in a session that a password reset is ending', async () => {
  const session = await insertSession(
    storage.durable,
    { user: ada, browser: 'A test', address: '127.0.0.1' },
    Date.now(),
  );
  let code: Promise<string | undefined> | undefined;

  await storage.transaction(async (db) => {
    await resetAccount(db, { userId: ada.id, hash: 'another', endsGrants: true }, Date.now());
    code = allowOnScreen(session.id);
    await untilLockWait(storage);
  });

  assert.equal(await code, undefined);
  const live = await storage.durable.selectFrom('grants').select('id').where('revoked_at', 'is', null).execute();
  assert.deepEqual(live, []);
});

test('a silent authorization does not wait for another of the same user and app', async () => {
  await storage.transaction(allowOnce);
  const browser = { user: ada, browser: 'A test', address: '127.0.0.1' };
  const { id } = await insertSession(storage.durable, browser, Date.now());
  const authorize = async () => {
    const { actor, deps, authorization } = await newAuthorization(id);
    const consent = { allowed: scopes, declined: [], expiresAt: null };
    const { rules } = await findPermission(storage.durable, { ...authorization, userId: ada.id });
    return issueCodeSilently(actor, deps, { ...authorization, consent, rules }, Date.now());
  };
  await authorize();

  const code = await storage.transaction(async (db) => {
    await lockSession(db, id);
    await findConsentForShare(db, parties, Date.now());
    return authorize();
  });

  assert.ok(code);
});

async function allowOnScreen(sessionId: string): Promise<string | undefined> {
  const { actor, deps, authorization } = await newAuthorization(sessionId);
  const decision = { allowed: scopes, declined: [], expiresAt: null };
  return issueCode(actor, deps, { ...authorization, decision, shown: scopes }, Date.now());
}

async function newAuthorization(sessionId: string) {
  const keys = createKeyring(['the-key-that-the-tests-sign-their-tokens-with']);
  const request = await requestInvoices({ storage, keys }, ledger);
  const authorization = { request, grantId: newId(Date.now()), sessionId, businessId: acme.id };
  return {
    actor: userActor(ada, '127.0.0.1'),
    deps: { db: storage.durable, keys, bounds: EXTERNAL_BOUNDS },
    authorization,
  };
}
