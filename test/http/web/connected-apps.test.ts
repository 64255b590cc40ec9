import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deleteMembership } from '../../../src/accounts/memberships.ts';
import { DAY } from '../../../src/lib/clock.ts';
import type { Fields } from '../../support/browser.ts';
import { createClient } from '../../support/client.ts';
import { connectionsIn, openConnection } from '../../support/connections.ts';
import { startTestServer } from '../../support/test-server.ts';

const PATH = '/settings/connected-apps';
const server = await startTestServer();
const bolt = await server.addBusiness('Bolt');
const open = await server.addApp({ name: 'Courier', ownerBusinessId: bolt.id, openToAnyBusiness: true });
const courier = createClient({ ...server, user: server.ada, app: open, business: server.acme });

async function newcomer(name: string) {
  const user = await server.addUser(name, [
    [server.acme, 'member'],
    [bolt, 'member'],
  ]);
  return { user, browser: await server.signedIn(user) };
}

test('a user without connections sees that there are none', async () => {
  const { browser } = await newcomer('Ann');

  assert.match((await browser.open(PATH)).text, /You have not connected an app yet\./);
});

test('each connection names the app, the business, since when, and what it may do', async () => {
  const { browser } = await newcomer('Ben');
  await server.connect({ scope: 'read:invoices write:invoices' }, browser);

  const { row = '' } = connectionsIn(await browser.open(PATH))[0] ?? {};
  const { text } = await openConnection(browser, 'Ledger');

  assert.match(row, /Ben<\/strong>.*Until disconnected.*Last fetched tokens <time/s);
  assert.match(text, /<h1>Ledger/);
  assert.match(text, /Since<\/dt><dd><time datetime="2030-01-01T00:00:00.000Z">/);
  assert.match(text, /Permissions<.*Name and email address.*View invoices, line items and payment status/s);
  assert.match(text, /Create, update and send invoices/);
  assert.doesNotMatch(text, /View CRM contacts/);
});

test('an app is listed once, however often it was connected, and once for each business', async () => {
  const { browser } = await newcomer('Cid');
  await courier.connect({ scope: 'read:invoices' }, browser);
  await courier.connect({ scope: 'read:contacts' }, browser);
  await browser.submit(await browser.open(PATH), '/settings/current-business', { business: bolt.id });
  await courier.connect({ scope: 'read:invoices' }, browser);

  const { text } = await browser.open(PATH);

  assert.equal(text.split('aria-label="Disconnect Courier from Acme"').length, 2);
  assert.equal(text.split('aria-label="Disconnect Courier from Bolt"').length, 2);
  const list = server.acmePath('connected-apps');
  assert.match((await openConnection(browser, 'Courier', list)).text, /View invoices.*View CRM contacts/s);
});

test('a consent is listed as long as it is remembered, even without an active token', async () => {
  const { browser } = await newcomer('Dee');
  const { refresh_token } = await server.connect({}, browser);
  await server.revoke(refresh_token);

  const listed = await browser.open(PATH);
  const emptied = await browser.submit(listed, `${PATH}/disconnect`);
  const consent = await browser.open(server.authorizeUrl());

  assert.match(listed.text, />Ledger<\/a>.*No access now/s);
  assert.match(emptied.text, /You have not connected an app yet\./);
  assert.match(consent.text, /<strong><bdi>Ledger<\/bdi><\/strong> wants to access/);
});

test('disconnecting ends every token at once, and the app learns why [D2]', async () => {
  const { browser } = await newcomer('Eli');
  const first = await server.connect({}, browser);
  const second = await server.connect({}, browser);

  const page = await browser.submit(await browser.open(PATH), `${PATH}/disconnect`);

  assert.match(page.text, /You have not connected an app yet\./);
  for (const { access_token, refresh_token } of [first, second]) {
    assert.equal((await server.listInvoices(access_token)).status, 401);
    const rejected = await server.refresh(refresh_token);
    assert.equal(rejected.body.error, 'invalid_grant');
    assert.match(rejected.body.error_description, /disconnected_by_user/);
    assert.deepEqual((await server.introspect(access_token)).body, { active: false });
  }
});

test('a code issued before the user disconnected does not work [D2]', async () => {
  const { browser } = await newcomer('Fay');
  await server.connect({}, browser);
  const code = await server.allow({}, browser);

  await browser.submit(await browser.open(PATH), `${PATH}/disconnect`);

  assert.equal((await server.exchange(code)).body.error, 'invalid_grant');
});

