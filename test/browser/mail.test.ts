import assert from 'node:assert/strict';
import { assertAccessible, clickButton, clickLink, createFlowTest, waitForText } from '../support/browser-flow.ts';
import { launchChromium, signIn } from '../support/chromium.ts';
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

    await page.goto(server.web + linkInMail(await smtp.has(1), server.web));
    await assertAccessible(page);
    await page.getByLabel('New password').fill(NEW_PASSWORD);
    await clickButton(page, 'Set password');
    await waitForText(page, 'Your new password is set.');
    await signIn(page, server.ada.email, NEW_PASSWORD);
    await page.goto(`${server.web}/settings/account`);
    await waitForText(page, 'A link that was sent by mail was used, and a new password was set.');
  },
  MAIL,
);

flowTest(
  'without mail, a person who forgot the password learns who can help',
  async ({ server, openSignedIn, openPage }) => {
    const mia = await server.addUser('Mia', [[server.acme, 'member']]);
    const page = await openPage('/sign-in');
    await clickLink(page, 'Forgot your password?');
    await waitForText(page, /that owner can: on the page of the member, under Members\./);
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
