import assert from 'node:assert/strict';
import { test } from 'node:test';
import { insertSession } from '../../src/accounts/sessions.ts';
import { userActor } from '../../src/accounts/users.ts';
import { disconnect } from '../../src/grants/connections.ts';
import { createTokenUses } from '../../src/grants/token-uses.ts';
import { DAY } from '../../src/lib/clock.ts';
import { newId } from '../../src/lib/ids.ts';
import { createKeyring } from '../../src/lib/keyring.ts';
import { createRateLimit } from '../../src/lib/rate-limit.ts';
import { findPermission } from '../../src/oauth/authorize/permission.ts';
import { issueCode } from '../../src/oauth/authorize/response.ts';
import { issueCodeSilently } from '../../src/oauth/authorize/silent.ts';
import { respondToIntrospection } from '../../src/oauth/introspect.ts';
import { respondToRevocation } from '../../src/oauth/revoke.ts';
import { respondToTokenRequest } from '../../src/oauth/token/endpoint.ts';
import type { TokenResponse } from '../../src/oauth/tokens.ts';
import { EXTERNAL_BOUNDS, requestInvoices } from '../support/authorization-requests.ts';
import { startPostgresFixtures } from '../support/postgres-fixtures.ts';
import { startRoundTripCounter } from '../support/round-trips.ts';

type Counter = Awaited<ReturnType<typeof startRoundTripCounter>>;
let counter: Counter | undefined;
const { storage, ada, acme, ledger } = await startPostgresFixtures(async (port) => {
  counter = await startRoundTripCounter(port);
  return counter.port;
});
const count = (work: () => Promise<unknown>) => (counter as Counter).count(work);

const keys = createKeyring(['the-key-that-the-tests-sign-their-tokens-with']);
const issuer = 'https://api.example.com';
const limit = createRateLimit({ points: 1000, seconds: 60 });
const uses = createTokenUses(storage, assert.ifError);
// Background writes would be counted, so there are none.
await uses.stop();
const tokenDeps = {
  storage,
  keys,
  issuer,
  retryWindow: 30_000,
  uses,
  introspectionClients: new Set<string>(),
  limits: { perApp: limit, wrongSecrets: limit },
};
const actor = userActor(ada, '127.0.0.1');
const session = await insertSession(
  storage.durable,
  { user: ada, browser: 'A test', address: '127.0.0.1' },
  Date.now(),
);
const scopes = ['read:invoices'];

const credentials = () => ({
  authorization: undefined,
  clientId: ledger.id,
  clientSecret: ledger.secret,
  address: '127.0.0.1',
  context: {},
});

async function newAuthorization() {
  const request = await requestInvoices({ storage, keys }, ledger);
  return { request, grantId: newId(Date.now()), sessionId: session.id, businessId: acme.id };
}

const consent = { allowed: scopes, declined: [], expiresAt: null };
const codeDeps = { db: storage.durable, keys, bounds: EXTERNAL_BOUNDS };

async function allow(authorization: Awaited<ReturnType<typeof newAuthorization>>): Promise<string> {
  const code = await issueCode(actor, codeDeps, { ...authorization, decision: consent, shown: scopes }, Date.now());
  return code ?? assert.fail('there is no code');
}

const exchange = (code: string) =>
  respondToTokenRequest(
    tokenDeps,
    { grant_type: 'authorization_code', code, redirect_uri: ledger.redirectUris[0] },
    credentials(),
    Date.now(),
  );

const refresh = ({ refresh_token }: TokenResponse) =>
  respondToTokenRequest(tokenDeps, { grant_type: 'refresh_token', refresh_token }, credentials(), Date.now());

const introspect = ({ access_token }: TokenResponse) =>
  respondToIntrospection(tokenDeps, { token: access_token }, credentials(), Date.now());

const revoke = ({ refresh_token }: TokenResponse) =>
  respondToRevocation(tokenDeps, { token: refresh_token }, credentials(), Date.now());

const connect = async () => exchange(await allow(await newAuthorization()));
const leave = () => disconnect(actor, storage.durable, { app: ledger, businessId: acme.id, user: ada }, Date.now());
async function newSilentAuthorization() {
  const authorization = await newAuthorization();
  const { rules } = await findPermission(storage.durable, { ...authorization, userId: ada.id });
  return { ...authorization, consent, rules };
}

