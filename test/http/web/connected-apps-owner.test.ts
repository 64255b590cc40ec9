import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { User } from '../../../src/accounts/users.ts';
import { DAY, HOUR } from '../../../src/lib/clock.ts';
import { addScopeUses } from '../../../src/request-log/counts.ts';
import type { Browser, BrowserPage } from '../../support/browser.ts';
import { createClient } from '../../support/client.ts';
import { connectionsIn, openConnection } from '../../support/connections.ts';
import type { RegisteredApp } from '../../support/fixtures.ts';
import { startTestServer } from '../../support/test-server.ts';

const PATH = '/settings/connected-apps';
const server = await startTestServer();
const bolt = await server.addBusiness('Bolt');
const db = () => server.storage().durable;
const ada = await server.signedIn();
const ben = await newMember('Ben');
const cyd = await newMember('Cyd');
const stranger = await server.signedIn(await server.addUser('Olga', [[bolt, 'owner']]));
const admin = await server.signedIn(await server.addUser('Abe', [[server.acme, 'admin']]));

interface Member {
  user: User;
  browser: Browser;
}

async function newMember(name: string): Promise<Member> {
  const user = await server.addUser(name, [[server.acme, 'member']]);
  return { user, browser: await server.signedIn(user) };
}

/** Each test has its own app, so that tests do not affect each other. */
async function newApp(name: string) {
  const app = await server.addApp({ name, ownerBusinessId: server.acme.id });
  return { app, client: createClient({ ...server, user: server.ada, app, business: server.acme }) };
}

const ofPerson = (app: RegisteredApp, { user }: Member) =>
  server.acmePath(`connected-apps/${app.id}/${user.id}/disconnect`);
const ofApp = (app: RegisteredApp) => server.acmePath(`connected-apps/${app.id}/disconnect`);
const rowsOf = (page: BrowserPage, { name }: RegisteredApp) =>
  connectionsIn(page)
    .filter((each) => each.name === name)
    .map(({ row }) => row)
    .join('');
async function listEntries(app: RegisteredApp): Promise<string[]> {
  const entries = db().selectFrom('audit_entries').selectAll().where('action', '=', 'grant.disconnected');
  const rows = await entries.where('subject_id', '=', app.id).where('business_id', '=', server.acme.id).execute();
  return rows.map(({ actor_name, subject_name, detail }) => `${actor_name} ${subject_name} ${detail}`);
}

test('an owner sees all connections of the business, and others only their own', async () => {
  const { app, client } = await newApp('Abacus');
  await client.connect({ scope: 'read:invoices write:invoices' }, ben.browser);
  server.advanceClock(HOUR);
  await client.connect({ scope: 'read:contacts' }, cyd.browser);

  const listed = rowsOf(await ada.open(PATH), app);
  const { text: seen } = await openConnection(ada, app.name);

  assert.match(listed, /<strong>Ben<\/strong>.*<strong>Cyd<\/strong>/s);
  assert.match(seen, /a business called <bdi>“Acme”/);
  assert.match(seen, /Can<\/h3>.*View invoices.*Create, update and send invoices/s);
  assert.doesNotMatch(rowsOf(await ben.browser.open(PATH), app), /Cyd/);
  assert.equal(rowsOf(await admin.open(PATH), app), '');
  assert.equal(rowsOf(await stranger.open(PATH), app), '');
});

test('a connection says when it was last used, and how often each permission was in the last 30 days', async () => {
  const { app, client } = await newApp('Barometer');
  await client.connect({ scope: 'read:invoices read:contacts' }, ben.browser);
  server.advanceClock(HOUR);
  const use = { businessId: server.acme.id, appId: app.id, userId: ben.user.id, scope: 'read:invoices' };
  const uses = [
    { ...use, uses: 7, lastAt: server.clock() - 31 * DAY },
    { ...use, uses: 1002, lastAt: server.clock() - DAY },
    { ...use, uses: 3, lastAt: server.clock() },
    { ...use, userId: cyd.user.id, uses: 9, lastAt: server.clock() },
    { ...use, businessId: bolt.id, uses: 9, lastAt: server.clock() },
  ];
  await addScopeUses(db(), uses);

  for (const browser of [ada, ben.browser]) {
    const { text: seen } = await openConnection(browser, app.name);
    assert.ok(seen.includes(`Last used</dt><dd><time datetime="${new Date(server.clock()).toISOString()}">`));
    assert.match(seen, /View invoices[^<]*<span class="muted small uses">used 1,005 times</);
    assert.match(seen, /View CRM contacts[^<]*<span class="muted small uses">not used</);
  }
});

