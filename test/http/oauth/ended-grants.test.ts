import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deleteMembership, insertMembership } from '../../../src/accounts/memberships.ts';
import { markUserDisabled, markUserEnabled, type User } from '../../../src/accounts/users.ts';
import { changeApp } from '../../../src/apps/app-changes.ts';
import { deleteApp } from '../../../src/apps/apps.ts';
import { OPERATOR } from '../../../src/audit/entries.ts';
import { endConnection, endForEveryone } from '../../../src/grants/connections.ts';
import { changeAppSettings, disableApp, enableApp } from '../../../src/grants/suspension.ts';
import { DAY, MINUTE, SECOND } from '../../../src/lib/clock.ts';
import type { RegisteredApp } from '../../support/fixtures.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const db = () => server.storage().durable;
let users = 0;

interface Connected {
  user: User;
  app: RegisteredApp;
  code: string;
  /** An unused code of another grant. */
  unused: string;
  access: string;
  refresh: string;
  credentials: { client_id: string; client_secret: string };
}

async function connect(): Promise<Connected> {
  const user = await server.addUser(`Person${++users}`, [[server.acme, 'member']]);
  const app = await server.addApp({ ownerBusinessId: server.acme.id });
  const credentials = { client_id: app.id, client_secret: app.secret };
  const browser = await server.signedIn(user);
  const code = await server.allow({ client_id: app.id }, browser);
  const unused = await server.allow({ client_id: app.id }, browser);
  const { body } = await server.exchange(code, credentials);
  return { user, app, code, unused, access: body.access_token, refresh: body.refresh_token, credentials };
}

const isAlive = async ({ access }: Connected) => (await server.listInvoices(access)).status === 200;
const parties = ({ user, app }: Connected) => ({ userId: user.id, appId: app.id, businessId: server.acme.id });

const DEATHS: [reason: string, end: (connected: Connected) => Promise<unknown>, endsAll: boolean][] = [
  ['app_disabled', ({ app }) => disableApp(OPERATOR, db(), app, server.clock()), true],
  ['user_disabled', ({ user }) => markUserDisabled(db(), user.id, server.clock()), true],
  ['member_removed', ({ user }) => deleteMembership(db(), user.id, server.acme.id), true],
  [
    'disconnected_by_user',
    (connected) => endConnection(db(), parties(connected), 'disconnected_by_user', server.clock()),
    true,
  ],
  [
    'disconnected_by_owner',
    ({ app }) =>
      endForEveryone(db(), { appId: app.id, businessId: server.acme.id }, 'disconnected_by_owner', server.clock()),
    true,
  ],
  [
    'grant_expired',
    ({ app }) => db().updateTable('grants').set({ expires_at: server.clock() }).where('app_id', '=', app.id).execute(),
    true,
  ],
  ['code_reused', ({ code, credentials }) => server.exchange(code, credentials), false],
  ['revoked_by_app', ({ refresh, credentials }) => server.revoke(refresh, credentials), false],
  [
    'refresh_token_reused',
    async ({ refresh, credentials }) => {
      const { body } = await server.refresh(refresh, credentials);
      await server.listInvoices(body.access_token);
      server.advanceClock(MINUTE);
      await server.refresh(refresh, credentials);
    },
    false,
  ],
];

for (const [reason, end, endsAll] of DEATHS) {
  test(`an ended grant is rejected at the very next call, and the app learns why: ${reason} [T23][I4]`, async () => {
    const connected = await connect();
    const { access, refresh, unused, credentials } = connected;
    assert.equal(await isAlive(connected), true);

    await end(connected);

    const called = await server.listInvoices(access);
    const refreshed = await server.refresh(refresh, credentials);
    const introspected = await server.introspect(access, credentials);
    const exchanged = await server.exchange(unused, credentials);
    const explanation = new RegExp(`\\(${reason}\\)$`);
    assert.deepEqual([called.status, called.body.error], [401, 'invalid_token']);
    assert.match(called.body.error_description, explanation);
    assert.deepEqual([refreshed.status, refreshed.body.error], [400, 'invalid_grant']);
    assert.match(refreshed.body.error_description, explanation);
    assert.deepEqual(introspected.body, { active: false });
    if (endsAll) assert.match(exchanged.body.error_description, explanation);
    else assert.equal(exchanged.status, 200, 'another grant of the same app stays active');
  });
}

test('a removed member who rejoins does not get their earlier grants back [P10]', async () => {
  const connected = await connect();
  const { user, refresh, credentials } = connected;
  await deleteMembership(db(), user.id, server.acme.id);
  assert.equal(await isAlive(connected), false);
  server.advanceClock(1);
  await insertMembership(db(), { userId: user.id, businessId: server.acme.id, role: 'owner' }, server.clock());

  assert.equal(await isAlive(connected), false);
  assert.match((await server.refresh(refresh, credentials)).body.error_description, /\(member_removed\)$/);
});

test('a deleted app cannot authenticate any more, and its tokens say why they ended', async () => {
  const connected = await connect();
  const { app, access, refresh, unused, credentials } = connected;
  await deleteApp(OPERATOR, db(), app, server.clock());

  for (const response of [
    await server.refresh(refresh, credentials),
    await server.exchange(unused, credentials),
    await server.introspect(access, credentials),
    await server.revoke(access, credentials),
  ]) {
    assert.deepEqual([response.status, response.body.error], [401, 'invalid_client']);
  }
  assert.match((await server.listInvoices(access)).body.error_description, /\(app_deleted\)$/);
});

