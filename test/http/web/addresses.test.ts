import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { User } from '../../../src/accounts/users.ts';
import { MINUTE } from '../../../src/lib/clock.ts';
import type { Browser } from '../../support/browser.ts';
import { hashCheaply } from '../../support/cheap-hash.ts';
import { PASSWORD } from '../../support/fixtures.ts';
import { linkInMail, startMailServer } from '../../support/mail-server.ts';
import { startTestServer } from '../../support/test-server.ts';
import { registerByInvitation } from '../../support/unverified.ts';

const PATH = '/settings/address';
const smtp = await startMailServer();
const server = await startTestServer(smtp.env);
const NEW_PASSWORD = 'a whole new drawbridge';
const hashBefore = hashCheaply(PASSWORD);
let users = 0;
const newUser = () => server.addUser(`Person${++users}`, [[server.acme, 'member']]);
const newAddress = () => `new${++users}@example.org`;

/** The mail to an address that arrives after the first `since`. */
async function requestChange(browser: Browser, email: string, password = PASSWORD) {
  return browser.submit(await browser.open(PATH), PATH, { email, current_password: password });
}

async function linkFor(browser: Browser, email: string): Promise<string> {
  const since = smtp.received.length;
  const { text } = await requestChange(browser, email);
  assert.match(text, /An email with a link is on its way/);
  // The previous mail to the same account may have been sent just now.
  server.advanceClock(MINUTE);
  return linkInMail(await smtp.waitForMailTo(email, since), server.web);
}

async function confirm(browser: Browser, link: string) {
  const page = await browser.open(link);
  return page.status === 200 && page.url.endsWith(link) ? browser.submit(page, link) : page;
}

async function resetLinkFor({ email }: User): Promise<string> {
  const since = smtp.received.length;
  const browser = server.browse();
  await browser.submit(await browser.open('/password'), '/password', { email });
  for (let after = since; ; after++) {
    const mail = await smtp.waitForMailTo(email, after);
    if (mail.text?.includes('/password/')) return linkInMail(mail, server.web);
  }
}

async function rowOf({ id }: User) {
  return server.storage().durable.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
}

test('a new address takes effect when its link is confirmed, and every other session ends [D3]', async () => {
  const user = await newUser();
  const [browser, elsewhere] = [await server.signedIn(user), await server.signedIn(user)];
  const email = newAddress();
  const link = await linkFor(browser, email);
  await browser.open(link);
  const before = (await rowOf(user)).email;

  const done = await confirm(browser, link);

  assert.equal(before, user.email, 'the link alone changes nothing');
  assert.match(done.text, /Your address is confirmed\./);
  assert.equal((await rowOf(user)).email, email);
  assert.match((await elsewhere.open('/settings/account')).url, /\/sign-in/);
  assert.equal((await server.browse().signIn(user.email, PASSWORD)).status, 401);
  assert.match((await server.browse().signIn(email, PASSWORD)).url, /connected-apps$/);
});

test('the current address gets a notice when the change is requested, and when it has happened', async () => {
  const user = await newUser();
  const browser = await server.signedIn(user);
  const [since, email] = [smtp.received.length, newAddress()];
  const link = await linkFor(browser, email);

  const notice = await smtp.waitForMailTo(user.email, since);
  const later = smtp.received.length;
  await confirm(browser, link);
  const changed = await smtp.waitForMailTo(user.email, later);

  assert.ok(notice.text?.includes(email));
  assert.match(notice.text ?? '', /set a new password now: that stops the change/);
  assert.match(changed.subject ?? '', /has changed/);
});

test('a change needs the current password [D3]', async () => {
  const user = await newUser();
  const since = smtp.received.length;

  const { status, text } = await requestChange(await server.signedIn(user), newAddress(), 'not the password');

  assert.equal(status, 400);
  assert.match(text, /This is not your current password\./);
  assert.equal(smtp.received.length, since);
});

test('a link works once, for 30 minutes, and ends with a newer one or a new password [E4]', async () => {
  const user = await newUser();
  const browser = await server.signedIn(user);
  const first = await linkFor(browser, newAddress());
  const second = await linkFor(browser, newAddress());
  assert.equal((await confirm(browser, first)).status, 404);
  assert.equal((await confirm(browser, second)).status, 200);
  assert.equal((await confirm(browser, second)).status, 404);

  const late = await linkFor(browser, newAddress());
  server.advanceClock(29 * MINUTE);
  assert.equal((await confirm(browser, late)).status, 404);

  const stopped = await linkFor(browser, newAddress());
  const row = server.storage().durable.updateTable('users').set({ password_hash: 'another' });
  await row.where('id', '=', user.id).execute();
  assert.equal((await confirm(browser, stopped)).status, 404);
});

test('a link does nothing for another account, or for someone who is not signed in [E2]', async () => {
  const [user, other] = [await newUser(), await newUser()];
  const email = newAddress();
  const link = await linkFor(await server.signedIn(user), email);
  const browser = await server.signedIn(other);

  assert.equal((await confirm(browser, link)).status, 404);
  assert.equal((await browser.post(link, { csrf: await browser.csrf() })).status, 404, 'also without its page');
  assert.match((await server.browse().open(link)).url, /\/sign-in/);
  assert.deepEqual([(await rowOf(user)).email, (await rowOf(other)).email], [user.email, other.email]);
});

