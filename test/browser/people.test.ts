import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { assertAccessible, clickButton, clickLink, createFlowTest, waitForText } from '../support/browser-flow.ts';
import { launchChromium, startCallbackServer } from '../support/chromium.ts';
import { PASSWORD } from '../support/fixtures.ts';

const flowTest = createFlowTest(await launchChromium());
const { uri } = await startCallbackServer();

flowTest('a person declines an optional scope, and the app does not receive it', async ({ server, openSignedIn }) => {
  const app = await server.addApp({ name: 'Ledgerly', redirectUris: [uri], ownerBusinessId: server.acme.id });
  const request = { client_id: app.id, redirect_uri: uri, optional_scope: 'read:contacts' };

  const page = await openSignedIn(server.ada, server.authorizeUrl(request));
  await assertAccessible(page);
  await page.getByLabel('View CRM contacts and companies').uncheck();
  await clickButton(page, 'Allow');

  const code = new URL(page.url()).searchParams.get('code') ?? '';
  const { body } = await server.exchange(code, { redirect_uri: uri, client_id: app.id, client_secret: app.secret });
  assert.equal(body.scope, 'read:invoices');
});

flowTest('a platform admin pauses an app everywhere and resumes it', async ({ server, openSignedIn }) => {
  const root = await server.addUser('Root', [], true);
  const { access_token, refresh_token } = await server.connect();

  const page = await openSignedIn(root, '/settings/account');
  await clickLink(page, 'Platform');
  await page.getByRole('searchbox').fill('ledg');
  await clickButton(page, 'Search');
  await assertAccessible(page);
  await clickLink(page, 'Ledger');
  await assertAccessible(page);
  await clickLink(page, 'Pause…');
  await waitForText(page, /1 business/);
  await assertAccessible(page);
  await clickButton(page, 'Pause app');
  await waitForText(page, 'The app is paused everywhere.');
  assert.equal((await server.listInvoices(access_token)).body.reason, 'app_paused');
  assert.equal((await server.refresh(refresh_token)).body.reason, 'app_paused');

  await clickButton(page, 'Resume');
  await waitForText(page, 'The app is resumed.');
  assert.equal((await server.listInvoices(access_token)).status, 200);
});

flowTest('a platform admin finds a user among all, and disables them', async ({ server, openSignedIn }) => {
  const root = await server.addUser('Root', [], true);
  const { refresh_token } = await server.connect();

  const page = await openSignedIn(root, '/settings/account');
  await clickLink(page, 'Platform');
  for (const name of ['Businesses', 'Users']) {
    await clickLink(page, name);
    await assertAccessible(page);
  }
  await clickLink(page, 'Ada');
  await assertAccessible(page);
  await clickLink(page, 'Disable…');
  await assertAccessible(page);
  await clickButton(page, 'Disable user');
  await waitForText(page, 'The user is disabled and signed out everywhere.');

  assert.equal((await server.refresh(refresh_token)).body.reason, 'user_disabled');
});

flowTest(
  'an owner invites someone, makes them an admin and removes them',
  async ({ server, openSignedIn, openPage }) => {
    const page = await openSignedIn(server.ada, '/settings/members');
    await assertAccessible(page);
    await clickLink(page, 'Invite someone');
    await assertAccessible(page);
    await page.getByLabel('Email').fill('kim@example.com');
    await clickButton(page, 'Create invitation link');
    await assertAccessible(page);
    const link = (await page.locator('#invitation').textContent()) ?? '';
    await clickLink(page, 'Invitations');
    await waitForText(page, 'kim@example.com');
    await assertAccessible(page);

    const guest = await openPage(link);
    await assertAccessible(guest);
    await guest.getByLabel('Your name').fill('Kim');
    await guest.getByLabel('Password').fill(PASSWORD);
    await clickButton(guest, 'Create account and join');
    await waitForText(guest, /^Welcome/);

    await page.goto(`${server.web}/settings/members`);
    await clickLink(page, 'Manage Kim');
    await assertAccessible(page);
    await page.getByLabel(/^Admin/).check();
    await clickButton(page, 'Save');
    await waitForText(page, 'The role has been changed.');
    await guest.goto(`${server.web}/settings/developer`);
    await guest.getByRole('link', { name: 'New app' }).waitFor();

    await clickLink(page, 'Manage Kim');
    await clickLink(page, 'Remove…');
    await assertAccessible(page);
    await clickButton(page, 'Remove Kim');
    await waitForText(page, 'The member has been removed.');
    await guest.goto(`${server.web}/settings/members`);
    await waitForText(guest, 'You are not a member of any business yet.');
    await assertAccessible(guest);
  },
);

flowTest('an owner reads the audit log and exports it', async ({ server, openSignedIn }) => {
  await server.connect();
  const page = await openSignedIn(server.ada, '/settings/audit-log');
  await waitForText(page, 'Allowed the app');
  await assertAccessible(page);

  const download = page.waitForEvent('download');
  await clickLink(page, 'Export as CSV');
  assert.match(readFileSync(await (await download).path(), 'utf8'), /Ada.*Ledger/);
});

flowTest('a person changes their name and password, and ends a session elsewhere', async ({ server, openSignedIn }) => {
  const elsewhere = await openSignedIn(server.ada, '/settings/account');
  const page = await openSignedIn(server.ada, '/settings/account');
  await assertAccessible(page);
  await page.getByLabel('Name', { exact: true }).fill('Ada Lovelace');
  await clickButton(page, 'Change name');
  await waitForText(page, 'Your name has been changed.');

  await clickButton(page, /^End the session of/);
  await waitForText(page, 'The session has ended.');
  await elsewhere.goto(`${server.web}/settings/account`);
  assert.match(elsewhere.url(), /\/sign-in/);

  await page.getByLabel('Current password').fill(PASSWORD);
  await page.getByLabel('New password').fill('a whole new drawbridge');
  await clickButton(page, 'Change password');
  await waitForText(page, 'Your password has been changed.');
});
