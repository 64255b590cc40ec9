import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deleteMembership } from '../../../src/accounts/memberships.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const bolt = await server.addBusiness('Bolt');
const closed = await server.addBusiness('Closed');
const bob = await server.addUser('Bob', [
  [server.acme, 'owner'],
  [bolt, 'member'],
]);
const SWITCH = '/settings/current-business';

test('a user of several businesses switches between them, and comes back to the same page', async () => {
  const browser = await server.signedIn(bob);
  const before = await browser.open('/settings/developer');

  const after = await browser.submit(before, SWITCH, { business: bolt.id });

  assert.match(before.text, /The apps of Acme/);
  assert.equal(after.url, `${server.web}/businesses/${bolt.id}/developer`);
  assert.match(after.text, /The apps of Bolt/);
});

test('the choice belongs to the user, in every browser', async () => {
  const browser = await server.signedIn(bob);
  await browser.submit(await browser.open('/settings/account'), SWITCH, { business: bolt.id });

  const elsewhere = await server.signedIn(bob);

  assert.match((await elsewhere.open('/settings/developer')).text, /The apps of Bolt/);
});

test('a user of one business has nothing to switch', async () => {
  const browser = await server.signedIn();

  const { text } = await browser.open('/settings/account');

  assert.doesNotMatch(text, /current-business/);
  assert.match(text, /<div class="switcher">.*<span class="menu-name">Acme<\/span>/);
});

test('a user cannot switch to a business of others, or find out whether it exists [D5]', async () => {
  const browser = await server.signedIn(bob);
  const csrf = await browser.csrf();
  const responses = [];

  for (const business of [closed.id, '01a1dd0a-eb11-7000-997c-587fb8fee946', 'nonsense', '']) {
    const { status, text } = await browser.post(SWITCH, { csrf, business });
    responses.push({ status, text });
  }

  assert.equal(responses[0]?.status, 404);
  for (const response of responses) assert.deepEqual(response, responses[0]);
});

test('a user who is removed from their current business acts for another of theirs from the next page on', async () => {
  const cy = await server.addUser('Cy', [
    [server.acme, 'member'],
    [bolt, 'member'],
  ]);
  const browser = await server.signedIn(cy);
  await browser.submit(await browser.open('/settings/account'), SWITCH, { business: bolt.id });

  await deleteMembership(server.storage().durable, cy.id, bolt.id);

  assert.match((await browser.open('/settings/developer')).text, /The apps of Acme/);
});

test('a user without a business can sign in, and the page explains what to do', async () => {
  const dot = await server.addUser('Dot');
  const browser = await server.signedIn(dot);

  const connected = await browser.open('/settings/connected-apps');
  const developer = await browser.open('/settings/developer');

  assert.equal(connected.status, 200);
  assert.match(connected.text, /No business/);
  assert.equal(developer.status, 403);
  assert.match(developer.text, /not a member of any business yet/);
});