test('a mailed reset does not survive a change of address [E4]', async () => {
  const user = await newUser();
  const browser = await server.signedIn(user);
  const reset = await resetLinkFor(user);
  assert.equal((await server.browse().open(reset)).status, 200);

  await confirm(browser, await linkFor(browser, newAddress()));

  assert.equal((await server.browse().open(reset)).status, 404);
});

test('a link for a new address does not survive a mailed reset, nor the sessions that it ends [E4]', async () => {
  const user = await newUser();
  const browser = await server.signedIn(user);
  const link = await linkFor(browser, newAddress());
  const reset = await resetLinkFor(user);

  const visitor = server.browse();
  await visitor.submit(await visitor.open(reset), reset, { password: NEW_PASSWORD });
  const inOldSession = await confirm(browser, link);
  const fresh = server.browse();
  await fresh.signIn(user.email, NEW_PASSWORD);
  const inNewSession = await confirm(fresh, link);

  assert.match(inOldSession.url, /\/sign-in\?/);
  assert.equal(inNewSession.status, 404);
  assert.equal((await rowOf(user)).email, user.email);
});

test('of a reset and a change of address at the same time, one takes effect [E4]', async () => {
  for (let round = 0; round < 5; round++) {
    const user = await newUser();
    const browser = await server.signedIn(user);
    const email = newAddress();
    const link = await linkFor(browser, email);
    const reset = await resetLinkFor(user);
    const visitor = server.browse();
    const [confirmation, form] = [await browser.open(link), await visitor.open(reset)];

    await Promise.all([
      browser.submit(confirmation, link),
      visitor.submit(form, reset, { password: NEW_PASSWORD, end_grants: 'yes' }),
    ]);
    const row = await rowOf(user);

    const isChanged = row.email === email;
    const isReset = row.password_hash !== hashBefore;
    assert.equal(Number(isChanged) + Number(isReset), 1, `changed ${isChanged}, reset ${isReset}`);
  }
});

test('an address that another account has, or one that looks like it, gets the same response and no link [E3] [E6]', async () => {
  const [user, other] = [await newUser(), await newUser()];
  const browser = await server.signedIn(user);
  const since = smtp.received.length;
  const free = await requestChange(browser, newAddress());
  server.advanceClock(MINUTE);

  const alike = other.email.replace('example', 'exаmple');
  for (const email of [other.email, other.email.toUpperCase()]) {
    const taken = await requestChange(browser, email);
    assert.deepEqual([taken.status, taken.url, taken.text], [free.status, free.url, free.text]);
  }
  const mail = await smtp.waitForMailTo(other.email, since);
  assert.doesNotMatch(mail.text ?? '', /https?:/);
  assert.equal((await requestChange(browser, alike)).status, 400, 'a mixture of alphabets');
  assert.equal((await rowOf(user)).email, user.email);
});

test('an address that was taken after the link was sent is rejected, and nothing changes [E3]', async () => {
  const user = await newUser();
  const browser = await server.signedIn(user);
  const email = `late${++users}@example.com`;
  const link = await linkFor(browser, email);
  await server.addUser(`Late${users}`);

  const { status, text } = await confirm(browser, link);

  assert.equal(status, 400);
  assert.match(text, /Another account now has this address/);
  assert.equal((await rowOf(user)).email, user.email);
});

test('a user with an unproven address has a link sent, which verifies it [E2]', async () => {
  const owner = await server.signedIn();
  const email = `guest${++users}@example.net`;
  const before = smtp.received.length;
  const { user } = await registerByInvitation(server, { owner, name: 'Guest', email });
  const browser = await server.signedIn(user);
  // The invitation.
  await smtp.waitForMailTo(email, before);
  const since = smtp.received.length;
  await browser.submit(await browser.open(PATH), '/settings/verify-address');

  await confirm(browser, linkInMail(await smtp.waitForMailTo(email, since), server.web));

  assert.notEqual((await rowOf(user)).email_verified_at, null);
  assert.doesNotMatch((await browser.open(PATH)).text, /Address not verified/);
});

test('an account gets five of these mails to one address in an hour', async () => {
  const browser = await server.signedIn(await newUser());
  const email = newAddress();
  const statuses = [];
  for (let i = 0; i < 6; i++) statuses.push((await requestChange(browser, email)).status);

  assert.deepEqual(statuses, [200, 200, 200, 200, 200, 429]);
});

test('the request and the change are in the audit log', async () => {
  const user = await newUser();
  const browser = await server.signedIn(user);
  const email = newAddress();
  await confirm(browser, await linkFor(browser, email));

  const entries = server.storage().durable.selectFrom('audit_entries').selectAll().where('subject_id', '=', user.id);
  const found = (await entries.orderBy('id').execute()).map(({ action, detail }) => [action, JSON.parse(detail)]);

  assert.deepEqual(found, [
    ['user.email_change_requested', { to: email }],
    ['user.email_changed', { from: user.email, to: email }],
  ]);
});

test('without mail, the page says why the address cannot be changed', async () => {
  const off = await startTestServer();
  const browser = await off.signedIn();

  assert.match((await browser.open(PATH)).text, /does not send email, so a new address cannot be verified/);
  assert.equal((await browser.post(PATH, { csrf: await browser.csrf(), email: 'a@example.com' })).status, 404);
});
