import assert from 'node:assert/strict';
import { assertAccessible, clickButton, clickLink, createFlowTest, waitForText } from '../support/browser-flow.ts';
import { launchChromium } from '../support/chromium.ts';
import { PASSWORD } from '../support/fixtures.ts';
import { linkInMail, type MailServer, type ReceivedMail } from '../support/mail-server.ts';

const flow = createFlowTest(await launchChromium());
const NOTICES = { sendsMail: true, wantsNotices: true, worksWithoutScript: true };

/** The mail of a user with this subject. */
async function mailTo(smtp: MailServer, { email }: { email: string }, subject: RegExp): Promise<ReceivedMail> {
  for (let count = 1; ; count++) {
    const mail = await smtp.waitFor(count);
    if (mail.recipients.includes(email) && subject.test(mail.subject ?? '')) return mail;
  }
}

flow(
  'a sign-in from a new browser and a new password are mailed, and listed on the account page that the mail leads to',
  async ({ server, smtp, openSignedIn }) => {
    const page = await openSignedIn(server.ada, '/settings/account');
    const signedIn = await mailTo(smtp, server.ada, /^New sign-in/);
    assert.match(signedIn.text ?? '', /If this was not you, change your password/);

    await page.getByLabel('Current password').fill(PASSWORD);
    await page.getByLabel('New password').fill('a whole new drawbridge');
    await clickButton(page, 'Change password');
    await waitForText(page, /password has been changed|password is changed/i);
    const changed = await mailTo(smtp, server.ada, /^Password changed/);

    await page.goto(server.web + linkInMail(changed, server.web));
    const notices = page.locator('#notices');
    await notices.getByText('New sign-in').waitFor();
    await notices.getByText('Password changed').waitFor();
    await assertAccessible(page);
  },
  NOTICES,
);

flow(
  'an owner receives a mail about a member’s request for an app, decides, and the member receives the decision by mail [C10]',
  async ({ server, smtp, openSignedIn }) => {
    const mia = await server.addUser('Mia', [[server.acme, 'member']]);
    const owner = await openSignedIn(server.ada, '/settings/business');
    await clickLink(owner, 'Decide about apps');
    await owner.getByLabel(/Members may connect only apps that an owner has approved/).check();
    await clickButton(owner, 'Save');
    await waitForText(owner, 'Saved.');

    const page = await openSignedIn(mia, server.authorizeUrl());
    await clickButton(page, 'Ask for approval');
    await waitForText(page, /You asked for approval\./);
    const mail = await mailTo(smtp, server.ada, /^Approval requested/);
    assert.match(mail.text ?? '', /“Mia” wants to connect “Ledger” to “Acme”\./);

    await owner.goto(server.web + linkInMail(mail, server.web));
    await clickButton(owner, 'Approve for Mia');
    await waitForText(owner, 'Approved for this person. They can connect the app now.');

    const approved = await mailTo(smtp, mia, /^App approved/);
    await page.goto(server.web + linkInMail(approved, server.web));
    await page.getByRole('heading', { name: 'Connected apps' }).waitFor();
    await page.goto(`${server.web}/settings/account`);
    await waitForText(page, 'An owner of “Acme” has approved your request to connect “Ledger”.');
    await assertAccessible(page);
  },
  NOTICES,
);
