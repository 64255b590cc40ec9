import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeDynamicClientId } from '../../../src/apps/dynamic-client-ids.ts';
import { MINUTE } from '../../../src/lib/clock.ts';
import { createKeyring } from '../../../src/lib/keyring.ts';
import type { Browser } from '../../support/browser.ts';
import { createClient } from '../../support/client.ts';
import { CALLBACK, externalRequest } from '../../support/client-document-host.ts';
import { startTestServer } from '../../support/test-server.ts';

const PER_USER = 2;
const PER_BUSINESS = 4;
const server = await startTestServer({
  DYNAMIC_REGISTRATION: 'on',
  MAX_EXTERNAL_APPS_PER_USER: String(PER_USER),
  MAX_EXTERNAL_APPS_PER_BUSINESS: String(PER_BUSINESS),
});
const keys = createKeyring(server.settings.secretKeys);
const { acme } = server;

function newExternalApp(name: string): string {
  return encodeDynamicClientId(keys, { name, redirectUris: [CALLBACK], scope: undefined });
}

/** Opens the consent screen and clicks Allow. */
async function allow(browser: Browser, clientId: string) {
  const scope = 'read:invoices';
  const page = await browser.open(server.authorizeUrl({ ...externalRequest(server, clientId), scope }));
  return browser.submit(page, '/consent', { decision: 'allow' });
}

async function newMember(name: string, business = acme, role: 'owner' | 'member' = 'member') {
  const user = await server.addUser(name, [[business, role]]);
  return { user, browser: await server.signedIn(user) };
}

async function countConsents(userId: string): Promise<number> {
  const consents = server.storage().durable.selectFrom('consents').select('app_id').where('user_id', '=', userId);
  return (await consents.execute()).length;
}

test('a person who has connected as many external apps as they may is shown which to disconnect, least recently used first', async () => {
  const business = await server.addBusiness('Umbra');
  const { user, browser } = await newMember('Ann', business);
  const [first, second, third] = ['Older', 'Newer', 'Third'].map(newExternalApp) as [string, string, string];
  await allow(browser, first);
  server.advanceClock(MINUTE);
  await allow(browser, second);

  const refused = await allow(browser, third);

  assert.equal(refused.status, 409);
  assert.match(refused.text, /You have connected 2 apps that are not registered/);
  assert.match(refused.text, /Older<\/bdi><\/a>[\s\S]*Newer<\/bdi><\/a>/);
  const path = /href="(\/businesses\/[^"]+\/connected-apps\/[^"]+)"[^>]*><bdi>Older/.exec(refused.text)?.[1] ?? '';
  assert.equal((await browser.open(path)).status, 200);
  assert.equal(await countConsents(user.id), PER_USER);
});

test('once one is disconnected, the next is allowed', async () => {
  const business = await server.addBusiness('Verdana');
  const { browser } = await newMember('Ben', business);
  const [first, second, third] = ['One', 'Two', 'Three'].map(newExternalApp) as [string, string, string];
  await allow(browser, first);
  await allow(browser, second);
  const refused = await allow(browser, third);
  const path = /href="(\/businesses\/[^"]+\/connected-apps)\/([^/"]+)\/[^"]+"[^>]*><bdi>One/.exec(refused.text);
  await browser.post(`${path?.[1]}/disconnect`, { app: path?.[2] ?? '', csrf: await browser.csrf() });

  const { leftTo } = await allow(browser, third);

  assert.ok(leftTo?.searchParams.get('code'));
});

test('an app that is connected already is never refused', async () => {
  const business = await server.addBusiness('Wexford');
  const { browser } = await newMember('Cid', business);
  const [first, second] = ['One', 'Two'].map(newExternalApp) as [string, string];
  await allow(browser, first);
  await allow(browser, second);

  const { leftTo } = await allow(browser, first);

  assert.ok(leftTo?.searchParams.get('code'));
});

test('apps that are registered here do not count', async () => {
  const business = await server.addBusiness('Xenon');
  const { user, browser } = await newMember('Dan', business);
  await allow(browser, newExternalApp('One'));
  await allow(browser, newExternalApp('Two'));
  const app = await server.addApp({ name: 'Registered', ownerBusinessId: business.id });

  await createClient({ ...server, user, app, business }).connect({}, browser);

  assert.equal(await countConsents(user.id), 3);
});

test('a full business shows a member their own apps and an owner those of everybody', async () => {
  const business = await server.addBusiness('Yarrow');
  const owner = await newMember('Olga', business, 'owner');
  const members = await Promise.all(['Eve', 'Fay', 'Gus'].map((name) => newMember(name, business)));
  const [eve, fay, gus] = members as [(typeof members)[0], (typeof members)[0], (typeof members)[0]];
  for (const name of ['Eve 1', 'Eve 2']) await allow(eve.browser, newExternalApp(name));
  for (const name of ['Fay 1', 'Fay 2']) await allow(fay.browser, newExternalApp(name));

  const ofOwner = await allow(owner.browser, newExternalApp('Owner 1'));
  const ofMember = await allow(gus.browser, newExternalApp('Gus 1'));

  assert.match(ofOwner.text, /connected 4 apps that are not registered with [\s\S]* to <bdi>Yarrow/);
  for (const name of ['Eve 1', 'Fay 2']) assert.match(ofOwner.text, new RegExp(`<bdi>${name}</bdi></a>`));
  assert.match(ofMember.text, /An owner can disconnect/);
  assert.doesNotMatch(ofMember.text, /Eve 1/);
});

test('of several Allows at the same time, as many are allowed as there is room for', async () => {
  const business = await server.addBusiness('Zephyr');
  const { user, browser } = await newMember('Hal', business);
  const screens = [];
  for (const name of ['A', 'B', 'C', 'D', 'E']) {
    screens.push(await browser.open(server.authorizeUrl(externalRequest(server, newExternalApp(name)))));
  }

  const answers = await Promise.all(screens.map((page) => browser.submit(page, '/consent', { decision: 'allow' })));

  assert.equal(answers.filter(({ leftTo }) => leftTo?.searchParams.get('code')).length, PER_USER);
  assert.equal(await countConsents(user.id), PER_USER);
});

test('of several people at the same time, as many are allowed as the business has room for', async () => {
  const business = await server.addBusiness('Quorum');
  const people = await Promise.all(['Ida', 'Jan', 'Kim', 'Lea', 'Max', 'Ned'].map((name) => newMember(name, business)));

  const answers = await Promise.all(people.map(({ browser }, i) => allow(browser, newExternalApp(`App ${i}`))));

  assert.equal(answers.filter(({ leftTo }) => leftTo?.searchParams.get('code')).length, PER_BUSINESS);
});
