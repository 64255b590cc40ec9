import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deleteMembership } from '../../../src/accounts/memberships.ts';
import { findApp } from '../../../src/apps/apps.ts';
import { hiddenFields } from '../../support/browser.ts';
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
  const before = await browser.open('/settings/developer?x=1');

  const after = await browser.submit(before, SWITCH, { business: bolt.id });

  assert.match(before.text, /The apps of Acme/);
  assert.equal(after.url, `${server.web}/settings/developer?x=1`);
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
  const answers = [];

  for (const business of [closed.id, '01a1dd0a-eb11-7000-997c-587fb8fee946', 'nonsense', '']) {
    const { status, text } = await browser.post(SWITCH, { csrf, business });
    answers.push({ status, text });
  }

  assert.equal(answers[0]?.status, 404);
  for (const answer of answers) assert.deepEqual(answer, answers[0]);
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

test('a link to an app of another business of the user offers to switch, and the switch opens it', async () => {
  const app = await server.addApp({ name: 'Boltly', ownerBusinessId: bolt.id });
  const eve = await server.addUser('Eve', [
    [server.acme, 'member'],
    [bolt, 'owner'],
  ]);
  const browser = await server.signedIn(eve);
  await browser.post(SWITCH, { csrf: await browser.csrf(), business: server.acme.id });

  for (const page of ['', '/requests', '/connections', '/endpoints', '/try', '/delete']) {
    const path = `/settings/developer/${app.id}${page}?from=mail`;
    const offer = await browser.open(path);
    const opened = await browser.submit(offer, SWITCH, hiddenFields(mainOf(offer), SWITCH));

    assert.equal(offer.status, 409, path);
    assert.match(mainOf(offer), /<button class="primary">Switch to Bolt<\/button>/, path);
    assert.deepEqual([opened.status, opened.url], [200, server.web + path]);
    assert.match(opened.text, /Boltly/, path);
    await browser.post(SWITCH, { csrf: await browser.csrf(), business: server.acme.id });
  }
});

test('a form for an app of another business of the user changes nothing, and offers to switch', async () => {
  const app = await server.addApp({ name: 'Formly', ownerBusinessId: bolt.id });
  const fay = await server.addUser('Fay', [
    [server.acme, 'owner'],
    [bolt, 'admin'],
  ]);
  const browser = await server.signedIn(fay);
  await browser.post(SWITCH, { csrf: await browser.csrf(), business: server.acme.id });
  const referer = `${server.web}/settings/developer/${app.id}`;

  const refused = await browser.post(
    `/settings/developer/${app.id}/delete`,
    { csrf: await browser.csrf() },
    { referer },
  );

  assert.equal(refused.status, 409);
  assert.match(mainOf(refused), /Nothing was changed\./);
  assert.equal(hiddenFields(mainOf(refused), SWITCH).return_to, `/settings/developer/${app.id}`);
  assert.ok(await findApp(server.storage().durable, app.id));
});

test('a link to a member of another business that the user owns offers to switch, too', async () => {
  const gil = await server.addUser('Gil', [
    [server.acme, 'member'],
    [bolt, 'owner'],
  ]);
  const hal = await server.addUser('Hal', [[bolt, 'member']]);
  const browser = await server.signedIn(gil);
  await browser.post(SWITCH, { csrf: await browser.csrf(), business: server.acme.id });

  for (const page of ['', '/remove']) {
    const path = `/settings/members/${hal.id}${page}`;
    const offer = await browser.open(path);
    const opened = await browser.submit(offer, SWITCH, hiddenFields(mainOf(offer), SWITCH));

    assert.deepEqual([offer.status, opened.status, opened.url], [409, 200, server.web + path]);
    await browser.post(SWITCH, { csrf: await browser.csrf(), business: server.acme.id });
  }
});

test('where switching would not help, a page is not found, as if it did not exist [D5]', async () => {
  const [inBolt, inClosed] = [bolt, closed].map((business) => server.addApp({ ownerBusinessId: business.id }));
  const jo = await server.addUser('Jo', [[closed, 'member']]);
  const ivy = await server.addUser('Ivy', [
    [server.acme, 'owner'],
    [bolt, 'member'],
  ]);
  const browser = await server.signedIn(ivy);
  await browser.post(SWITCH, { csrf: await browser.csrf(), business: server.acme.id });
  const nowhere = await browser.open('/settings/developer/01a1dd0a-eb11-7000-997c-587fb8fee946');

  // In Bolt Ivy may look at apps, and not change them; of Closed she knows nothing.
  for (const path of [
    `developer/${(await inBolt)?.id}/endpoints`,
    `developer/${(await inBolt)?.id}/delete`,
    `developer/${(await inClosed)?.id}`,
    `members/${jo.id}`,
  ]) {
    const { status, text } = await browser.open(`/settings/${path}`);
    assert.deepEqual([status, text], [404, nowhere.text], path);
  }
});

/** Without the menu, which has a switch of its own. */
function mainOf({ text }: { text: string }): string {
  return /<main.*<\/main>/s.exec(text)?.[0] ?? '';
}
