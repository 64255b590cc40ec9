import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findApp } from '../../../src/apps/apps.ts';
import { OPERATOR } from '../../../src/audit/entries.ts';
import { listRecentEvents } from '../../../src/events/events.ts';
import { disableApp, enableApp, pauseApp, resumeApp } from '../../../src/grants/suspension.ts';
import type { RegisteredApp } from '../../support/fixtures.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const db = () => server.storage().durable;
const ada = await server.signedIn();

async function connect() {
  const app = await server.addApp({ ownerBusinessId: server.acme.id });
  const credentials = { client_id: app.id, client_secret: app.secret };
  const code = await server.allow({ client_id: app.id }, ada);
  const unused = await server.allow({ client_id: app.id }, ada);
  const { body } = await server.exchange(code, credentials);
  return { app, credentials, unused, access: body.access_token, refresh: body.refresh_token };
}

const pause = (app: RegisteredApp) =>
  server.storage().transaction((tx) => pauseApp(OPERATOR, tx, { app }, server.clock()));

test('a paused app is rejected at its next call, with the reason at every endpoint', async () => {
  const { app, credentials, unused, access, refresh } = await connect();
  assert.equal((await server.listInvoices(access)).status, 200);

  await pause(app);

  const called = await server.listInvoices(access);
  const refreshed = await server.refresh(refresh, credentials);
  const exchanged = await server.exchange(unused, credentials);
  assert.deepEqual([called.status, called.body.error, called.body.reason], [401, 'invalid_token', 'app_paused']);
  assert.deepEqual([refreshed.status, refreshed.body.error], [400, 'invalid_grant']);
  assert.deepEqual([refreshed.body.reason, exchanged.body.reason], ['app_paused', 'app_paused']);
  assert.deepEqual((await server.introspect(access, credentials)).body, { active: false });
});

test('a paused app cannot read its events again until it is resumed', async () => {
  const { app } = await connect();
  const authorization = `Basic ${Buffer.from(`${app.id}:${app.secret}`).toString('base64')}`;
  const read = () => server.get('/api/v1/events', { authorization });
  assert.equal((await read()).status, 200);

  await pause(app);
  const paused = await read();
  await resumeApp(OPERATOR, db(), app, server.clock());

  assert.deepEqual([paused.status, paused.body.error, paused.body.reason], [403, 'unauthorized_client', 'app_paused']);
  assert.equal((await read()).status, 200);
});

test('after an app is resumed, its tokens work again', async () => {
  const { app, credentials, unused, access, refresh } = await connect();
  await pause(app);
  assert.equal((await server.listInvoices(access)).status, 401);

  await resumeApp(OPERATOR, db(), app, server.clock());

  assert.equal((await server.listInvoices(access)).status, 200);
  assert.equal((await server.refresh(refresh, credentials)).status, 200);
  assert.equal((await server.exchange(unused, credentials)).status, 200);
});

test('a paused app cannot be connected: its request gets an error page and no redirect', async () => {
  const { app } = await connect();
  await pause(app);

  const page = await ada.open(server.authorizeUrl({ client_id: app.id }));

  assert.equal(page.status, 400);
  assert.equal(page.leftTo, undefined);
  assert.match(page.text, /Ledger is paused/);
});

test('Allow on a consent screen from before the pause grants nothing', async () => {
  const app = await server.addApp({ ownerBusinessId: server.acme.id });
  const consent = await ada.open(server.authorizeUrl({ client_id: app.id }));
  await pause(app);

  const response = await ada.submit(consent, '/consent', { decision: 'allow' });

  assert.equal(response.leftTo, undefined);
  assert.match(response.text, /is paused/);
});

test('an owner’s Disable and the platform’s pause are independent: neither undoes the other', async () => {
  const { app, access } = await connect();
  const reason = async () => (await server.listInvoices(access)).body.reason;
  await disableApp(OPERATOR, db(), app, server.clock());
  await pause(app);
  const seen = [await reason()];

  await enableApp(OPERATOR, db(), app, server.clock());
  seen.push(await reason());
  await disableApp(OPERATOR, db(), app, server.clock());
  await resumeApp(OPERATOR, db(), app, server.clock());
  seen.push(await reason());
  await enableApp(OPERATOR, db(), app, server.clock());

  assert.deepEqual(seen, ['app_paused', 'app_paused', 'app_disabled']);
  assert.equal((await server.listInvoices(access)).status, 200);
});

test('an app receives one event for each grant that a pause stops, however often it is paused', async () => {
  const { app } = await connect();

  const changes = await Promise.all(Array.from({ length: 5 }, () => pause(app)));
  await server.finishFollowUps();

  const events = await listRecentEvents(db(), app.id, 0);
  const reasons = events.filter(({ type }) => type === 'grant.revoked').map(({ data }) => data.reason);
  assert.deepEqual(reasons, ['app_paused']);
  assert.equal(changes.filter(Boolean).length, 1);
  assert.notEqual((await findApp(db(), app.id))?.pausedAt, null);
});
