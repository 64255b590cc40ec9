import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setLanguage } from '../../../src/accounts/users.ts';
import { en } from '../../../src/languages/en.ts';
import { noticeText } from '../../../src/mail/notice-texts.ts';
import { PASSWORD } from '../../support/fixtures.ts';
import { inviteInBrowser } from '../../support/invitations.ts';
import { linkInMail, startMailServer } from '../../support/mail-server.ts';
import { startTestServer } from '../../support/test-server.ts';

const GERMAN = { 'accept-language': 'de' };

async function start() {
  const smtp = await startMailServer({ wantsNotices: true });
  const server = await startTestServer(smtp.env);
  const forget = async (email: string, headers: Record<string, string> = {}) => {
    const browser = server.browse(headers);
    await browser.submit(await browser.open('/password'), '/password', { email });
  };
  return { smtp, server, forget };
}

test('a mail is in the language of the page that caused it, until its reader chooses one', async () => {
  const { smtp, server, forget } = await start();
  await forget(server.ada.email, GERMAN);
  const german = await smtp.waitFor(1);
  assert.equal(german.subject, 'Neues Passwort für Gatehouse festlegen');
  assert.match(german.text ?? '', /^Guten Tag Ada,\n/);
  assert.match(german.html ?? '', /<html lang="de" dir="ltr">/);

  await setLanguage(server.storage().durable, server.ada.id, 'en');
  server.advanceClock(120_000);
  await forget(server.ada.email, GERMAN);
  assert.equal((await smtp.waitFor(2)).subject, 'Set a new password for Gatehouse');
});

test('an invitation is in the language of the inviter’s page, or in that of the invited account', async () => {
  const { smtp, server } = await start();
  const owner = server.browse(GERMAN);
  owner.cookies.set('__Host-session', await server.startSession(server.ada));
  const eve = await server.addUser('Eve');
  await setLanguage(server.storage().durable, eve.id, 'en');

  await inviteInBrowser(owner, { email: 'new@example.com' });
  assert.equal((await smtp.waitFor(1)).subject, 'Einladung zu einem Unternehmen bei Gatehouse');
  await inviteInBrowser(owner, { email: eve.email });
  assert.equal((await smtp.waitFor(2)).subject, 'Invitation to a business at Gatehouse');
});

test('a notice is in the language that the user chose, and in English on the account page', async () => {
  const { smtp, server } = await start();
  await setLanguage(server.storage().durable, server.ada.id, 'de');
  const browser = server.browse({ 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/150.0' });

  await browser.signIn(server.ada.email, PASSWORD);

  const mail = await smtp.waitFor(1);
  assert.equal(mail.subject, 'Neue Anmeldung (Gatehouse)');
  assert.match(mail.text ?? '', /Firefox auf Linux, IP-Adresse/);
  const account = await browser.open('/settings/account');
  assert.match(account.text, /signed in to your account using Firefox on Linux from/);
});

test('a user who creates an account on a German page gets notices in German', async () => {
  const { smtp, server } = await start();
  const owner = await server.signedIn();
  await inviteInBrowser(owner, { email: 'uwe@example.com' });
  const link = linkInMail(await smtp.waitFor(1), server.web);
  const browser = server.browse(GERMAN);
  await browser.submit(await browser.open(link), `${link}/account`, { name: 'Uwe', password: PASSWORD });

  await server.browse().signIn('uwe@example.com', PASSWORD);

  assert.equal((await smtp.waitFor(2)).subject, 'Neue Anmeldung (Gatehouse)');
});

test('an account that was created on a page in the default language has none, so the browser decides later', async () => {
  const { server } = await start();
  const link = await inviteInBrowser(await server.signedIn(), { email: 'una@example.com' });
  const browser = server.browse();

  await browser.submit(await browser.open(link), `${link}/account`, { name: 'Una', password: PASSWORD });

  const users = await server.storage().durable.selectFrom('users').select(['name', 'language']).execute();
  assert.equal(users.find(({ name }) => name === 'Una')?.language, null);
});

/** Notices in the format of version 0.1.0. */
const OLD: [kind: string, values: Record<string, string>, sentence: string][] = [
  [
    'new_sign_in',
    { browser: 'Firefox on Linux', address: '::1' },
    'Someone signed in to your account using Firefox on Linux from the IP address ::1. This browser had not been used before.',
  ],
  ['factor_added', { what: 'The passkey Key' }, 'The passkey “Key” was added to your account.'],
  ['factor_added', { what: 'The authenticator app' }, 'The authenticator app was added to your account.'],
  [
    'factor_removed',
    { what: 'Every passkey', by: 'an operator' },
    'Every passkey was removed from your account by an operator.',
  ],
  [
    'factor_removed',
    { what: 'The authenticator app', by: 'you' },
    'The authenticator app was removed from your account by you.',
  ],
  ['password_changed', { how: 'by an operator' }, 'Your password was changed by an operator.'],
  [
    'password_changed',
    { how: 'with a link that was mailed to you, and two-step sign-in was removed' },
    'Your password was changed with a link that was emailed to you, and two-step sign-in was removed.',
  ],
  [
    'endpoint_disabled',
    { app: 'Ledger', host: 'a.example', why: 'it failed for days' },
    'The endpoint of the app “Ledger” at a.example is off: it had been failing for days.',
  ],
];

test('notices that version 0.1.0 stored are shown like new ones', () => {
  for (const [kind, values, sentence] of OLD) assert.equal(noticeText(en, kind, values)?.sentence, sentence);
});
