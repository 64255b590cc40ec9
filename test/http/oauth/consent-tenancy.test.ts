import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deleteMembership } from '../../../src/accounts/memberships.ts';
import { setCurrentBusiness } from '../../../src/accounts/users.ts';
import { OPERATOR } from '../../../src/audit/entries.ts';
import { disableApp } from '../../../src/grants/suspension.ts';
import type { Browser } from '../../support/browser.ts';
import { redirectParams } from '../../support/raw-http.ts';
import { countGrants } from '../../support/rows.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const beta = await server.addBusiness('Beta');
const platform = await server.addApp({ name: 'Console' });
const open = await server.addApp({ name: 'Open', ownerBusinessId: server.acme.id, openToAnyBusiness: true });
const askPlatform = { client_id: platform.id };
const askOpen = { client_id: open.id };
let users = 0;

async function arrive(...businesses: (typeof beta)[]) {
  const user = await server.addUser(
    `Person${++users}`,
    businesses.map((business) => [business, 'member']),
  );
  return { user, browser: await server.signedIn(user) };
}

async function actingIn(app: typeof open, code: string): Promise<string[]> {
  const { body } = await server.exchange(code, { client_id: app.id, client_secret: app.secret });
  const businesses = await server.get('/api/v1/businesses', { authorization: `Bearer ${body.access_token}` });
  return businesses.body.map(({ name }: { name: string }) => name);
}

const switchTo = async (browser: Browser, page: Awaited<ReturnType<Browser['open']>>, business: typeof beta) =>
  browser.submit(page, '/consent', { decision: 'switch', business: business.id });

test('a platform app skips the screen and acts in the current business of the user', async () => {
  const { user, browser } = await arrive(server.acme, beta);

  const first = await browser.open(server.authorizeUrl(askPlatform));
  await setCurrentBusiness(server.storage().durable, user.id, beta.id);
  const second = await browser.open(server.authorizeUrl(askPlatform));

  assert.equal(first.status, 303);
  assert.deepEqual(await actingIn(platform, redirectParams(first.leftTo?.href).code ?? ''), ['Acme']);
  assert.deepEqual(await actingIn(platform, redirectParams(second.leftTo?.href).code ?? ''), ['Beta']);
});

test('a token of a platform app stays in the business of its consent when the user switches to another', async () => {
  const { user, browser } = await arrive(server.acme, beta);
  const code = await server.allow(askPlatform, browser);
  const { body } = await server.exchange(code, { client_id: platform.id, client_secret: platform.secret });

  await setCurrentBusiness(server.storage().durable, user.id, beta.id);

  assert.equal((await server.listInvoices(body.access_token)).status, 200);
  assert.equal((await server.listInvoices(body.access_token, { 'x-business-id': beta.id })).status, 403);
});

test('a user without any business cannot connect any app: access_denied', async () => {
  const { browser } = await arrive();

  for (const app of [platform, open, server.ledger]) {
    const response = await browser.open(server.authorizeUrl({ client_id: app.id }));
    const { error, state, iss } = redirectParams(response.leftTo?.href);
    assert.deepEqual({ error, state, iss }, { error: 'access_denied', state: 'state-1', iss: server.api });
  }
});

test('a private app acts in the business that owns it, whichever is current', async () => {
  const { user, browser } = await arrive(server.acme, beta);
  await setCurrentBusiness(server.storage().durable, user.id, beta.id);

  const page = await browser.open(server.authorizeUrl());
  const response = await browser.submit(page, '/consent', { decision: 'allow' });

  assert.match(page.text, /access <strong><bdi>Acme<\/bdi><\/strong>/);
  assert.deepEqual(await actingIn(server.ledger, redirectParams(response.leftTo?.href).code ?? ''), ['Acme']);
});

test('a private app is denied to a user who is not a member of its business: access_denied', async () => {
  const { browser } = await arrive(beta);
  const before = await countGrants(server);

  for (const prompt of [undefined, 'none']) {
    const response = await browser.open(server.authorizeUrl({ prompt }));
    assert.equal(redirectParams(response.leftTo?.href).error, 'access_denied');
  }
  assert.equal(await countGrants(server), before);
});

test('an app open to any business acts in the current business, also for users who are not members of its owner', async () => {
  const { browser } = await arrive(beta);

  const page = await browser.open(server.authorizeUrl(askOpen));
  const response = await browser.submit(page, '/consent', { decision: 'allow' });

  assert.match(page.text, /access <strong><bdi>Beta<\/bdi><\/strong>/);
  assert.match(page.text, /registered by a business called <bdi>“Acme”/);
  assert.deepEqual(await actingIn(open, redirectParams(response.leftTo?.href).code ?? ''), ['Beta']);
});

