import assert from 'node:assert/strict';
import { assertAccessible, clickButton, clickLink, createFlowTest, waitForText } from '../support/browser-flow.ts';
import { launchChromium, signIn } from '../support/chromium.ts';
import { PASSWORD } from '../support/fixtures.ts';
import { linkInMail } from '../support/mail-server.ts';

const NEW_PASSWORD = 'a whole new drawbridge';
const flowTest = createFlowTest(await launchChromium());
const MAIL = { sendsMail: true, worksWithoutScript: true };

flowTest(
  'a person who forgot the password gets a link by mail, sets a new one and signs in',
  async ({ server, smtp, openPage }) => {
    const page = await openPage('/settings/account');
    await clickLink(page, 'Forgot your password?');
    await assertAccessible(page);
    await page.getByLabel('Email').fill(server.ada.email);
    await clickButton(page, 'Send link');
    await waitForText(page, /If there is an account with this address/);
    await assertAccessible(page);

    await page.goto(server.web + linkInMail(await smtp.waitFor(1), server.web));
    await assertAccessible(page);
    await page.getByLabel('New password').fill(NEW_PASSWORD);
    await clickButton(page, 'Set password');
    await waitForText(page, 'Your new password is set.');
    await signIn(page, server.ada.email, NEW_PASSWORD);
    await page.goto(`${server.web}/settings/account`);
    await waitForText(page, 'A link that was sent by email was used, and a new password was set.');
  },
  MAIL,
);

flowTest(
  'without mail, the page tells a person who forgot the password whom to ask',
  async ({ server, openSignedIn, openPage }) => {
    const mia = await server.addUser('Mia', [[server.acme, 'member']]);
    const page = await openPage('/sign-in');
    await clickLink(page, 'Forgot your password?');
    await waitForText(page, /ask that owner\. They can create the link on your page under Members\./);
    await assertAccessible(page);

    const owner = await openSignedIn(server.ada, `/settings/members/${mia.id}`);
    await clickButton(owner, 'Create password link');
    await page.goto((await owner.locator('#password-link').textContent()) ?? '');
    await page.getByLabel('New password').fill(NEW_PASSWORD);
    await clickButton(page, 'Set password');
    await signIn(page, mia.email, NEW_PASSWORD);
    assert.match(page.url(), /connected-apps/);
  },
  { worksWithoutScript: true },
);

flowTest(
  'an invited person joins with the link in the mail, and the address counts as verified',
  async ({ server, smtp, openSignedIn, openPage }) => {
    const owner = await openSignedIn(server.ada, '/settings/members/invite');
    await owner.getByLabel('Email').fill('vera@acme.example');
    await clickButton(owner, 'Create invitation link');
    await waitForText(owner, /An email with a link is on its way to vera@acme\.example/);
    await assertAccessible(owner);

    const page = await openPage(linkInMail(await smtp.waitFor(1), server.web));
    await assertAccessible(page);
    await page.getByLabel('Your name').fill('Vera');
    await page.getByLabel('Password').fill(NEW_PASSWORD);
    await clickButton(page, 'Create account and join');
    await waitForText(page, /^Welcome/);
    await page.goto(`${server.web}/settings/address`);
    await waitForText(page, 'vera@acme.example');
    assert.equal(await page.getByText('Address not verified').count(), 0);
  },
  MAIL,
);

flowTest(
  'a user changes the address by a link in a mail, and signs in with the new one',
  async ({ server, smtp, openSignedIn, openPage }) => {
    const page = await openSignedIn(server.ada, '/settings/account');
    await clickLink(page, 'Change the address');
    await assertAccessible(page);
    await page.getByLabel('New address').fill('ada@new.example');
    await page.getByLabel('Current password').fill(PASSWORD);
    await clickButton(page, 'Send link');
    await waitForText(page, /An email with a link is on its way/);

    await smtp.waitFor(2);
    const mail = smtp.received.find(({ recipients }) => recipients.includes('ada@new.example'));
    assert.ok(mail);
    await page.goto(server.web + linkInMail(mail, server.web));
    await assertAccessible(page);
    await clickButton(page, 'Use this address');
    await waitForText(page, 'Your address is confirmed.');
    await assertAccessible(page);
    const other = await openPage('/settings/account');
    await signIn(other, 'ada@new.example', PASSWORD);
    await waitForText(other, 'ada@new.example');
  },
  MAIL,
);

flowTest(
  'a user exports their data, reads what a deletion ends, and deletes the account',
  async ({ server, openSignedIn }) => {
    const mia = await server.addUser('Mia', [[server.acme, 'member']]);
    const page = await openSignedIn(mia, '/settings/account');
    const download = page.waitForEvent('download');
    await clickLink(page, 'Export as JSON');
    assert.equal((await download).suggestedFilename(), 'account.json');
    await clickLink(page, 'Delete account…');
    await waitForText(page, 'your membership of Acme');
    await assertAccessible(page);
    await page.getByLabel('Current password').fill(PASSWORD);
    await clickButton(page, 'Delete account');
    await waitForText(page, 'Your account is deleted.');
    await assertAccessible(page);
  },
  { worksWithoutScript: true },
);
