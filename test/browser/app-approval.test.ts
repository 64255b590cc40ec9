import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { assertAccessible, clickButton, clickLink, createFlowTest, waitForText } from '../support/browser-flow.ts';
import { launchChromium, signIn, startCallbackServer } from '../support/chromium.ts';
import { PASSWORD } from '../support/fixtures.ts';
import type { TestServer } from '../support/test-server.ts';

const flow = createFlowTest(await launchChromium());
const { uri } = await startCallbackServer();

/** An app that requests invoices, and its authorize URL. */
async function addAsking(server: TestServer) {
  const app = await server.addApp({ name: 'Ledgerly', redirectUris: [uri], ownerBusinessId: server.acme.id });
  return server.authorizeUrl({ client_id: app.id, redirect_uri: uri });
}

async function requireApproval(page: Page): Promise<void> {
  await clickLink(page, 'Decide about apps');
  await assertAccessible(page);
  await page.getByLabel(/Members may connect only apps that an owner has approved/).check();
  await clickButton(page, 'Save');
  await waitForText(page, 'Saved.');
}

flow(
  'a member asks for an app, an owner approves it, and the member connects it [C10]',
  async ({ server, openSignedIn }) => {
    const mia = await server.addUser('Mia', [[server.acme, 'member']]);
    const address = await addAsking(server);
    const owner = await openSignedIn(server.ada, '/settings/business');
    await requireApproval(owner);

    const page = await openSignedIn(mia, address);
    await waitForText(page, 'An owner has to approve Ledgerly');
    await assertAccessible(page);
    await page.getByLabel('Why you need it (optional)').fill('To send invoices');
    await clickButton(page, 'Ask for approval');
    await waitForText(page, /You asked for approval\./);
    await assertAccessible(page);

    await owner.goto(`${server.web}/settings/business`);
    await clickLink(owner, 'Review 1 request');
    await waitForText(owner, 'To send invoices');
    await assertAccessible(owner);
    await clickButton(owner, 'Approve for everyone');
    await waitForText(owner, 'Approved for everyone.');
    await assertAccessible(owner);

    await page.goto(address);
    await clickButton(page, 'Allow');
    await page.waitForURL(/code=/);
  },
  { worksWithoutScript: true },
);

flow(
  'an owner refuses a request with a reason, which the member sees and the app receives',
  async ({ server, openSignedIn }) => {
    const mia = await server.addUser('Mia', [[server.acme, 'member']]);
    const address = await addAsking(server);
    const owner = await openSignedIn(server.ada, '/settings/business');
    await requireApproval(owner);
    const page = await openSignedIn(mia, address);
    // Enter submits the request, and not the button that returns to the app.
    await page.getByLabel('Why you need it (optional)').press('Enter');
    await waitForText(page, /You asked for approval\./);

    await owner.reload();
    await owner.getByText('Refuse…').click();
    await owner.getByLabel('Reason (optional)').fill('We use Books');
    await owner.keyboard.press('Enter');
    await waitForText(owner, /Refused\. The member sees your reason/);
    await assertAccessible(owner);

    await page.goto(address);
    await waitForText(page, 'Their reason: We use Books');
    await assertAccessible(page);
    await clickButton(page, 'Back to Ledgerly');
    await page.waitForURL(/reason=app_refused/);
    assert.equal(new URL(page.url()).searchParams.get('error'), 'access_denied');
  },
  { worksWithoutScript: true },
);

flow(
  'an owner blocks an app from the list of connected apps, and unblocks it [C11]',
  async ({ server, openSignedIn, openPage }) => {
    const mia = await server.addUser('Mia', [[server.acme, 'member']]);
    const address = await addAsking(server);
    const page = await openSignedIn(mia, address);
    await clickButton(page, 'Allow');
    await page.waitForURL(/code=/);

    const owner = await openSignedIn(server.ada, '/settings/connected-apps');
    await clickLink(owner, 'Ledgerly, Mia, Acme');
    await clickLink(owner, 'Block Ledgerly');
    await waitForText(owner, 'Connected by 1 person now.');
    await assertAccessible(owner);
    await clickButton(owner, 'Block app');
    await waitForText(owner, /The app is blocked\./);
    await assertAccessible(owner);

    const late = await openPage(address);
    await signIn(late, mia.email, PASSWORD);
    await waitForText(late, 'Ledgerly is blocked in Acme');
    await assertAccessible(late);
    await owner.getByRole('button', { name: 'Unblock: Ledgerly' }).click();
    await waitForText(owner, 'The app is no longer blocked.');
    await late.goto(address);
    await waitForText(late, /wants to access/);
  },
  { worksWithoutScript: true },
);

flow('a platform admin sets the default for every business', async ({ server, openSignedIn }) => {
  const root = await server.addUser('Root', [], true);
  const page = await openSignedIn(root, '/settings/account');
  await page.goto(`${server.web}/platform/settings`);
  await assertAccessible(page);
  await page.getByLabel(/Only owners and admins may connect apps/).check();
  await page.getByLabel(/Owners cannot change this rule/).check();
  await page.locator('form', { hasText: 'Who may connect apps' }).getByRole('button', { name: 'Save' }).click();
  await waitForText(page, 'Saved.');

  const owner = await openSignedIn(server.ada, '/settings/account');
  await owner.goto(`${server.web}/settings/business/apps`);
  await waitForText(owner, /has decided this for every business\./);
  await assertAccessible(owner);
});