test('a new connection and its permissions are shown as unused', async () => {
  const { app, client } = await newApp('Hygrometer');
  const { access_token } = await client.connect({ scope: 'read:invoices' }, ben.browser);

  const { text: before } = await openConnection(ben.browser, app.name);
  await client.listInvoices(access_token);
  const { text: after } = await openConnection(ben.browser, app.name);

  assert.match(before, /Not in the last 30 days.*Last fetched tokens<\/dt><dd><time/s);
  assert.match(before, /View invoices[^<]*<span class="muted small uses">not used</);
  assert.match(after, /Last used<\/dt><dd><time/);
  assert.match(after, /View invoices[^<]*<span class="muted small uses">used once</);
});

test('an owner disconnects an app for one person, after a confirmation; the very next call is rejected with the reason [D2]', async () => {
  const { app, client } = await newApp('Cabinet');
  const bens = await client.connect({}, ben.browser);
  const cyds = await client.connect({}, cyd.browser);
  assert.ok((await ada.open(PATH)).text.includes(`href="${ofPerson(app, ben)}"`));

  const confirmation = await ada.open(ofPerson(app, ben));
  const done = await ada.submit(confirmation, ofPerson(app, ben));

  assert.match(confirmation.text, /<h1>Disconnect Cabinet for Ben\?<\/h1>/);
  assert.match(done.text, /role="status">Disconnected\./);
  assert.equal((await client.listInvoices(bens.access_token)).body.reason, 'disconnected_by_owner');
  assert.equal((await client.refresh(bens.refresh_token)).body.reason, 'disconnected_by_owner');
  assert.equal((await client.listInvoices(cyds.access_token)).status, 200);
  assert.match(
    (await ben.browser.open(client.authorizeUrl())).text,
    /<strong><bdi>Cabinet<\/bdi><\/strong> wants to access/,
  );
  assert.deepEqual(await listEntries(app), ['Ada Cabinet {"user":"Ben"}']);
});

test('an owner disconnects an app for everyone, after seeing how many users that affects; the app receives an event for each [D2]', async () => {
  const { app, client } = await newApp('Dynamo');
  const tokens = [
    await client.connect({}, ada),
    await client.connect({}, ben.browser),
    await client.connect({}, cyd.browser),
  ];
  await client.revoke(tokens[2]?.refresh_token);

  const confirmation = await ada.open(ofApp(app));
  await ada.submit(confirmation, ofApp(app));

  assert.match(confirmation.text, /People who have connected it<\/dt><dd>3</);
  assert.match(confirmation.text, /People it has access for now<\/dt><dd>2</);
  const reasons = [];
  for (const { refresh_token } of tokens) reasons.push((await client.refresh(refresh_token)).body.reason);
  assert.deepEqual(reasons, ['disconnected_by_owner', 'disconnected_by_owner', 'revoked_by_app']);
  await server.finishFollowUps();
  const events = await db().selectFrom('events').select('data').where('app_id', '=', app.id).orderBy('id').execute();
  assert.equal(events.filter(({ data }) => data.includes('"reason":"disconnected_by_owner"')).length, 2);
  assert.match(
    (await cyd.browser.open(client.authorizeUrl())).text,
    /<strong><bdi>Dynamo<\/bdi><\/strong> wants to access/,
  );
  assert.deepEqual(await listEntries(app), ['Ada Dynamo {"user":"everyone","people":"3"}']);
  assert.equal(rowsOf(await ada.open(PATH), app), '');
});

