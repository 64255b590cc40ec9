import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DAY, MINUTE } from '../../../src/lib/clock.ts';
import { newId } from '../../../src/lib/ids.ts';
import { createKeyring } from '../../../src/lib/keyring.ts';
import { insertEndpoint, markEndpointDisabled } from '../../../src/webhooks/endpoints.ts';
import { APP_FIELDS, removableSecrets, shownCredentials } from '../../support/app-pages.ts';
import { type BrowserPage, nextPageLink } from '../../support/browser.ts';
import { createClient } from '../../support/client.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const DEVELOPER = server.acmePath('developer');
const browser = await server.signedIn();
const db = () => server.storage().durable;

async function newApp(name: string, openToAnyBusiness = false) {
  const app = await server.addApp({ name, ownerBusinessId: server.acme.id, openToAnyBusiness });
  const client = createClient({ ...server, user: server.ada, app, business: server.acme });
  const path = `${DEVELOPER}/${app.id}`;
  const submitAction = async (action: string) => browser.submit(await browser.open(path), `${path}/${action}`);
  return { app, client, path, submitAction };
}

/** Business and number of users, of each row. */
function listed({ text }: BrowserPage): [name: string, users: string][] {
  const rows = text.matchAll(
    /<tr><td data-label="Business"><strong>([^<]*)<\/strong><\/td><td data-label="Users">(\d+)<\/td>/g,
  );
  return [...rows].map(([, name = '', users = '']) => [name, users]);
}

test('an app open to any business shows which have connected it, for how many users, and no user’s name', async () => {
  const { client, path } = await newApp('Open', true);
  const bolt = await server.addBusiness('Bolt & Sons');
  const bo = await server.addUser('Boris', [[bolt, 'owner']]);
  const bea = await server.addUser('Beatrix', [[bolt, 'member']]);
  await client.connect({}, browser);
  const asBo = await server.signedIn(bo);
  await client.connect({}, asBo);
  await client.connect({}, asBo);
  await client.connect({}, await server.signedIn(bea));

  const page = await browser.open(`${path}/connections`);
  const found = await browser.open(`${path}/connections?q=%26%20SONS`);

  assert.deepEqual(listed(page), [
    ['Bolt &amp; Sons', '2'],
    ['Acme', '1'],
  ]);
  assert.deepEqual(listed(found), [['Bolt &amp; Sons', '2']]);
  assert.doesNotMatch(page.text, /Boris|Beatrix|boris@|beatrix@/);
  assert.match((await browser.open(`${path}/connections?q=%25`)).text, /No business with this name/);
});

test('an ended connection is not shown, and an active one is shown with its last use', async () => {
  const { client, path } = await newApp('Used', true);
  const coil = await server.addBusiness('Coil');
  const cy = await server.signedIn(await server.addUser('Cyril', [[coil, 'owner']]));
  const { refresh_token } = await client.connect({}, cy);
  const { access_token } = await client.connect({}, browser);
  await client.revoke(refresh_token);
  server.advanceClock(7 * MINUTE);
  await client.listInvoices(access_token);
  await browser.open(`${path}/requests`);

  const page = await browser.open(`${path}/connections`);

  assert.deepEqual(listed(page), [['Acme', '1']]);
  const used = new Date(server.clock()).toISOString();
  assert.ok(page.text.includes(`<time datetime="${used}">`), page.text);
});

test('an app without connections says so', async () => {
  const { path } = await newApp('Lonely');

  assert.match((await browser.open(`${path}/connections`)).text, /No connections yet/);
});

test('connections of an app that was closed to other businesses are not shown', async () => {
  const { app, client, path } = await newApp('Closing', true);
  const dune = await server.addBusiness('Dune');
  await client.connect({}, await server.signedIn(await server.addUser('Dora', [[dune, 'owner']])));
  await client.connect({}, browser);
  await db().updateTable('apps').set({ open_to_any_business: 0 }).where('id', '=', app.id).execute();

  assert.deepEqual(listed(await browser.open(`${path}/connections`)), [['Acme', '1']]);
});

test('thousands of connected businesses are read fifty at a time, each once', async () => {
  const { app, path } = await newApp('Popular', true);
  const now = server.clock();
  const count = 2000;
  const businesses = Array.from({ length: count }, (_, index) => ({
    id: newId(now + index),
    name: `Shop ${index}`,
    created_at: now,
  }));
  const grants = businesses.map(({ id }) => ({
    id: newId(now),
    salt: Buffer.alloc(16),
    app_id: app.id,
    user_id: server.ada.id,
    business_id: id,
    scopes: 'read:invoices',
    created_at: now,
    code_expires_at: now,
    rotation: 0,
    rotated_at: now,
    refresh_expires_at: now + DAY,
    removable_on: 99_999,
  }));
  const memberships = businesses.map(({ id }) => ({
    user_id: server.ada.id,
    business_id: id,
    role: 'member' as const,
    created_at: now,
  }));
  await db().insertInto('businesses').values(businesses).execute();
  await db().insertInto('memberships').values(memberships).execute();
  await db().insertInto('grants').values(grants).execute();
  const member = await server.signedIn(await server.addUser('Mio', [[server.acme, 'member']]));

  const first = await member.open(`${path}/connections`);
  const next = nextPageLink(first) ?? '';
  const second = await member.open(next);

  const names = [...listed(first), ...listed(second)].map(([name]) => name);
  assert.deepEqual(
    names,
    Array.from({ length: 100 }, (_, index) => `Shop ${count - 1 - index}`),
  );
  assert.ok(first.text.length < 50_000, String(first.text.length));
  assert.deepEqual(listed(await member.open(`${path}/connections?q=shop%201234`)), [['Shop 1234', '1']]);
});

