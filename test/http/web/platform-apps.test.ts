import assert from 'node:assert/strict';
import { test } from 'node:test';
import { APP_FIELDS, PLATFORM, registerInBrowser, shownCredentials } from '../../support/app-pages.ts';
import { toBody } from '../../support/browser.ts';
import { createClient } from '../../support/client.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const DEVELOPER = server.acmePath('developer');
const root = await server.addUser('Root', [], true);
const console_ = await server.addApp({ name: 'Console' });
const admin = await server.signedIn(root);
const owner = await server.signedIn();

test('a platform admin registers a first-party app, which then needs no consent', async () => {
  const { id, secret } = shownCredentials(await registerInBrowser(admin, PLATFORM, { name: 'Till' }));
  const client = createClient({ ...server, user: server.ada, app: { ...console_, id, secret }, business: server.acme });

  const page = await owner.open(client.authorizeUrl());
  const tokens = await client.exchange(page.leftTo?.searchParams.get('code') ?? '');

  assert.equal(page.status, 303);
  assert.equal(tokens.status, 200);
  assert.equal((await client.listInvoices(tokens.body.access_token)).status, 200);
});

test('the list names the first-party apps, and no app of a business', async () => {
  const { text } = await admin.open(PLATFORM);

  assert.ok(text.includes(console_.id));
  assert.match(text, /First-party/);
  assert.ok(!text.includes(server.ledger.id));
});

test('someone who allowed an app twice is one connection of it, in the lists and everywhere', async () => {
  const app = await server.addApp({ name: 'Twice', ownerBusinessId: server.acme.id });
  const client = createClient({ ...server, user: server.ada, app, business: server.acme });
  const other = await server.addUser('Otto', [[server.acme, 'member']]);
  const listed = async () => (await admin.open(`/platform/apps?q=${app.id}`)).text;

  await client.connect({}, owner);
  await client.connect({}, owner);
  const once = await listed();
  await client.connect({}, await server.signedIn(other));

  assert.match(once, /1 connection</);
  assert.match(await listed(), /2 connections</);
  assert.match((await owner.open(DEVELOPER)).text, /2 connections/);
});

test('a field that its form does not have cannot open a first-party app to any business', async () => {
  const form = await admin.open(`${PLATFORM}/new`);
  const { id } = shownCredentials(
    await admin.submit(form, PLATFORM, { ...APP_FIELDS, name: 'Desk', open_to_any_business: 'yes' }),
  );

  assert.doesNotMatch(form.text, /audience/);
  assert.doesNotMatch((await admin.open(`${PLATFORM}/${id}`)).text, /Any business/);
});

test('a first-party app can be disabled, enabled, changed and deleted, each with effect at once', async () => {
  const app = await server.addApp({ name: 'Brief' });
  const client = createClient({ ...server, user: server.ada, app, business: server.acme });
  const { access_token } = await client.connect({}, owner);
  const path = `${PLATFORM}/${app.id}`;
  const status = async () => (await client.listInvoices(access_token)).status;
  const seen = [await status()];

  await admin.submit(await admin.open(`${path}/disable`), `${path}/disable`);
  seen.push(await status());
  await admin.submit(await admin.open(path), `${path}/enable`);
  seen.push(await status());
  const changed = await admin.submit(await admin.open(path), path, { ...APP_FIELDS, name: 'Briefer' });
  await admin.submit(await admin.open(`${path}/delete`), `${path}/delete`);
  seen.push(await status());

  assert.deepEqual(seen, [200, 401, 200, 401]);
  assert.match(changed.text, /<h1>Briefer/);
});

test('only platform admins have the platform apps in their menu', async () => {
  assert.ok((await admin.open('/settings/account')).text.includes('href="/platform"'));
  assert.ok(!(await owner.open('/settings/account')).text.includes('href="/platform'));
});

test('a form key for an app of a business does not register a first-party app', async () => {
  const form = await owner.open(`${DEVELOPER}/new`);

  const response = await owner.submit(
    { ...form, text: form.text.replaceAll(DEVELOPER, PLATFORM) },
    PLATFORM,
    APP_FIELDS,
  );

  assert.equal(response.status, 404);
});

const VISITORS = { 'a signed-in owner of a business': owner, 'someone who is not signed in': server.browse() };

for (const [who, browser] of Object.entries(VISITORS)) {
  test(`for ${who} an existing platform page looks like one that does not exist [D5]`, async () => {
    const body = toBody({ csrf: await browser.csrf() });
    const there = await browser.fetch(PLATFORM, { method: 'POST', body });
    const nowhere = await browser.fetch('/platform/nowhere', { method: 'POST', body });
    const forged = await browser.fetch(PLATFORM, { method: 'POST', body: toBody({}) });

    assert.equal(await there.text(), await nowhere.text());
    assert.equal(forged.status, nowhere.status);
  });
}
