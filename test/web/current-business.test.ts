import assert from 'node:assert/strict';
import { test } from 'node:test';
import { removeMember } from '../../src/accounts/memberships.ts';
import { newWorld } from '../support/world.ts';

const world = await newWorld();
const bolt = await world.addBusiness('Bolt');
const closed = await world.addBusiness('Closed');
const bob = await world.addUser('Bob', [
  [world.acme, 'owner'],
  [bolt, 'member'],
]);
const SWITCH = '/settings/current-business';

test('a user of several businesses switches between them, and comes back to the same page', async () => {
  const browser = await world.signedIn(bob);
  const before = await browser.open('/settings/developer?x=1');

  const after = await browser.submit(before, SWITCH, { business: bolt.id });

  assert.match(before.text, /The apps of Acme/);
  assert.equal(after.url, `${world.web}/settings/developer?x=1`);
  assert.match(after.text, /The apps of Bolt/);
});

test('the choice belongs to the user, in every browser', async () => {
  const browser = await world.signedIn(bob);
  await browser.submit(await browser.open('/settings/account'), SWITCH, { business: bolt.id });

  const elsewhere = await world.signedIn(bob);

  assert.match((await elsewhere.open('/settings/developer')).text, /The apps of Bolt/);
});

test('a user of one business has nothing to switch', async () => {
  const browser = await world.signedIn();

  const { text } = await browser.open('/settings/account');

  assert.doesNotMatch(text, /current-business/);
  assert.match(text, /<span class="business">Acme<\/span>/);
});

test('nobody switches to a business that is not theirs, and cannot tell whether it exists [D5]', async () => {
  const browser = await world.signedIn(bob);
  const csrf = await browser.csrf();
  const answers = [];

  for (const business of [closed.id, '01a1dd0a-eb11-7000-997c-587fb8fee946', 'nonsense', '']) {
    const { status, text } = await browser.post(SWITCH, { csrf, business });
    answers.push({ status, text });
  }

  assert.equal(answers[0]?.status, 404);
  for (const answer of answers) assert.deepEqual(answer, answers[0]);
});

test('whoever is taken out of their current business acts for another of theirs from the next page on', async () => {
  const cy = await world.addUser('Cy', [
    [world.acme, 'member'],
    [bolt, 'member'],
  ]);
  const browser = await world.signedIn(cy);
  await browser.submit(await browser.open('/settings/account'), SWITCH, { business: bolt.id });

  await removeMember(world.storage().durable, cy.id, bolt.id);

  assert.match((await browser.open('/settings/developer')).text, /The apps of Acme/);
});

test('a user of no business can sign in, and is told why there is nothing to do', async () => {
  const dot = await world.addUser('Dot');
  const browser = await world.signedIn(dot);

  const connected = await browser.open('/settings/connected-apps');
  const developer = await browser.open('/settings/developer');

  assert.equal(connected.status, 200);
  assert.match(connected.text, /No business/);
  assert.equal(developer.status, 403);
  assert.match(developer.text, /not a member of any business yet/);
});
