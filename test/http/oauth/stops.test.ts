import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findGrant } from '../../../src/grants/grants.ts';
import { readCounters, type Stopped, stop } from '../../../src/grants/stops.ts';
import { MINUTE } from '../../../src/lib/clock.ts';
import { newId } from '../../../src/lib/ids.ts';
import type { RegisteredApp } from '../../support/fixtures.ts';
import { grantIdIn } from '../../support/rows.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const db = () => server.storage().durable;
const stopNow = (what: Stopped) =>
  server.storage().transaction((tx) => stop(tx, what, 'disconnected_by_owner', server.clock()));

let users = 0;

/** A new app that a new member has connected, and a code that is not exchanged yet. */
async function connect() {
  const app = await server.addApp({ ownerBusinessId: server.acme.id });
  users += 1;
  const user = await server.addUser(`Sam${users}`, [[server.acme, 'member']]);
  const browser = await server.signedIn(user);
  const credentials = { client_id: app.id, client_secret: app.secret };
  const exchange = async () =>
    (await server.exchange(await server.allow({ client_id: app.id }, browser), credentials)).body;
  return { app, user, browser, credentials, exchange, tokens: await exchange() };
}

type Connected = Awaited<ReturnType<typeof connect>>;
const pairOf = ({ app }: { app: RegisteredApp }) => ({ appId: app.id, businessId: server.acme.id });

test('a counter ends tokens and codes from before it at the next request, and the user is asked again', async () => {
  const connected = await connect();
  const { app, browser, credentials, tokens } = connected;
  const code = await server.allow({ client_id: app.id }, browser);

  await stopNow(pairOf(connected));

  const called = await server.listInvoices(tokens.access_token);
  assert.deepEqual([called.status, called.body.reason], [401, 'disconnected_by_owner']);
  assert.equal((await server.refresh(tokens.refresh_token, credentials)).body.reason, 'disconnected_by_owner');
  assert.equal((await server.exchange(code, credentials)).body.reason, 'disconnected_by_owner');
  const asked = await browser.open(server.authorizeUrl({ client_id: app.id }));
  assert.match(asked.text, /wants to access/);
});

test('what the user allows after a stop works, and the next stop ends it', async () => {
  const connected = await connect();
  await stopNow(pairOf(connected));

  const { access_token } = await connected.exchange();

  assert.equal((await server.listInvoices(access_token)).status, 200);
  await stopNow(pairOf(connected));
  assert.equal((await server.listInvoices(access_token)).status, 401);
});

const STOPS: [string, (connected: Connected) => Stopped, boolean][] = [
  ['every token of an app', ({ app }) => ({ appId: app.id }), true],
  ['an app in a business', pairOf, true],
  ['every connection of a user', ({ user }) => ({ userId: user.id }), true],
  ['an app in another business', ({ app }) => ({ appId: app.id, businessId: newId(server.clock()) }), false],
];

for (const [what, of, isEnded] of STOPS) {
  test(`a stop of ${what} ${isEnded ? 'ends' : 'does not end'} a grant and a code, and never one of somebody else for another app`, async () => {
    const [connected, other] = [await connect(), await connect()];
    const code = await server.allow({ client_id: connected.app.id }, connected.browser);

    await stopNow(of(connected));

    assert.equal((await server.listInvoices(connected.tokens.access_token)).status, isEnded ? 401 : 200);
    assert.equal((await server.exchange(code, connected.credentials)).status, isEnded ? 400 : 200);
    assert.equal((await server.listInvoices(other.tokens.access_token)).status, 200);
  });
}

test('after the end of all tokens of an app the consents stay, and a silent authorization works', async () => {
  const { app, user, exchange } = await connect();
  const parties = { appId: app.id, businessId: server.acme.id, userId: user.id };

  await stopNow({ appId: app.id });

  assert.deepEqual(await readCounters(db(), parties), { ofGrant: 1, ofConsent: 0 });
  assert.equal((await server.listInvoices((await exchange()).access_token)).status, 200);
});

test('a silent authorization that meets a counter gets no code', async () => {
  const connected = await connect();
  const { app, browser } = connected;
  await stopNow({ userId: connected.user.id });

  const response = await browser.open(server.authorizeUrl({ client_id: app.id, prompt: 'none' }));

  assert.equal(response.leftTo?.searchParams.get('error'), 'consent_required');
});

test('a grant that was created with the counters from before a stop has ended', async () => {
  const connected = await connect();
  const id = grantIdIn(connected.tokens.refresh_token);
  await stopNow(pairOf(connected));
  await stopNow({ appId: connected.app.id });

  const grant = await findGrant(db(), { grantId: id, rotation: 0 }, server.clock());
  const counters = await readCounters(db(), { ...pairOf(connected), userId: connected.user.id });

  assert.equal(grant?.inactiveReason, 'disconnected_by_owner');
  assert.deepEqual(counters, { ofGrant: 2, ofConsent: 1 });
});

const AHEAD_AND_LATE = [
  {
    what: 'a refresh token that is ahead of its row',
    async prepare({ credentials, tokens }: Connected) {
      const { refresh_token } = (await server.refresh(tokens.refresh_token, credentials)).body;
      await db().updateTable('grants').set({ rotation: 0 }).where('id', '=', grantIdIn(refresh_token)).execute();
      return refresh_token;
    },
  },
  {
    what: 'a late retry of a refresh',
    async prepare({ credentials, tokens }: Connected) {
      await server.refresh(tokens.refresh_token, credentials);
      server.advanceClock(MINUTE);
      return tokens.refresh_token;
    },
  },
];

for (const { what, prepare } of AHEAD_AND_LATE) {
  test(`${what} is served, and never after a counter`, async () => {
    const [served, stopped] = [await connect(), await connect()];
    const [working, ended] = [await prepare(served), await prepare(stopped)];

    await stopNow(pairOf(stopped));

    assert.equal((await server.refresh(working, served.credentials)).status, 200);
    const { status, body } = await server.refresh(ended, stopped.credentials);
    assert.deepEqual([status, body.reason], [400, 'disconnected_by_owner']);
  });
}