test('after disconnecting, the app has to ask for consent again [D2]', async () => {
  const { browser } = await newcomer('Gus');
  await server.connect({}, browser);
  const remembered = await browser.open(server.authorizeUrl());

  await browser.submit(await browser.open(PATH), `${PATH}/disconnect`);
  const consent = await browser.open(server.authorizeUrl());

  assert.ok(remembered.leftTo?.searchParams.get('code'));
  assert.equal(consent.status, 200);
  assert.match(consent.text, /<strong><bdi>Ledger<\/bdi><\/strong> wants to access <strong><bdi>Acme<\/bdi><\/strong>/);
});

test('disconnecting in one business leaves the other business connected [D2]', async () => {
  const { browser } = await newcomer('Hal');
  const inAcme = await courier.connect({}, browser);
  await browser.submit(await browser.open(PATH), '/settings/current-business', { business: bolt.id });
  const inBolt = await courier.connect({}, browser);

  await browser.post(server.acmePath('connected-apps/disconnect'), { csrf: await browser.csrf(), app: open.id });

  assert.equal((await courier.listInvoices(inAcme.access_token)).status, 401);
  assert.equal((await courier.listInvoices(inBolt.access_token, { 'x-business-id': bolt.id })).status, 200);
});

test('a user cannot disconnect an app of another user [D5]', async () => {
  const { browser: ida } = await newcomer('Ida');
  const { browser: jon } = await newcomer('Jon');
  const tokens = await server.connect({}, ida);

  await jon.post(`${PATH}/disconnect`, { csrf: await jon.csrf(), app: server.ledger.id });

  assert.equal((await server.listInvoices(tokens.access_token)).status, 200);
  assert.match((await ida.open(PATH)).text, />Ledger<\/a>/);
  assert.match((await jon.open(PATH)).text, /You have not connected an app yet\./);
});

test('the page of a connection is 404 for everyone but its user and owners, and for what is not connected [D5]', async () => {
  const { user, browser } = await newcomer('Ivo');
  const { browser: other } = await newcomer('Jan');
  await server.connect({}, browser);
  const path = server.acmePath(`connected-apps/${server.ledger.id}/${user.id}`);

  assert.equal((await browser.open(path)).status, 200);
  assert.equal((await (await server.signedIn()).open(path)).status, 200);
  assert.equal((await other.open(path)).status, 404);
  for (const rest of [`${open.id}/${user.id}`, `x/${user.id}`, `${server.ledger.id}/x`]) {
    assert.equal((await browser.open(server.acmePath(`connected-apps/${rest}`))).status, 404, rest);
  }
});

test('malformed ids disconnect nothing', async () => {
  const { browser } = await newcomer('Kim');
  const csrf = await browser.csrf();

  const incomplete: Fields[] = [{}, { app: 'x' }, { app: [server.ledger.id, server.ledger.id] }];

  for (const fields of incomplete) {
    assert.equal((await browser.post(`${PATH}/disconnect`, { csrf, ...fields })).status, 404);
  }
});

test('a first-party app is listed too, and can be disconnected [D2]', async () => {
  const { browser } = await newcomer('Lou');
  const app = await server.addApp({ name: 'Console' });
  const client = createClient({ ...server, user: server.ada, app, business: server.acme });
  const tokens = await client.connect({}, browser);

  const listed = await browser.open(PATH);
  await browser.submit(listed, `${PATH}/disconnect`);

  assert.match(listed.text, />Console<\/a> <span class="badge">First-party</);
  assert.equal((await client.listInvoices(tokens.access_token)).status, 401);
});

test('a connection is removed from the list with its membership', async () => {
  const { user, browser } = await newcomer('Ned');
  await server.connect({}, browser);

  await deleteMembership(server.storage().durable, user.id, server.acme.id);

  assert.match((await browser.open(PATH)).text, /You have not connected an app yet\./);
});

test('a first-party app without a refresh for 30 days is no longer listed', async () => {
  const { user, browser } = await newcomer('Mo');
  const app = await server.addApp({ name: 'Console' });
  await createClient({ ...server, user: server.ada, app, business: server.acme }).connect({}, browser);

  server.advanceClock(30 * DAY);

  assert.match((await (await server.signedIn(user)).open(PATH)).text, /You have not connected an app yet\./);
});

test('a user without a business sees what to do, and the menu has only what they can use', async () => {
  const browser = await server.signedIn(await server.addUser('Nomad'));

  for (const path of ['/settings/connected-apps', '/settings/connected-apps?q=x']) {
    const { text } = await browser.open(path);
    assert.match(
      text,
      /You are not a member of any business yet.*Ask an owner of your business for an invitation/,
      path,
    );
    assert.doesNotMatch(text, /href="\/settings\/(members|developer|audit-log)"/, path);
  }
});