const authorizeSilently = async (authorization: Awaited<ReturnType<typeof newSilentAuthorization>>) => {
  const code = await issueCodeSilently(actor, codeDeps, authorization, Date.now());
  return code ?? assert.fail('there is no code');
};

// Opens the connections, and stores that the secret was used, which is stored once a minute.
const [warm, left] = [await connect(), await connect()];
await refresh(warm);
await introspect(warm);
await revoke(left);
await leave();
await connect();
await authorizeSilently(await newSilentAuthorization());
await authorizeSilently(await newSilentAuthorization());
// Used in the future, so that no test stores it again: on a busy machine they take longer than a minute.
await storage.durable
  .updateTable('app_secrets')
  .set({ last_used_at: Date.now() + DAY })
  .execute();

test('a refresh takes one round trip to read and one to write', async () => {
  const tokens = await connect();

  assert.deepEqual(await count(() => refresh(tokens)), { trips: 2, statements: 2 });
});

test('a code exchange takes one round trip to read and one to write', async () => {
  const code = await allow(await newAuthorization());

  assert.deepEqual(await count(() => exchange(code)), { trips: 2, statements: 2 });
});

test('an introspection takes one round trip', async () => {
  const tokens = await connect();

  assert.deepEqual(await count(() => introspect(tokens)), { trips: 1, statements: 1 });
});

test('introspections in one event loop iteration are one statement', async () => {
  const [first, second] = [await connect(), await connect()];
  const introspectAll = () => Promise.all([first, second, first].map(introspect));
  await introspectAll();

  assert.deepEqual(await count(introspectAll), { trips: 1, statements: 1 });
});

test('a revocation takes one round trip to read, and one statement for the grant, its event and its audit entry', async () => {
  const tokens = await connect();

  assert.deepEqual(await count(() => revoke(tokens)), { trips: 2, statements: 2 });
});

test('refreshes in one event loop iteration are one statement to read and one to write', async () => {
  const tokens = [await connect(), await connect(), await connect()];

  assert.deepEqual(await count(() => Promise.all(tokens.map(refresh))), { trips: 2, statements: 2 });
});

test('code exchanges in one event loop iteration are one statement to read and one to write', async () => {
  const codes = [await allow(await newAuthorization()), await allow(await newAuthorization())];

  assert.deepEqual(await count(() => Promise.all(codes.map(exchange))), { trips: 2, statements: 2 });
});

test('revocations in one event loop iteration are one statement to read and one to write', async () => {
  const tokens = [await connect(), await connect(), await connect()];

  assert.deepEqual(await count(() => Promise.all(tokens.map(revoke))), { trips: 2, statements: 2 });
});

test('a reused code ends its grant with one statement', async () => {
  const code = await allow(await newAuthorization());
  await exchange(code);

  assert.deepEqual(await count(() => exchange(code).catch(() => {})), { trips: 2, statements: 2 });
});

test('an authorization without a screen that repeats one of the same day takes one round trip', async () => {
  const authorization = await newSilentAuthorization();

  assert.deepEqual(await count(() => authorizeSilently(authorization)), { trips: 1, statements: 1 });
});

test('repeated authorizations without a screen in one event loop iteration are one statement', async () => {
  const both = [await newSilentAuthorization(), await newSilentAuthorization()];

  const authorizeAll = () => Promise.all(both.map(authorizeSilently));

  assert.deepEqual(await count(authorizeAll), { trips: 1, statements: 1 });
});

test('the first authorization without a screen of a day takes six round trips, with its audit entry', async () => {
  const authorization = await newSilentAuthorization();
  await storage.durable.deleteFrom('audit_repeats').execute();

  const { trips } = await count(() => authorizeSilently(authorization));

  assert.equal(trips, 6);
});

test('Allow takes one round trip to lock and read, and one to write and commit', async () => {
  const authorization = await newAuthorization();

  const { trips } = await count(() => allow(authorization));

  assert.equal(trips, 2);
});

test('disconnecting an app takes one round trip to end its grants, and one to record it and commit', async () => {
  await leave();
  await connect();

  const { trips } = await count(leave);

  assert.equal(trips, 2);
});
