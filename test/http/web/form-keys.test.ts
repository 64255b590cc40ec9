import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DAY } from '../../../src/lib/clock.ts';
import { APP_FIELDS } from '../../support/app-pages.ts';
import { hiddenFields } from '../../support/browser.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const DEVELOPER = server.acmePath('developer');

test('a form for a new app that was opened for one business registers nothing for another', async () => {
  const bolt = await server.addBusiness('Bolt');
  const both = await server.addUser('Bo', [
    [server.acme, 'owner'],
    [bolt, 'owner'],
  ]);
  const browser = await server.signedIn(both);
  const form = await browser.open(`${DEVELOPER}/new`);

  const fields = { ...hiddenFields(form.text, DEVELOPER), ...APP_FIELDS, name: 'Astray' };
  const response = await browser.post(`/businesses/${bolt.id}/developer`, fields);

  assert.equal(response.status, 409);
  const apps = await server.storage().durable.selectFrom('apps').select('name').execute();
  assert.ok(!apps.some(({ name }) => name === 'Astray'));
});

test('an old form creates no invitation, so a link that was withdrawn long ago stays invalid', async () => {
  const form = await (await server.signedIn()).open('/settings/members/invite');
  server.advanceClock(DAY);
  const browser = await server.signedIn();
  const fields = { business: server.acme.id, role: 'member', note: '' };
  const [, form_key = ''] = /name="form_key" value="([^"]+)"/.exec(form.text) ?? [];

  const response = await browser.post('/settings/members/invite', { ...fields, form_key, csrf: await browser.csrf() });

  assert.equal(response.status, 409);
  assert.deepEqual(await server.storage().durable.selectFrom('invitations').selectAll().execute(), []);
});
