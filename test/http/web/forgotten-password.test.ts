import assert from 'node:assert/strict';
import { test } from 'node:test';
import { markUserDisabled, type User } from '../../../src/accounts/users.ts';
import { MINUTE } from '../../../src/lib/clock.ts';
import { hashSecret } from '../../../src/lib/secrets.ts';
import { PASSWORD } from '../../support/fixtures.ts';
import { linkInMail, startMailServer } from '../../support/mail-server.ts';
import { addUserWithPasskey, passkeysOf } from '../../support/passkeys.ts';
import { sendRaw } from '../../support/raw-http.ts';
import { startTestServer } from '../../support/test-server.ts';
import { addTwoStepUser, enterCode, isSignedIn } from '../../support/two-step.ts';
import { registerByInvitation } from '../../support/unverified.ts';

const NEW_PASSWORD = 'a whole new drawbridge';
const SENT = /If there is an account with this address, an email with a link/;
const smtp = await startMailServer();
const server = await startTestServer(smtp.env);
let users = 0;
const newUser = () => server.addUser(`Person${++users}`, [[server.acme, 'member']]);

async function requestMail(email: string, headers: Record<string, string> = {}) {
  const browser = server.browse();
  return browser.submit(await browser.open('/password'), '/password', { email }, headers);
}

async function linkFor({ email }: User): Promise<string> {
  const count = smtp.received.length;
  await requestMail(email);
  // The previous mail to the same person may have been sent just now.
  server.advanceClock(MINUTE);
  const mail = await smtp.waitFor(count + 1);
  assert.deepEqual(mail.recipients, [email]);
  return linkInMail(mail, server.web);
}

async function use(link: string, password = NEW_PASSWORD, fields: Record<string, string> = { end_grants: 'yes' }) {
  const browser = server.browse();
  const page = await browser.open(link);
  return page.status === 200 ? browser.submit(page, link, { password, ...fields }) : page;
}

test('the sign-in page leads to a form that mails a link, with which the user sets a new password', async () => {
  const user = await newUser();
  const signIn = await server.browse().open('/sign-in');
  const link = await linkFor(user);
  const { text } = await server.browse().open(link);
  const page = await use(link);

  assert.match(signIn.text, /<a href="\/password">Forgot your password\?<\/a>/);
  assert.doesNotMatch(signIn.text, /owner/);
  assert.match(text, new RegExp(`<strong><bdi>${user.email}</bdi></strong>`));
  assert.match(page.text, /Your new password is set\. Sign in with it\./);
  assert.equal((await server.browse().signIn(user.email, PASSWORD)).status, 401);
  assert.match((await server.browse().signIn(user.email, NEW_PASSWORD)).url, /connected-apps$/);
});

test('the mail says where the request came from', async () => {
  const user = await newUser();
  const count = smtp.received.length;
  await requestMail(user.email, {
    'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0',
  });

  const { text } = await smtp.waitFor(count + 1);

  assert.match(text ?? '', /using Firefox on Linux from the IP address (?:127\.0\.0\.1|::1)\./);
  assert.match(text ?? '', /works once, within 30 minutes/);
});

test('a mailed link removes passkeys, sessions and known browsers, and ends grants unless the user keeps them [E1]', async () => {
  const { user, browser } = await addUserWithPasskey(server, `Pia${++users}`);
  const first = await server.connect({}, browser);

  await use(await linkFor(user), NEW_PASSWORD, {});
  const kept = await server.refresh(first.refresh_token);
  await use(await linkFor(user), 'yet another drawbridge');

  assert.match((await browser.open('/settings/account')).url, /\/sign-in/);
  assert.deepEqual(await passkeysOf(server, user), []);
  assert.equal(kept.status, 200);
  assert.equal((await server.refresh(kept.body.refresh_token)).body.reason, 'password_reset');
});

test('a mailed link does not remove an authenticator app or its recovery codes, and the sign-in still asks for a code [E5]', async () => {
  const { user, freshCode, recoveryCodes } = await addTwoStepUser(server, `Tess${++users}`);
  const link = await linkFor(user);
  const { text } = await server.browse().open(link);
  await use(link);

  assert.match(text, /You will still need a code from your authenticator app, or a recovery code, to sign in\./);
  for (const code of [freshCode(), recoveryCodes[0] ?? '']) {
    const browser = server.browse();
    const second = await browser.signIn(user.email, NEW_PASSWORD);
    assert.match(second.url, /\/sign-in\/second-step/);
    assert.match((await browser.open('/settings/account')).url, /\/sign-in/);
    assert.ok(isSignedIn(await enterCode(browser, second, code)));
  }
});

