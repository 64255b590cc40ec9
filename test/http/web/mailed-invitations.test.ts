import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findUserByEmail } from '../../../src/accounts/users.ts';
import { MINUTE } from '../../../src/lib/clock.ts';
import type { Browser } from '../../support/browser.ts';
import { PASSWORD } from '../../support/fixtures.ts';
import { invitationLink, inviteInBrowser } from '../../support/invitations.ts';
import { linkInMail, startMailServer } from '../../support/mail-server.ts';
import { startTestServer } from '../../support/test-server.ts';
import { registerByInvitation } from '../../support/unverified.ts';

const smtp = await startMailServer();
const server = await startTestServer(smtp.env);
const MEMBERS = '/settings/members';
const owner = await server.signedIn();
let users = 0;
const newAddress = () => `guest${++users}@example.net`;

/** Both links of a new invitation. */
async function invite(email: string, by: Browser = owner) {
  const since = smtp.received.length;
  const shown = await inviteInBrowser(by, { email });
  const mail = await smtp.waitFor(since + 1);
  assert.deepEqual(mail.recipients, [email]);
  return { shown, mailed: linkInMail(mail, server.web), mail };
}

async function register(link: string, name = 'Guest') {
  const browser = server.browse();
  const page = await browser.open(link);
  return browser.submit(page, `${link}/account`, { name, password: PASSWORD });
}

async function isVerified(email: string): Promise<boolean> {
  const user = await findUserByEmail(server.storage().durable, email);
  assert.ok(user, email);
  return user.emailVerifiedAt !== null;
}

test('an invitation is mailed, with another link than the owner sees; the mailed one verifies the address [E2]', async () => {
  const [first, second] = [newAddress(), newAddress()];
  const { shown, mailed, mail } = await invite(first);
  const other = await invite(second);

  await register(mailed);
  await register(other.shown);

  assert.notEqual(shown, mailed);
  assert.match(mail.text ?? '', /join the business “Acme” at Gatehouse\. The invitation is from “Ada”\./);
  assert.deepEqual([await isVerified(first), await isVerified(second)], [true, false]);
});

test('both links of an invitation end with it [E4]', async () => {
  const { shown, mailed } = await invite(newAddress());
  await register(mailed);

  assert.equal((await server.browse().open(mailed)).status, 410);
  assert.equal((await server.browse().open(shown)).status, 410);
});

test('a mailed link ends after 30 minutes, and its page sends a new one, which ends the old one [E4]', async () => {
  const email = newAddress();
  const { shown, mailed } = await invite(email);
  const browser = server.browse();
  const early = await browser.open(mailed);
  server.advanceClock(30 * MINUTE);
  const late = await browser.submit(early, `${mailed}/account`, { name: 'Late', password: PASSWORD });
  const page = await browser.open(mailed);
  const since = smtp.received.length;
  const sent = await browser.submit(page, `${mailed}/mail`);
  const fresh = linkInMail(await smtp.waitFor(since + 1), server.web);

  assert.equal(late.status, 410);
  assert.match(page.text, /This link has expired/);
  assert.match(sent.text, /An email with a new link to the invitation is on its way/);
  assert.equal((await server.browse().open(mailed)).status, 404);
  assert.equal((await server.browse().open(shown)).status, 200);
  await register(fresh);
  assert.equal(await isVerified(email), true);
});

test('the mailed link verifies the unproven account of its address, and no other account [E2]', async () => {
  const bolt = await server.addBusiness(`Bolt ${++users}`);
  const boss = await server.signedIn(await server.addUser(`Boss${users}`, [[bolt, 'owner']]));
  const email = newAddress();
  const since = smtp.received.length;
  const { browser } = await registerByInvitation(server, { owner, name: 'Guest', email });
  await smtp.waitFor(since + 1);
  const { shown, mailed } = await invite(email, boss);

  const page = await browser.open(shown);
  const stranger = await (await server.signedIn(await server.addUser(`Else${++users}`))).open(mailed);
  const joined = await browser.submit(await browser.open(mailed), mailed);

  assert.match(page.text, /Your email address is not verified yet/);
  assert.match(page.text, /Have a link sent to your address/);
  assert.match(stranger.text, /This invitation is for a different address/);
  assert.match(joined.text, /Welcome to the business/);
  assert.equal(await isVerified(email), true);
});

test('a form that is sent twice creates one invitation and sends one mail', async () => {
  const countMails = async () => (await server.storage().durable.selectFrom('mails').select('id').execute()).length;
  const before = await countMails();
  const page = await owner.open(`${MEMBERS}/invite`);
  const typed = { role: 'member', email: newAddress() };
  const links = [];
  for (let i = 0; i < 2; i++) links.push(invitationLink(await owner.submit(page, `${MEMBERS}/invite`, typed)));

  assert.equal(links[1], links[0]);
  assert.equal(await countMails(), before + 1);
});

test('the sixth mail to one address in an hour is not sent, and the owner still gets a link', async () => {
  const email = newAddress();
  const pages = [];
  for (let i = 0; i < 6; i++) {
    const page = await owner.open(`${MEMBERS}/invite`);
    pages.push((await owner.submit(page, `${MEMBERS}/invite`, { role: 'member', email })).text);
  }

  assert.match(pages[4] ?? '', /An email with a link is on its way/);
  assert.doesNotMatch(pages[5] ?? '', /An email with a link is on its way/);
  assert.match(pages[5] ?? '', /<code id="invitation">/);
});
