import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findMembership } from '../../../src/accounts/memberships.ts';
import { findApp } from '../../../src/apps/apps.ts';
import { newId } from '../../../src/lib/ids.ts';
import { APP_FIELDS } from '../../support/app-pages.ts';
import { type Browser, type BrowserPage, hiddenFields } from '../../support/browser.ts';
import { createClient } from '../../support/client.ts';
import { PASSWORD } from '../../support/fixtures.ts';
import { submitConfirmed } from '../../support/questions.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const bolt = await server.addBusiness('Bolt');
const closed = await server.addBusiness('Closed');
const SWITCH = '/settings/current-business';
const inBolt = (page: string) => `/businesses/${bolt.id}/${page}`;
let users = 0;

/** An owner of both businesses, who chose Acme last. */
async function addOwnerOfBoth() {
  const user = await server.addUser(`Owner ${++users}`, [
    [server.acme, 'owner'],
    [bolt, 'owner'],
  ]);
  const browser = await server.signedIn(user);
  await choose(browser, server.acme);
  return { user, browser };
}

async function choose(browser: Browser, business: { id: string }): Promise<void> {
  await browser.post(SWITCH, { csrf: await browser.csrf(), business: business.id });
}

const addMember = (business: typeof bolt) => server.addUser(`Member ${++users}`, [[business, 'member']]);
const roleOf = async (user: { id: string }, business: { id: string }) =>
  (await findMembership(server.storage().durable, user.id, business.id))?.role;

test('two tabs show two businesses, and each form changes the business of its own page', async () => {
  const { browser } = await addOwnerOfBoth();
  const [one, two] = [await addMember(server.acme), await addMember(bolt)];
  const acmeTab = await browser.open(server.acmePath(`members/${one.id}`));
  const boltTab = await browser.open(inBolt(`members/${two.id}`));

  await browser.submit(boltTab, inBolt(`members/${two.id}/role`), { role: 'admin' });
  const done = await submitConfirmed(browser, acmeTab, server.acmePath(`members/${one.id}/role`), { role: 'owner' });

  assert.match(acmeTab.text, /<h2>In Acme<\/h2>/);
  assert.match(boltTab.text, /<h2>In Bolt<\/h2>/);
  assert.equal(done.url, `${server.web}${server.acmePath('members')}?done=role_changed`);
  assert.deepEqual([await roleOf(one, server.acme), await roleOf(two, bolt)], ['owner', 'admin']);
});

test('a form changes the business of its page, even after a switch in another tab', async () => {
  const { browser } = await addOwnerOfBoth();
  const form = await browser.open(server.acmePath('developer/new'));

  await choose(browser, bolt);
  const page = await browser.submit(form, server.acmePath('developer'), { ...APP_FIELDS, name: 'Tabbed' });

  const [, id = ''] = /id="client-id">([^<]+)</.exec(page.text) ?? [];
  assert.equal((await findApp(server.storage().durable, id))?.ownerBusinessId, server.acme.id);
});

test('every link of a page about a business leads to that business, whichever was chosen last', async () => {
  const { browser } = await addOwnerOfBoth();
  const pages = ['connected-apps', 'connected-apps/assistant', 'members', 'members/invite', 'members/invitations'];
  pages.push('settings', 'settings/apps', 'audit-log', 'developer', 'developer/new');

  // Addresses without the business lead to the one that was chosen last.
  const short = [...server.routes.web.keys()].flatMap((route) => /^\/settings\/([\w-]+)\/\*$/.exec(route)?.[1] ?? []);
  const toShort = new RegExp(`(?:href|action)="/settings/(?:${short.join('|')})[/"?][^"]*`, 'g');
  assert.ok(short.includes('members') && short.includes('developer'));

  for (const page of pages) {
    const { status, text } = await browser.open(inBolt(page));
    const linked = [...text.matchAll(/(?:href|action)="\/businesses\/([^/"]*)/g)].map(([, id]) => id);
    assert.equal(status, 200, page);
    assert.deepEqual([...new Set(linked)], [bolt.id], page);
    assert.deepEqual(text.match(toShort), null, page);
    assert.match(text, new RegExp(`value="${bolt.id}" aria-current="true">`), page);
  }
});

test('opening a page of another business does not change which was chosen last', async () => {
  const { browser } = await addOwnerOfBoth();

  await browser.open(inBolt('members'));

  assert.equal((await browser.open('/')).url, server.web + server.acmePath('connected-apps'));
});

test('a switch opens the same list of the other business, from its start', async () => {
  const { browser } = await addOwnerOfBoth();
  const afterSwitch = async (path: string) =>
    (await browser.submit(await browser.open(path), SWITCH, { business: bolt.id })).url.slice(server.web.length);

  assert.equal(await afterSwitch(server.acmePath('members?q=x')), inBolt('members'));
  assert.equal(await afterSwitch(server.acmePath(`developer/${server.ledger.id}`)), inBolt('developer'));
  assert.equal(await afterSwitch(server.acmePath('settings/apps')), inBolt('settings'));
  assert.equal(await afterSwitch('/settings/account'), '/settings/account');
});