test('a mailed link keeps passkeys that are the required second factor, and no password alone signs in after it [E5]', async () => {
  const own = await startTestServer(smtp.env);
  const { user } = await addUserWithPasskey(own, 'Kay');
  await own.storage().durable.updateTable('businesses').set({ requires_second_factor: 1 }).execute();
  const count = smtp.received.length;
  const browser = own.browse();
  await browser.submit(await browser.open('/password'), '/password', { email: user.email });
  const link = linkInMail(await smtp.waitFor(count + 1), own.web);
  const page = await browser.open(link);
  await browser.submit(page, link, { password: NEW_PASSWORD });

  assert.match(page.text, /Your passkeys stay, and you will still need one of them to sign in\./);
  assert.equal((await passkeysOf(own, user)).length, 1);
  assert.match((await own.browse().signIn(user.email, NEW_PASSWORD)).url, /\/sign-in\/second-step/);
});

test('a mailed link works once [E4]', async () => {
  const user = await newUser();
  const link = await linkFor(user);
  await use(link);

  const again = await use(link, 'yet another drawbridge');

  assert.equal(again.status, 404);
  assert.match(again.text, /This link does not work/);
  assert.match((await server.browse().signIn(user.email, NEW_PASSWORD)).url, /connected-apps$/);
});

test('of ten uses of one mailed link at once, one sets the password [E4]', async () => {
  const user = await newUser();
  const link = await linkFor(user);
  const browser = server.browse();
  const page = await browser.open(link);
  const passwords = Array.from({ length: 10 }, (_, i) => `drawbridge number ${i}`);

  const pages = await Promise.all(passwords.map((password) => browser.submit(page, link, { password })));

  assert.deepEqual(pages.map(({ status }) => status).sort(), [200, ...Array(9).fill(404)]);
});

test('a mailed link ends after 30 minutes, also for a form that was opened before [E4]', async () => {
  const user = await newUser();
  const link = await linkFor(user);
  const browser = server.browse();
  server.advanceClock(29 * MINUTE - 1);
  const page = await browser.open(link);
  server.advanceClock(1);

  assert.equal(page.status, 200);
  assert.equal((await browser.submit(page, link, { password: NEW_PASSWORD })).status, 404);
  assert.equal((await server.browse().open(link)).status, 404);
  assert.match((await server.browse().signIn(user.email, PASSWORD)).url, /connected-apps$/);
});

test('a newer mailed link ends the older one [E4]', async () => {
  const user = await newUser();
  const [first, second] = [await linkFor(user), await linkFor(user)];

  assert.equal((await use(first)).status, 404);
  assert.match((await use(second)).text, /Your new password is set/);
});

test('a mailed link ends when the password or the address of the account changes, or the user is disabled [E4]', async () => {
  const statusOf = async (link: string) => (await server.browse().open(link)).status;
  const change = (user: User, row: { password_hash: string } | { email: string }) =>
    server.storage().durable.updateTable('users').set(row).where('id', '=', user.id).execute();
  const [renamed, changed, disabled] = [await newUser(), await newUser(), await newUser()];
  const links = [await linkFor(renamed), await linkFor(changed), await linkFor(disabled)];
  assert.deepEqual(await Promise.all(links.map(statusOf)), [200, 200, 200]);

  await change(renamed, { email: `new-${renamed.email}` });
  await change(changed, { password_hash: 'another' });
  await markUserDisabled(server.storage().durable, disabled.id, server.clock());

  assert.deepEqual(await Promise.all(links.map(statusOf)), [404, 404, 404]);
});

test('a request for a mail does not end a link that an owner has created', async () => {
  const user = await newUser();
  const owner = await server.signedIn();
  const page = await owner.open(`/settings/members/${user.id}`);
  const { text } = await owner.submit(page, `/settings/members/${user.id}/password-link`);
  const [, link = ''] = /(\/password\/[\w-]{43})</.exec(text) ?? [];

  const mailed = await linkFor(user);

  assert.deepEqual(
    [(await server.browse().open(link)).status, (await server.browse().open(mailed)).status],
    [200, 200],
  );
  await use(link);
  assert.equal((await server.browse().open(mailed)).status, 404);
});

test('the link is on CONSENT_URL, whatever Host the request names [X3]', async () => {
  const user = await newUser();
  const count = smtp.received.length;

  const browser = server.browse();
  const body = String(new URLSearchParams({ csrf: await browser.csrf(), email: user.email }));
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const { status } = await sendRaw(server.web, {
    path: '/password',
    method: 'POST',
    headers: [
      ['Host', 'evil.example'],
      ['X-Forwarded-Host', 'evil.example'],
      ['Forwarded', 'host=evil.example'],
      ['Cookie', cookie],
      ['Content-Type', 'application/x-www-form-urlencoded'],
      ['Content-Length', String(body.length)],
    ],
    body,
  });
  assert.equal(status, 303);

  const mail = await smtp.waitFor(count + 1);
  assert.match(linkInMail(mail, server.web), /^\/password\/[\w-]{43}$/);
  assert.ok(!mail.raw.includes('evil'));
});

