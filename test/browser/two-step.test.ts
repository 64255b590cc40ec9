import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { assertAccessible, clickButton, clickLink, createFlowTest, waitForText } from '../support/browser-flow.ts';
import { addVirtualAuthenticator, launchChromium, signIn, signOut } from '../support/chromium.ts';
import { PASSWORD } from '../support/fixtures.ts';
import { startTestServer, type TestServer } from '../support/test-server.ts';
import { createApp } from '../support/two-step.ts';

const chromium = await launchChromium();
const flow = createFlowTest(chromium);

/** Sets up two-step sign-in on the page that is open. */
async function setUp(server: TestServer, page: Page) {
  const secret = await page.locator('#key').textContent();
  const app = createApp(server, secret ?? '');
  await page.getByLabel('Code', { exact: true }).fill(app.code());
  await clickButton(page, 'Turn on two-step sign-in');
  await waitForText(page, 'Save your recovery codes');
  const codes = await page.locator('.codes code').allTextContents();
  assert.equal(codes.length, 10);
  return { app, codes };
}

flow(
  'a person sets up two-step sign-in, signs in with a code and with a recovery code, and removes it [E5]',
  async ({ server, openSignedIn }) => {
    const page = await openSignedIn(server.ada, '/settings/account');
    await clickLink(page, 'Set up two-step sign-in');
    await assertAccessible(page);
    const { app, codes } = await setUp(server, page);
    await assertAccessible(page);
    await clickLink(page, 'I have saved them');
    await waitForText(page, '10 recovery codes left.');
    await signOut(page);

    await signIn(page, server.ada.email, PASSWORD);
    await page.getByLabel('Code', { exact: true }).fill('000000');
    await clickButton(page, 'Sign in');
    await waitForText(page, 'This code is wrong, or has been used.');
    await assertAccessible(page);
    await page.getByLabel('Code', { exact: true }).fill(app.freshCode());
    await clickButton(page, 'Sign in');
    await page.waitForURL(/connected-apps/);
    await signOut(page);

    await signIn(page, server.ada.email, PASSWORD);
    await page.getByText('Use a recovery code').click();
    await page.getByLabel('Recovery code').fill(codes[0] ?? '');
    await assertAccessible(page);
    await page.locator('details').getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL(/connected-apps/);

    await page.goto(`${server.web}/settings/two-step`);
    await waitForText(page, 'You have 9 recovery codes left.');
    await assertAccessible(page);
    await clickLink(page, 'Remove…');
    await assertAccessible(page);
    await page.getByLabel('Code', { exact: true }).fill(app.freshCode());
    await page.getByRole('button', { name: 'Remove' }).first().click();
    await waitForText(page, 'The authenticator app has been removed.');
  },
  { rejects: true },
);

flow(
  'an owner requires two-step sign-in, and a member sets it up before they connect an app [E5]',
  async ({ server, openSignedIn, openPage }) => {
    const member = await server.addUser('Mia', [[server.acme, 'member']]);
    const owner = await openSignedIn(server.ada, '/settings/business');
    await assertAccessible(owner);
    await clickButton(owner, 'Require two-step sign-in');
    await waitForText(owner, '2 of 2 members have neither an authenticator app nor a passkey.');
    await assertAccessible(owner);
    await clickButton(owner, 'Require two-step sign-in');
    await waitForText(owner, 'Set it up to continue.');
    await setUp(server, owner);
    await clickLink(owner, 'I have saved them');
    await waitForText(owner, 'With an authenticator app or a passkey: 1 of 2 members.');

    const page = await openPage(server.authorizeUrl());
    await signIn(page, member.email, PASSWORD);
    await waitForText(page, 'Set it up to continue.');
    await assertAccessible(page);
    await setUp(server, page);
    await clickLink(page, 'I have saved them');
    await waitForText(page, /wants to access/);
  },
  { worksWithoutScript: true },
);

flow('a passkey confirms changes, and is the second step if it is required [E5]', async ({ server, openPage }) => {
  const page = await openPage('/settings/account');
  await addVirtualAuthenticator(page);
  await signIn(page, server.ada.email, PASSWORD);
  await clickButton(page, 'Add a passkey');
  await waitForText(page, 'The passkey has been added.');
  await page.goto(`${server.web}/settings/business`);
  await clickButton(page, 'Require two-step sign-in');
  await waitForText(page, '0 of 1 member');
  await clickButton(page, 'Require two-step sign-in');
  await waitForText(page, 'Two-step sign-in is now required.');
  await signOut(page);

  await signIn(page, server.ada.email, PASSWORD);
  await waitForText(page, 'Sign in with your passkey.');
  await assertAccessible(page);
  await clickButton(page, 'Use a passkey instead');
  await page.waitForURL(/connected-apps/);
  await page.goto(`${server.web}/settings/two-step`);
  await setUp(server, page);
  await page.goto(`${server.web}/settings/two-step/remove`);
  await assertAccessible(page);
  await clickButton(page, 'Confirm with a passkey');
  await waitForText(page, 'The authenticator app has been removed.');
});

test('without JavaScript two-step sign-in is set up and used in the same way [E5]', async () => {
  const server = await startTestServer();
  const { page } = await chromium.newPage({ javaScriptEnabled: false, viewport: { width: 360, height: 740 } });
  await page.goto(`${server.web}/settings/two-step`);
  await signIn(page, server.ada.email, PASSWORD);
  const { app, codes } = await setUp(server, page);
  assert.equal(await page.getByRole('button', { name: 'Copy' }).isVisible(), false);
  await clickLink(page, 'I have saved them');
  await signOut(page);

  await signIn(page, server.ada.email, PASSWORD);
  await page.getByLabel('Code', { exact: true }).fill(app.freshCode());
  await clickButton(page, 'Sign in');
  await page.waitForURL(/connected-apps/);
  await signOut(page);
  await signIn(page, server.ada.email, PASSWORD);
  await page.getByText('Use a recovery code').click();
  await page.getByLabel('Recovery code').fill(codes[5] ?? '');
  await page.locator('details').getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL(/connected-apps/);
});