test('a switch to a business in which the user may not see the page opens its connected apps', async () => {
  const user = await server.addUser('Ida', [
    [server.acme, 'owner'],
    [bolt, 'member'],
  ]);
  const browser = await server.signedIn(user);

  for (const page of ['settings', 'audit-log']) {
    const switched = await browser.submit(await browser.open(server.acmePath(page)), SWITCH, { business: bolt.id });
    assert.deepEqual([switched.status, switched.url], [200, server.web + inBolt('connected-apps')]);
  }
});

test('a business of others, an unknown one and one in which the role is not enough get the same response, for every method [D5]', async () => {
  const user = await server.addUser('Uma', [[server.acme, 'member']]);
  const browser = await server.signedIn(user);
  const csrf = await browser.csrf();
  const nowhere = await browser.open('/nowhere');
  const ids = [closed.id, newId(server.clock()), 'nonsense', '%00', '..%2f', server.acme.id.toUpperCase()];
  const paths = ids.flatMap((id) =>
    ['members', 'connected-apps', 'developer'].map((page) => `/businesses/${id}/${page}`),
  );

  for (const path of [...paths, server.acmePath('settings'), server.acmePath('audit-log'), '/businesses/']) {
    const read = await browser.open(path);
    const sent = await browser.post(path, { csrf });
    assert.deepEqual([read.status, read.text], [404, nowhere.text], path);
    assert.equal(sent.status, 404, path);
  }
});

test('a visitor who is not signed in comes back to the business of the address', async () => {
  const user = await server.addUser('Vic', [
    [server.acme, 'member'],
    [bolt, 'member'],
  ]);
  const browser = server.browse();

  const signInPage = await browser.open(inBolt('members?q=v'));
  const arrived = await browser.submit(signInPage, '/sign-in', { email: user.email, password: PASSWORD });

  assert.equal(arrived.url, server.web + inBolt('members?q=v'));
});

test('an address without a business leads to the one that was chosen last, and an app to its own', async () => {
  const { browser } = await addOwnerOfBoth();
  const app = await server.addApp({ name: 'Boltly', ownerBusinessId: bolt.id });
  const opened = async (path: string) => (await browser.open(path)).url.slice(server.web.length);

  assert.equal(await opened('/settings/members?q=x'), server.acmePath('members?q=x'));
  assert.equal(await opened('/settings/business/apps'), server.acmePath('settings/apps'));
  assert.equal(await opened('/settings/audit-log.csv'), server.acmePath('audit-log.csv'));
  assert.equal(await opened(`/settings/developer/${app.id}/requests`), inBolt(`developer/${app.id}/requests`));
  await choose(browser, bolt);
  assert.equal(await opened('/settings/connected-apps'), inBolt('connected-apps'));
});

test('a form cannot be sent to an address without a business', async () => {
  const { browser } = await addOwnerOfBoth();
  const mia = await addMember(server.acme);
  const headers = { cookie: [...browser.cookies].map((pair) => pair.join('=')).join('; ') };
  const body = new URLSearchParams({ csrf: await browser.csrf(), role: 'owner' });

  const sent = await fetch(`${server.web}/settings/members/${mia.id}/role`, { method: 'POST', headers, body });

  assert.equal(sent.status, 404);
  assert.equal(await roleOf(mia, server.acme), 'member');
});

test('Allow on a consent screen is for the business on it, even after a switch in another tab', async () => {
  const { user, browser } = await addOwnerOfBoth();
  const app = await server.addApp({ name: 'Courier', ownerBusinessId: bolt.id, openToAnyBusiness: true });
  const client = createClient({ ...server, user, app, business: server.acme });
  const screen = await browser.open(client.authorizeUrl());

  await choose(browser, bolt);
  const allowed = await browser.submit(screen, '/consent', { decision: 'allow' });

  const { rows } = { rows: await server.storage().durable.selectFrom('grants').selectAll().execute() };
  const [grant] = rows.filter(({ user_id, app_id }) => user_id === user.id && app_id === app.id);
  assert.match(screen.text, /wants to access <strong><bdi>Acme</);
  assert.ok(allowed.leftTo?.searchParams.get('code'));
  assert.equal(grant?.business_id, server.acme.id);
});

test('users can disconnect apps of another business from the list of any business', async () => {
  const { user, browser } = await addOwnerOfBoth();
  const app = await server.addApp({ name: 'Sailor', ownerBusinessId: bolt.id, openToAnyBusiness: true });
  await choose(browser, bolt);
  const tokens = await createClient({ ...server, user, app, business: bolt }).connect({}, browser);
  const list = await browser.open(server.acmePath('connected-apps'));

  const done: BrowserPage = await browser.submit(list, inBolt('connected-apps/disconnect'));

  assert.equal(hiddenFields(list.text, inBolt('connected-apps/disconnect')).app, app.id);
  assert.equal(done.url, server.web + inBolt('connected-apps?done=disconnected'));
  assert.equal((await server.listInvoices(tokens.access_token, { 'x-business-id': bolt.id })).status, 401);
});