test('disabling an app or a user can be undone, and then the tokens work again', async () => {
  const connected = await connect();
  const { app, user, refresh, credentials } = connected;

  await disableApp(OPERATOR, db(), app, server.clock());
  assert.equal(await isAlive(connected), false);
  await enableApp(OPERATOR, db(), app, server.clock());
  assert.equal(await isAlive(connected), true);

  await markUserDisabled(db(), user.id, server.clock());
  assert.equal(await isAlive(connected), false);
  await markUserEnabled(db(), user.id);
  assert.equal((await server.refresh(refresh, credentials)).status, 200);
});

test('an ended grant keeps its first reason', async () => {
  const { code, refresh, credentials } = await connect();
  await server.revoke(refresh);
  await server.exchange(code, credentials);

  assert.match((await server.refresh(refresh, credentials)).body.error_description, /\(revoked_by_app\)$/);
});

test('only the app of the grant learns the reason', async () => {
  const { refresh, credentials } = await connect();
  await server.revoke(refresh);

  const foreign = await server.refresh(refresh);
  const unauthenticated = await server.refresh(refresh, { client_secret: 'gcs_wrong' });

  assert.doesNotMatch(foreign.body.error_description, /revoked_by_app/);
  assert.equal(unauthenticated.status, 401);
  assert.match((await server.refresh(refresh, credentials)).body.error_description, /revoked_by_app/);
});

test('a scope removed from the app is missing from its tokens at once, and from its next refresh', async () => {
  const connected = await connect();
  const { app, access, refresh, credentials } = connected;
  await changeApp(
    OPERATOR,
    db(),
    { appId: app.id, change: () => ({ ...app, allowedScopes: ['read:contacts'] }) },
    server.clock(),
  );

  assert.equal((await server.listInvoices(access)).body.error, 'insufficient_scope');
  assert.equal((await server.refresh(refresh, credentials)).body.error, 'invalid_scope');
  await changeApp(OPERATOR, db(), { appId: app.id, change: () => app }, server.clock());
  assert.equal(await isAlive(connected), true);
});

test('a code that was never exchanged is an invalid_grant days later, and nothing fails', async () => {
  const { unused, credentials } = await connect();
  server.advanceClock(3 * DAY);

  const { status, body } = await server.exchange(unused, credentials);

  assert.deepEqual([status, body.error], [400, 'invalid_grant']);
});

test('closing an app to other businesses stops their grants, and opening it again restores them', async () => {
  const bolt = await server.addBusiness('Bolt');
  const user = await server.addUser('Boltine', [[bolt, 'owner']]);
  const app = await server.addApp({ ownerBusinessId: server.acme.id, openToAnyBusiness: true });
  const credentials = { client_id: app.id, client_secret: app.secret };
  const code = await server.allow({ client_id: app.id }, await server.signedIn(user));
  const { body } = await server.exchange(code, credentials);
  const list = () => server.listInvoices(body.access_token, { 'x-business-id': bolt.id });

  const open = (openToAnyBusiness: boolean) =>
    changeAppSettings(OPERATOR, db(), { appId: app.id, change: () => ({ ...app, openToAnyBusiness }) }, server.clock());
  await open(false);
  const closed = await list();
  const rejected = await server.refresh(body.refresh_token, credentials);
  await open(true);

  assert.equal(closed.status, 401);
  assert.match(rejected.body.error_description, /app_closed/);
  assert.equal((await list()).status, 200);
});

test('someone who joins and then allows at a node whose clock is behind has an active grant, and is not asked again', async () => {
  const user = await server.addUser('Nia', [[server.acme, 'member']]);
  const app = await server.addApp({ ownerBusinessId: server.acme.id });
  const credentials = { client_id: app.id, client_secret: app.secret };
  const browser = await server.signedIn(user);
  server.advanceClock(-3 * SECOND);

  const { status, body } = await server.exchange(await server.allow({ client_id: app.id }, browser), credentials);
  const again = await browser.open(server.authorizeUrl({ client_id: app.id, prompt: 'none' }));
  server.advanceClock(3 * SECOND);

  assert.equal(status, 200, JSON.stringify(body));
  assert.equal((await server.listInvoices(body.access_token)).status, 200);
  assert.match(again.leftTo?.href ?? '', /[?&]code=/);
});

test('a user who left a business and rejoined has to consent again', async () => {
  const { user, app } = await connect();
  await deleteMembership(db(), user.id, server.acme.id);
  server.advanceClock(MINUTE);
  await insertMembership(db(), { userId: user.id, businessId: server.acme.id, role: 'member' }, server.clock());

  const page = await (await server.signedIn(user)).open(server.authorizeUrl({ client_id: app.id }));

  assert.match(page.text, /<h1><strong><bdi>Ledger<\/bdi><\/strong> wants to access/);
});

test('a replayed refresh token ends the grant whatever scope comes with it', async () => {
  const connected = await connect();
  const { body } = await server.refresh(connected.refresh, connected.credentials);
  await server.listInvoices(body.access_token);
  server.advanceClock(MINUTE);

  const response = await server.refresh(connected.refresh, { ...connected.credentials, scope: 'no:such' });

  assert.equal(response.body.error, 'invalid_grant');
  assert.equal(await isAlive(connected), false);
});