test('an app’s own page warns of webhooks that do not arrive, to those who may see them', async () => {
  const { app, path } = await newApp('Deaf');
  const keys = createKeyring(server.settings.secretKeys);
  const listen = async (url: string) =>
    (
      await server
        .storage()
        .transaction((tx) =>
          insertEndpoint(tx, keys, { appId: app.id, url, eventTypes: ['grant.created'] }, server.clock()),
        )
    ).endpoint.id;
  const [failing, off, fine] = [
    await listen('https://failing.example/'),
    await listen('https://off.example/'),
    await listen('https://fine.example/'),
  ];
  const since = server.clock() - 2 * DAY;
  await db().updateTable('endpoints').set({ failing_since: since, failures: 9 }).where('id', '=', failing).execute();
  await markEndpointDisabled(db(), off, 'failing', server.clock());
  const member = await server.signedIn(await server.addUser('Moe', [[server.acme, 'member']]));

  const { text } = await browser.open(path);

  for (const id of [failing, off]) assert.ok(text.includes(`href="${path}/endpoints/${id}"`));
  assert.ok(!text.includes(fine));
  assert.match(text, /Webhook deliveries are failing.*No delivery has succeeded since/s);
  assert.doesNotMatch((await member.open(path)).text, /failing\.example|do not arrive/);
});

test('each change of an app is recorded once, for its business, and the page says what was done [D4]', async () => {
  const { app, path, submitAction } = await newApp('Audited');
  const { secret } = shownCredentials(await submitAction('secrets'));
  const [oldest = ''] = removableSecrets(await browser.open(path));
  const page = await browser.open(path);

  const submit = (from: BrowserPage, to: string, fields = {}) => {
    server.advanceClock(1);
    return browser.submit(from, path + to, fields);
  };
  const typed = { ...APP_FIELDS, name: 'Audited', scope: 'read:contacts' };
  const removed = await submit(page, `/secrets/${oldest}/remove`);
  const saved = await submit(page, '', typed);
  await submit(page, '', typed);
  const confirmation = await browser.open(`${path}/disable`);
  const disabled = await submit(confirmation, '/disable');
  await submit(confirmation, '/disable');
  const enabled = await submit(disabled, '/enable');
  const list = await submit(await browser.open(`${path}/delete`), '/delete');

  const entries = await db()
    .selectFrom('audit_entries')
    .selectAll()
    .where('subject_id', '=', app.id)
    .orderBy('id')
    .execute();
  assert.deepEqual(
    entries.map(({ action, detail }) => [action, JSON.parse(detail)]),
    [
      ['secret.added', { secret: `gcs_…${secret.slice(-4)}` }],
      ['secret.removed', { secret: `gcs_…${app.secret.slice(-4)}` }],
      ['app.changed', { changed: 'allowed scopes' }],
      ['app.disabled', {}],
      ['app.enabled', {}],
      ['app.deleted', {}],
    ],
  );
  for (const { business_id, actor_name, subject_name } of entries) {
    assert.deepEqual([business_id, actor_name, subject_name], [server.acme.id, 'Ada', 'Audited']);
  }
  const expected: [BrowserPage, RegExp][] = [
    [removed, /role="status">The secret is removed/],
    [saved, /role="status">Saved\./],
    [disabled, /role="status">The app is disabled/],
    [enabled, /role="status">The app is enabled/],
    [list, /role="status">The app is deleted/],
  ];
  for (const [{ text }, sentence] of expected) assert.match(text, sentence);
});

// This test comes last, since it advances the clock by a week, which ends the sessions of the others.
test('while the older of two secrets is in use the page says so, and later that it can be removed [D4]', async () => {
  const { app, client, path, submitAction } = await newApp('Pair');
  await client.refresh('grt_x');
  const { secret } = shownCredentials(await submitAction('secrets'));
  const inUse = await browser.open(path);
  server.advanceClock(8 * DAY);
  const later = await server.signedIn();
  const neither = await later.open(path);
  await client.refresh('grt_x', { client_secret: secret });
  const canGo = await later.open(path);
  await client.refresh('grt_x');
  const inUseAgain = await later.open(path);

  assert.match(inUse.text, /The older secret was last used <time[^>]*>[^<]*<\/time>: it is still in use/);
  assert.match(neither.text, /has not been used since .*the newer one has never been used\. Check that your app uses/);
  assert.match(canGo.text, /The older secret has not been used since <time[^>]*>[^<]*<\/time>: it can be removed/);
  assert.match(inUseAgain.text, /it is still in use/);
  assert.ok(![inUse, neither, canGo].some(({ text }) => text.includes(secret) || text.includes(app.secret)));
});
