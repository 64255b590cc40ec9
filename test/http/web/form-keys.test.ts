import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DAY } from '../../../src/lib/clock.ts';
import { DEVELOPER, TYPED } from '../../support/app-pages.ts';
import { newWorld } from '../../support/world.ts';

const world = await newWorld();

test('a form for a new app that was opened for one business registers nothing for another', async () => {
  const bolt = await world.addBusiness('Bolt');
  const both = await world.addUser('Bo', [
    [world.acme, 'owner'],
    [bolt, 'owner'],
  ]);
  const browser = await world.signedIn(both);
  await browser.submit(await browser.open(DEVELOPER), '/settings/current-business', { business: world.acme.id });
  const form = await browser.open(`${DEVELOPER}/new`);
  await browser.submit(form, '/settings/current-business', { business: bolt.id });

  const answer = await browser.submit(form, DEVELOPER, { ...TYPED, name: 'Astray' });

  assert.equal(answer.status, 409);
  const apps = await world.storage().durable.selectFrom('apps').select('name').execute();
  assert.ok(!apps.some(({ name }) => name === 'Astray'));
});

test('an old form makes no invitation, so a link that was withdrawn long ago never comes back', async () => {
  const form = await (await world.signedIn()).open('/settings/members/invite');
  world.wind(DAY);
  const browser = await world.signedIn();
  const fields = { business: world.acme.id, role: 'member', note: '' };
  const [, ticket = ''] = /name="ticket" value="([^"]+)"/.exec(form.text) ?? [];

  const answer = await browser.post('/settings/members/invite', { ...fields, ticket, csrf: await browser.csrf() });

  assert.equal(answer.status, 409);
  assert.deepEqual(await world.storage().durable.selectFrom('invitations').selectAll().execute(), []);
});