test('an unknown, a disabled and a known address get the same response, and only the last one a mail [E6]', async () => {
  const [known, gone] = [await newUser(), await newUser()];
  await markUserDisabled(server.storage().durable, gone.id, server.clock());
  const count = smtp.received.length;

  const responses = [];
  for (const email of ['unknown@example.com', gone.email, known.email]) {
    const browser = server.browse();
    const csrf = await browser.csrf();
    const body = new URLSearchParams({ csrf, email });
    const response = await browser.fetch('/password', { method: 'POST', body });
    const names = [...response.headers.keys()].sort();
    responses.push({
      status: response.status,
      location: response.headers.get('location'),
      names,
      text: await response.text(),
    });
  }

  assert.deepEqual(responses[1], responses[0]);
  assert.deepEqual(responses[2], responses[0]);
  assert.equal(responses[0]?.status, 303);
  assert.match((await server.browse().open(responses[0]?.location ?? '')).text, SENT);
  assert.deepEqual((await smtp.waitFor(count + 1)).recipients, [known.email]);
  assert.equal(smtp.received.length, count + 1);
});

test('only the hash of a mailed link is stored [T28]', async () => {
  const user = await newUser();
  const token = (await linkFor(user)).replace('/password/', '');
  const db = server.storage().durable;

  const links = await db.selectFrom('mail_links').selectAll().execute();
  const mails = await db.selectFrom('mails').selectAll().execute();

  assert.ok(links.some(({ token_hash }) => token_hash === hashSecret(token)));
  assert.ok(!JSON.stringify([links, mails]).includes(token));
});

test('a mailed link proves the address of an account that was created with an invitation [E2]', async () => {
  const owner = await server.signedIn();
  const count = smtp.received.length;
  const { user } = await registerByInvitation(server, { owner, name: 'Guest', email: `guest${++users}@example.net` });
  // The first mail is the invitation.
  await smtp.waitFor(count + 1);

  await use(await linkFor(user));

  const row = server.storage().durable.selectFrom('users').select('email_verified_at').where('id', '=', user.id);
  assert.notEqual((await row.executeTakeFirstOrThrow()).email_verified_at, null);
});

test('the reset is in the audit log, and the user sees it', async () => {
  const user = await newUser();
  await use(await linkFor(user));

  const { text } = await (await server.signedIn(user)).open('/settings/account');
  const entry = server.storage().durable.selectFrom('audit_entries').selectAll().where('subject_id', '=', user.id);
  const { detail } = await entry.where('action', '=', 'user.password_reset').executeTakeFirstOrThrow();

  assert.deepEqual(JSON.parse(detail), { link_by: 'mail', apps: 'disconnected' });
  assert.match(text, /A link that was sent by email was used, and a new password was set\./);
});

test('an invalid address is rejected beside the field, and nothing is queued', async () => {
  const { status, text } = await requestMail('nobody\r\nBcc: mallory@example.com');

  assert.equal(status, 400);
  assert.match(text, /id="email-problem">Enter an email address/);
});

test('an address gets at most five mails in an hour, and an unknown one has the same limit [E6]', async () => {
  const own = await startTestServer(smtp.env);
  const user = await own.addUser('Victim');
  const statuses = async (email: string) => {
    const all = [];
    for (let i = 0; i < 7; i++) {
      const browser = own.browse();
      all.push((await browser.submit(await browser.open('/password'), '/password', { email })).status);
    }
    return all;
  };

  const [known, unknown] = [await statuses(user.email), await statuses('nobody@example.com')];

  assert.deepEqual(known, [200, 200, 200, 200, 200, 429, 429]);
  assert.deepEqual(unknown, known);
  const last = own.browse();
  const page = await last.submit(await last.open('/password'), '/password', {
    email: ` ${user.email.toUpperCase()} `,
  });
  assert.equal(page.status, 429);
  assert.match(page.text, /id="email-problem">Too many attempts\./);
});

test('one network can request 60 mails in an hour', async () => {
  const own = await startTestServer(smtp.env);
  const browser = own.browse();
  const page = await browser.open('/password');
  const statuses = [];
  for (let i = 0; i < 61; i++) {
    statuses.push((await browser.submit(page, '/password', { email: `nobody${i}@example.com` })).status);
  }

  assert.deepEqual(statuses.slice(-2), [200, 429]);
});

test('without mail, the page says who can help, and its form does not exist', async () => {
  const off = await startTestServer();
  const browser = off.browse();
  const { status, text } = await browser.open('/password');

  assert.equal(status, 200);
  assert.match(text, /If you belong to only one business, and someone else owns it, ask that owner/);
  assert.match(text, /Otherwise, ask a platform admin or an operator of <bdi>Gatehouse<\/bdi>\./);
  assert.doesNotMatch(text, /<form/);
  assert.equal((await browser.post('/password', { csrf: await browser.csrf(), email: 'a@example.com' })).status, 404);
});