test('the business can be switched on the screen, which is then about the other business', async () => {
  const { browser } = await arrive(server.acme, beta);
  const page = await browser.open(server.authorizeUrl(askOpen));

  const switched = await switchTo(browser, page, beta);
  const response = await browser.submit(switched, '/consent', { decision: 'allow' });

  assert.match(page.text, /access <strong><bdi>Acme<\/bdi><\/strong>/);
  assert.match(switched.text, /access <strong><bdi>Beta<\/bdi><\/strong>/);
  assert.deepEqual(await actingIn(open, redirectParams(response.leftTo?.href).code ?? ''), ['Beta']);
});

test('Allow with another business than that of the screen grants nothing, and shows the screen for that business', async () => {
  const { browser } = await arrive(server.acme, beta);
  const page = await browser.open(server.authorizeUrl(askOpen));

  const shownAgain = await browser.submit(page, '/consent', { decision: 'allow', business: beta.id });
  const response = await browser.submit(shownAgain, '/consent', { decision: 'allow', business: beta.id });

  assert.equal(shownAgain.leftTo, undefined);
  assert.match(shownAgain.text, /access <strong><bdi>Beta<\/bdi><\/strong>/);
  assert.deepEqual(await actingIn(open, redirectParams(response.leftTo?.href).code ?? ''), ['Beta']);
});

test('the screen of a private app offers no other business', async () => {
  const { browser } = await arrive(server.acme, beta);

  const page = await browser.open(server.authorizeUrl());
  const ofOpenApp = await browser.open(server.authorizeUrl(askOpen));

  assert.match(page.text, /access <strong><bdi>Acme<\/bdi><\/strong>/);
  assert.doesNotMatch(page.text, /name="business"|value="switch"|Beta/);
  assert.match(ofOpenApp.text, /<select name="business">.*Beta.*value="switch"/s);
});

test('a business that is not the user’s own cannot be switched to', async () => {
  const { browser } = await arrive(server.acme, beta);
  const other = await server.addBusiness('Other');
  const page = await browser.open(server.authorizeUrl(askOpen));

  const response = await switchTo(browser, page, other);

  assert.equal(response.status, 404);
  assert.match((await browser.open(server.authorizeUrl(askOpen))).text, /access <strong><bdi>Acme<\/bdi><\/strong>/);
});

test('consent is remembered per business', async () => {
  const { user, browser } = await arrive(server.acme, beta);
  await server.allow(askOpen, browser);
  assert.ok(redirectParams((await browser.open(server.authorizeUrl(askOpen))).leftTo?.href).code);

  await setCurrentBusiness(server.storage().durable, user.id, beta.id);
  const page = await browser.open(server.authorizeUrl(askOpen));

  assert.equal(page.status, 200);
  assert.match(page.text, /access <strong><bdi>Beta<\/bdi><\/strong>/);
});

test('Allow means the business that the screen showed, even if another has become current meanwhile', async () => {
  const { user, browser } = await arrive(server.acme, beta);
  const page = await browser.open(server.authorizeUrl(askOpen));

  await setCurrentBusiness(server.storage().durable, user.id, beta.id);
  const response = await browser.submit(page, '/consent', { decision: 'allow' });

  assert.deepEqual(await actingIn(open, redirectParams(response.leftTo?.href).code ?? ''), ['Acme']);
});

test('Allow grants nothing once the user is no longer a member of the business that was shown', async () => {
  const { user, browser } = await arrive(server.acme);
  const page = await browser.open(server.authorizeUrl());
  const before = await countGrants(server);

  await deleteMembership(server.storage().durable, user.id, server.acme.id);
  const response = await browser.submit(page, '/consent', { decision: 'allow' });

  assert.equal(redirectParams(response.leftTo?.href).error, 'access_denied');
  assert.equal(await countGrants(server), before);
});

test('Allow grants nothing once the app is disabled, and there is no redirect', async () => {
  const app = await server.addApp({ ownerBusinessId: server.acme.id });
  const { browser } = await arrive(server.acme);
  const page = await browser.open(server.authorizeUrl({ client_id: app.id }));
  const before = await countGrants(server);

  await disableApp(OPERATOR, server.storage().durable, app, server.clock());
  const response = await browser.submit(page, '/consent', { decision: 'allow' });

  assert.equal(response.status, 400);
  assert.equal(response.leftTo, undefined);
  assert.equal(await countGrants(server), before);
});
