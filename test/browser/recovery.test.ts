import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { assertAccessible, clickButton, clickLink, createFlowTest, waitForText } from '../support/browser-flow.ts';
import { addVirtualAuthenticator, launchChromium, signIn, startCallbackServer } from '../support/chromium.ts';
import { PASSWORD } from '../support/fixtures.ts';
import type { TestServer } from '../support/test-server.ts';

const VICTIM = 'vera@acme.example';
const NEW_PASSWORD = 'a whole new drawbridge';
const flowTest = createFlowTest(await launchChromium());
const { uri } = await startCallbackServer();

async function invite(page: Page, server: TestServer, email: string): Promise<string> {
  await page.goto(`${server.web}/settings/members/invite`);
  await page.getByLabel('Email').fill(email);
  await clickButton(page, 'Create invitation link');
  return (await page.locator('#invitation').textContent()) ?? '';
}

/** An attacker invites another person’s address to the attacker's business, creates the account, and adds a passkey. */
async function hijack(page: Page, server: TestServer): Promise<void> {
  await addVirtualAuthenticator(page);
  await page.getByLabel('Your name').fill('Vera');
  await page.getByLabel('Password').fill(PASSWORD);
  await clickButton(page, 'Create account and join');
  await waitForText(page, /^Welcome/);
  await page.goto(`${server.web}/settings/account`);
  await clickButton(page, 'Add a passkey');
  await waitForText(page, 'The passkey has been added.');
}

flowTest(
  'an attacker who created an account for someone else’s address is signed out by the reset, and cannot sign in again [E1] [E2]',
  async ({ server, openSignedIn, openPage }) => {
    const root = await server.addUser('Root', [], true);
    const evil = await server.addBusiness('Evil');
    const mallory = await server.addUser('Mallory', [[evil, 'owner']]);
    const app = await server.addApp({ name: 'Siphon', redirectUris: [uri], ownerBusinessId: null });

    // The attacker prepares the account with an invitation to their own business.
    const attacker = await openPage(await invite(await openSignedIn(mallory, '/settings/members'), server, VICTIM));
    await hijack(attacker, server);

    // The victim's company invites the victim, whose address already has an account. The attacker cannot join with it.
    const invitation = await invite(await openSignedIn(server.ada, '/settings/members'), server, VICTIM);
    const victim = await openPage(invitation);
    await victim.getByLabel('Your name').fill('Vera');
    await victim.getByLabel('Password').fill(NEW_PASSWORD);
    await clickButton(victim, 'Create account and join');
    await waitForText(victim, 'There is already an account with this email address.');
    await assertAccessible(victim);
    await attacker.goto(invitation);
    await waitForText(attacker, 'Your email address is not verified yet');
    await assertAccessible(attacker);

    // A platform admin gives the victim a link.
    const admin = await openSignedIn(root, '/settings/account');
    await admin.goto(`${server.web}/platform/users?q=${VICTIM}`);
    await waitForText(admin, 'Address not verified');
    await clickLink(admin, 'Vera');
    await assertAccessible(admin);
    await clickButton(admin, 'Create password link');
    await assertAccessible(admin);
    await victim.goto((await admin.locator('#password-link').textContent()) ?? '');
    await assertAccessible(victim);
    await victim.getByLabel('New password').fill(NEW_PASSWORD);
    await clickButton(victim, 'Set password');
    await waitForText(victim, 'Your new password is set.');

    // The attacker's session has ended, and neither the passkey nor the password signs in.
    await attacker.goto(`${server.web}/settings/account`);
    assert.match(attacker.url(), /\/sign-in/);
    await clickButton(attacker, 'Use a passkey instead');
    await waitForText(attacker, 'This passkey did not sign you in.');
    await signIn(attacker, VICTIM, PASSWORD);
    await waitForText(attacker, 'The email or password is wrong.');
    await attacker.goto(server.authorizeUrl({ client_id: app.id, redirect_uri: uri }));
    assert.match(attacker.url(), /\/sign-in/);

    // The victim joins, and reads the history of the account.
    await victim.goto(invitation);
    await clickLink(victim, 'Sign in to join');
    await signIn(victim, VICTIM, NEW_PASSWORD);
    await clickButton(victim, 'Join as Vera');
    await waitForText(victim, /^Welcome/);
    await victim.goto(`${server.web}/settings/account`);
    await waitForText(victim, /A platform admin of Gatehouse created a link to set a new password\./);
    await assertAccessible(victim);
  },
  { rejects: true },
);