test('disconnecting twice says that it is done already, and records nothing more', async () => {
  const { app, client } = await newApp('Easel');
  await client.connect({}, ben.browser);
  const csrf = await ada.csrf();
  const own = { csrf: await ben.browser.csrf(), app: app.id };
  await ben.browser.post(`${PATH}/disconnect`, own);

  const again = [
    await ben.browser.post(`${PATH}/disconnect`, own),
    await ada.post(ofPerson(app, ben), { csrf }),
    await ada.post(ofApp(app), { csrf }),
  ];

  const messages = again.map(({ text }) => /role="status">([^<]*)</.exec(text)?.[1]);
  const forOne = 'Disconnected. The app can no longer act for this person. Other people’s connections are unchanged.';
  const forAll = 'Disconnected for everyone. The app no longer has access to the business.';
  assert.deepEqual(messages, [forOne, forOne, forAll]);
  assert.equal((await listEntries(app)).length, 1);
  assert.equal((await ada.open(ofPerson(app, ben))).status, 404);
});

test('for members, admins and owners of other businesses these pages are 404, for every method [D5]', async () => {
  const { app, client } = await newApp('Funnel');
  const tokens = await client.connect({}, ben.browser);
  const foreign = await server.addApp({ name: 'Foreign', ownerBusinessId: bolt.id });

  for (const browser of [cyd.browser, admin, stranger, ben.browser]) {
    const csrf = await browser.csrf();
    for (const address of [ofPerson(app, ben), ofApp(app)]) {
      assert.equal((await browser.open(address)).status, 404);
      assert.equal((await browser.post(address, { csrf })).status, 404);
    }
  }
  for (const browser of [cyd.browser, stranger]) {
    const fields = { csrf: await browser.csrf(), app: app.id, user: ben.user.id };
    assert.equal((await browser.post(server.acmePath('connected-apps/disconnect'), fields)).status, 404);
  }
  const csrf = await ada.csrf();
  const elsewhere = `/businesses/${bolt.id}/connected-apps/${app.id}/${ben.user.id}/disconnect`;
  for (const address of [
    ofApp(foreign),
    ofPerson(foreign, ben),
    elsewhere,
    '/businesses/x/connected-apps/y/z/disconnect',
    '/businesses/x/connected-apps/y/disconnect',
  ]) {
    assert.equal((await ada.open(address)).status, 404, address);
    assert.equal((await ada.post(address, { csrf })).status, 404, address);
  }

  assert.equal((await client.listInvoices(tokens.access_token)).status, 200);
  assert.deepEqual(await listEntries(app), []);
});

test('a search finds apps and persons by name, and says if it found nothing', async () => {
  const { app, client } = await newApp('Gyroscope');
  const { user, browser } = await newMember('Zelda');
  await client.connect({}, browser);

  assert.match(rowsOf(await ada.open(`${PATH}?q=gyro`), app), /<strong>Zelda</);
  assert.match(rowsOf(await ada.open(`${PATH}?q=ZELD`), app), new RegExp(user.id));
  assert.match((await ada.open(`${PATH}?q=%25`)).text, /No connection in Acme matches “%”\./);
  assert.equal((await ada.open(`${PATH}?q=a&q=b&after=x.y&after=z`)).status, 200);
});

test('a paused, disabled or closed app is shown as having no access, and can still be disconnected', async () => {
  const { app, client } = await newApp('Hourglass');
  await client.connect({}, ben.browser);
  const set = (values: { paused_at?: number | null; disabled_at?: number | null; owner_business_id?: string }) =>
    db().updateTable('apps').set(values).where('id', '=', app.id).execute();

  await set({ disabled_at: server.clock() });
  assert.match(
    (await openConnection(ben.browser, app.name)).text,
    /warn">Disabled<.*Its developer has disabled this app\./s,
  );
  await set({ disabled_at: null, paused_at: server.clock() });
  assert.match(
    (await openConnection(ben.browser, app.name)).text,
    /warn">Paused<.*Gatehouse has paused this app everywhere\./s,
  );
  await set({ paused_at: null, owner_business_id: bolt.id });
  assert.match(
    (await openConnection(ben.browser, app.name)).text,
    /Its developer has closed this app to other businesses\./,
  );

  const page = await ben.browser.post(`${PATH}/disconnect`, {
    csrf: await ben.browser.csrf(),
    app: app.id,
  });
  assert.equal(rowsOf(page, app), '');
});
