import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { launchChromium, newCallback } from '../support/chromium.ts';
import { assertOpen, follow, newJourneys, press, read } from '../support/journey.ts';
import { PASSWORD } from '../support/people.ts';

const journey = newJourneys(await launchChromium());
const { uri } = await newCallback();

journey('a person leaves out what an app could do without, and the app is told', async ({ server, arrive }) => {
  const app = await server.addApp({ name: 'Ledgerly', redirectUris: [uri], ownerBusinessId: server.acme.id });
  const asked = { client_id: app.id, redirect_uri: uri, optional_scope: 'read:contacts' };

  const page = await arrive(server.ada, server.authorizeUrl(asked));
  await assertOpen(page);
  await page.getByLabel('View CRM contacts and companies').uncheck();
  await press(page, 'Allow');

  const code = new URL(page.url()).searchParams.get('code') ?? '';
  const { body } = await server.exchange(code, { redirect_uri: uri, client_id: app.id, client_secret: app.secret });
  assert.equal(body.scope, 'read:invoices');
});

journey('a platform admin pauses an app everywhere and resumes it', async ({ server, arrive }) => {
  const root = await server.addUser('Root', [], true);
  const { access_token, refresh_token } = await server.connect();

  const page = await arrive(root, '/settings/account');
  await follow(page, 'Platform');
  await page.getByRole('searchbox').fill('ledg');
  await press(page, 'Search');
  await assertOpen(page);
  await follow(page, 'Ledger');
  await assertOpen(page);
  await follow(page, 'Pause…');
  await read(page, /1 business/);
  await assertOpen(page);
  await press(page, 'Pause app');
  await read(page, 'The app is paused everywhere.');
  assert.equal((await server.listInvoices(access_token)).body.reason, 'app_paused');
  assert.equal((await server.refresh(refresh_token)).body.reason, 'app_paused');

  await press(page, 'Resume');
  await read(page, 'The app is resumed.');
  assert.equal((await server.listInvoices(access_token)).status, 200);
});

journey('a platform admin finds a user among all, and disables them', async ({ server, arrive }) => {
  const root = await server.addUser('Root', [], true);
  const { refresh_token } = await server.connect();

  const page = await arrive(root, '/settings/account');
  await follow(page, 'Platform');
  for (const name of ['Businesses', 'Users']) {
    await follow(page, name);
    await assertOpen(page);
  }
  await follow(page, 'Ada');
  await assertOpen(page);
  await follow(page, 'Disable…');
  await assertOpen(page);
  await press(page, 'Disable user');
  await read(page, 'The user is disabled and signed out everywhere.');

  assert.equal((await server.refresh(refresh_token)).body.reason, 'user_disabled');
});

journey('an owner invites someone, makes them an admin and removes them', async ({ server, arrive, wander }) => {
  const page = await arrive(server.ada, '/settings/members');
  await assertOpen(page);
  await follow(page, 'Invite someone');
  await assertOpen(page);
  await page.getByLabel('Email').fill('kim@example.com');
  await press(page, 'Create invitation link');
  await assertOpen(page);
  const link = (await page.locator('#invitation').textContent()) ?? '';
  await follow(page, 'All invitations');
  await read(page, 'kim@example.com');
  await assertOpen(page);

  const guest = await wander(link);
  await assertOpen(guest);
  await guest.getByLabel('Your name').fill('Kim');
  await guest.getByLabel('Password').fill(PASSWORD);
  await press(guest, 'Create account and join');
  await read(guest, /^Welcome/);

  await page.goto(`${server.web}/settings/members`);
  await follow(page, 'Manage Kim');
  await assertOpen(page);
  await page.getByLabel(/^Admin/).check();
  await press(page, 'Save');
  await read(page, 'The role has been changed.');
  await guest.goto(`${server.web}/settings/developer`);
  await guest.getByRole('link', { name: 'New app' }).waitFor();

  await follow(page, 'Manage Kim');
  await follow(page, 'Remove…');
  await assertOpen(page);
  await press(page, 'Remove Kim');
  await read(page, 'The member has been removed.');
  await guest.goto(`${server.web}/settings/members`);
  await read(guest, 'You are not a member of any business yet.');
  await assertOpen(guest);
});

journey('an owner reads who did what, and takes it along', async ({ server, arrive }) => {
  await server.connect();
  const page = await arrive(server.ada, '/settings/audit-log');
  await read(page, 'Allowed the app');
  await assertOpen(page);

  const download = page.waitForEvent('download');
  await follow(page, 'Export as CSV');
  assert.match(readFileSync(await (await download).path(), 'utf8'), /Ada.*Ledger/);
});

journey('a person changes their name and password, and ends a session elsewhere', async ({ server, arrive }) => {
  const elsewhere = await arrive(server.ada, '/settings/account');
  const page = await arrive(server.ada, '/settings/account');
  await assertOpen(page);
  await page.getByLabel('Name', { exact: true }).fill('Ada Lovelace');
  await press(page, 'Change name');
  await read(page, 'Your name has been changed.');

  await press(page, /^End the session of/);
  await read(page, 'The session has ended.');
  await elsewhere.goto(`${server.web}/settings/account`);
  assert.match(elsewhere.url(), /\/sign-in/);

  await page.getByLabel('Current password').fill(PASSWORD);
  await page.getByLabel('New password').fill('a whole new drawbridge');
  await press(page, 'Change password');
  await read(page, 'Your password has been changed.');
});
