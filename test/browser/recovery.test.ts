import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { giveAuthenticator, launchChromium, newCallback, signIn } from '../support/chromium.ts';
import { assertOpen, follow, newJourneys, press, read } from '../support/journey.ts';
import { PASSWORD } from '../support/people.ts';
import type { TestServer } from '../support/test-server.ts';

const VICTIM = 'vera@acme.example';
const NEW_PASSWORD = 'a whole new drawbridge';
const journey = newJourneys(await launchChromium());
const { uri } = await newCallback();

async function invite(page: Page, server: TestServer, email: string): Promise<string> {
  await page.goto(`${server.web}/settings/members/invite`);
  await page.getByLabel('Email').fill(email);
  await press(page, 'Create invitation link');
  return (await page.locator('#invitation').textContent()) ?? '';
}

/** With an invitation to a business of their own, someone makes an account for another person’s address, and adds a passkey. */
async function hijack(page: Page, server: TestServer): Promise<void> {
  await giveAuthenticator(page);
  await page.getByLabel('Your name').fill('Vera');
  await page.getByLabel('Password').fill(PASSWORD);
  await press(page, 'Create account and join');
  await read(page, /^Welcome/);
  await page.goto(`${server.web}/settings/account`);
  await press(page, 'Add a passkey');
  await read(page, 'The passkey has been added.');
}

journey(
  'an attacker who made an account for someone else’s address is signed out by the reset, and comes back by no way [E1] [E2]',
  async ({ server, arrive, wander }) => {
    const root = await server.addUser('Root', [], true);
    const evil = await server.addBusiness('Evil');
    const mallory = await server.addUser('Mallory', [[evil, 'owner']]);
    const app = await server.addApp({ name: 'Siphon', redirectUris: [uri], ownerBusinessId: null });

    // The attacker prepares, with an invitation of their own.
    const attacker = await wander(await invite(await arrive(mallory, '/settings/members'), server, VICTIM));
    await hijack(attacker, server);

    // The victim's company invites the victim, who finds an account in the way. The attacker cannot join with it.
    const invitation = await invite(await arrive(server.ada, '/settings/members'), server, VICTIM);
    const victim = await wander(invitation);
    await victim.getByLabel('Your name').fill('Vera');
    await victim.getByLabel('Password').fill(NEW_PASSWORD);
    await press(victim, 'Create account and join');
    await read(victim, 'There is an account with this email address already.');
    await assertOpen(victim);
    await attacker.goto(invitation);
    await read(attacker, 'Your email address is not verified yet');
    await assertOpen(attacker);

    // A platform admin gives the victim a link.
    const admin = await arrive(root, '/settings/account');
    await admin.goto(`${server.web}/platform/users?q=${VICTIM}`);
    await read(admin, 'Address not verified');
    await follow(admin, 'Vera');
    await assertOpen(admin);
    await press(admin, 'Create password link');
    await assertOpen(admin);
    await victim.goto((await admin.locator('#password-link').textContent()) ?? '');
    await assertOpen(victim);
    await victim.getByLabel('New password').fill(NEW_PASSWORD);
    await press(victim, 'Set password');
    await read(victim, 'Your new password is set.');

    // The attacker's session has ended, and neither the passkey nor the password signs in.
    await attacker.goto(`${server.web}/settings/account`);
    assert.match(attacker.url(), /\/sign-in/);
    await press(attacker, 'Use a passkey instead');
    await read(attacker, 'This passkey did not sign you in.');
    await signIn(attacker, VICTIM, PASSWORD);
    await read(attacker, 'The email or the password is wrong.');
    await attacker.goto(server.authorizeUrl({ client_id: app.id, redirect_uri: uri }));
    assert.match(attacker.url(), /\/sign-in/);

    // The victim joins, and reads what was done to the account.
    await victim.goto(invitation);
    await follow(victim, 'Sign in to join');
    await signIn(victim, VICTIM, NEW_PASSWORD);
    await press(victim, 'Join as Vera');
    await read(victim, /^Welcome/);
    await victim.goto(`${server.web}/settings/account`);
    await read(victim, /A platform admin of Gatehouse created a link to set a new password\./);
    await assertOpen(victim);
  },
  { rejects: true },
);
