import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { User } from '../../../src/accounts/users.ts';
import { en } from '../../../src/languages/en.ts';
import { HOUR } from '../../../src/lib/clock.ts';
import { createKeyring } from '../../../src/lib/keyring.ts';
import type { NoticeKind } from '../../../src/mail/notice-texts.ts';
import { businessPath } from '../../../src/web/business-address.ts';
import { switchEndpointOff } from '../../../src/webhooks/endpoint-notices.ts';
import { insertEndpoint } from '../../../src/webhooks/endpoints.ts';
import type { Browser, Fields } from '../../support/browser.ts';
import { createClient } from '../../support/client.ts';
import { PASSWORD } from '../../support/fixtures.ts';
import { linkInMail, type MailServer, type ReceivedMail, startMailServer } from '../../support/mail-server.ts';
import { startTestServer, type TestServer } from '../../support/test-server.ts';
import { addTwoStepUser, enterCode, enterPassword, TWO_STEP } from '../../support/two-step.ts';

/** By kind: the subject, the button, and what is on the page that it leads to. */
const BUTTONS: Record<NoticeKind, [subject: string, button: string, page: RegExp]> = {
  new_sign_in: ['New sign-in', 'See where you are signed in', /id="sessions"/],
  wrong_code: ['Wrong code after the correct password', 'Change your password', /id="password-section"/],
  app_connected: ['App connected', 'See connected apps', /<h1>Connected apps.*Ledgerly/s],
  approval_requested: ['Approval requested', 'Review the request', /Approve for waiting/],
  app_approved: ['App approved', 'See connected apps', /<h1>Connected apps/],
  app_refused: ['App refused', 'See the decision', /id="notices".*has refused/s],
  connection_transferred: [
    'You are responsible for a connection',
    'See connected apps',
    /<h1>Connected apps.*Ledgerly/s,
  ],
  handover_offered: ['You are asked to be responsible for a connection', 'Accept or decline', /value="accept"/],
  secret_added: ['Secret added', 'See the secrets', /gcs_…\w{4}.*gcs_…/s],
  endpoint_disabled: ['Webhook endpoint switched off', 'See the endpoints', /hooks\.example/],
  factor_added: ['Sign-in method added', 'Check your sign-in methods', /id="passkeys"/],
  factor_removed: ['Sign-in method removed', 'Check your sign-in methods', /id="passkeys"/],
  recovery_code_used: ['Recovery code used', 'Check two-step sign-in', /id="two-step"/],
  recovery_codes_renewed: ['New recovery codes', 'Check two-step sign-in', /id="two-step"/],
  password_changed: ['Password changed', 'Open your account page', /id="password-section"/],
};

test('the button of every notice says what is behind it, and leads there, also in a business that was not chosen last', async () => {
  const smtp = await startMailServer({ wantsNotices: true });
  const server = await startTestServer(smtp.env);
  const readers = await causeEveryNotice(server);

  const kinds = Object.keys(en.notices) as NoticeKind[];
  const subjects = kinds.map((kind) => `${BUTTONS[kind][0]} (Gatehouse)`);
  const mails = await waitForMails(smtp, subjects, readers);

  for (const kind of kinds) {
    const [subject, button, expected] = BUTTONS[kind];
    const { mail, reader } = mails.get(`${subject} (Gatehouse)`) ?? assert.fail(kind);
    assert.match(mail.html ?? '', new RegExp(`>${button}</a>`), kind);
    const page = await reader.open(linkInMail(mail, server.web));
    assert.deepEqual([kind, page.status], [kind, 200]);
    assert.match(page.text, expected, kind);
  }
});

interface Person {
  user: User;
  browser: Browser;
}

/** Returns the browsers of those who get the mails, by address. */
async function causeEveryNotice(server: TestServer): Promise<Map<string, Browser>> {
  const borealis = await server.addBusiness('Borealis');
  const olga = await server.addUser('Olga', [
    [server.acme, 'owner'],
    [borealis, 'owner'],
  ]);
  const ned = await server.addUser('Ned', [[borealis, 'owner']]);
  const app = await server.addApp({ name: 'Ledgerly', ownerBusinessId: borealis.id });
  const client = createClient({ ...server, user: olga, app, business: borealis });
  const people: Person[] = [];
  const signIn = async (user: User) => {
    const browser = await server.signedIn(user);
    people.push({ user, browser });
    return browser;
  };
  const [owner, leaving] = [await signIn(olga), await server.signedIn(ned)];
  const path = (page: string) => businessPath({ businessId: borealis.id }, page);
  const decide = async (browser: Browser, fields: Fields) =>
    browser.submit(await browser.open(client.authorizeUrl()), '/consent', fields);

  await decide(leaving, { decision: 'allow', connected_for: 'business' });
  await decide(owner, { decision: 'allow' });
  const rules = path('settings/apps');
  await owner.submit(await owner.open(rules), `${rules}/policy`, { who: 'approved' });
  for (const decision of ['refuse', 'approve_person', undefined]) {
    const user = await server.addUser(`${decision ?? 'waiting'}`, [[borealis, 'member']]);
    await decide(await signIn(user), { decision: 'ask', note: '' });
    const request = `${rules}/${app.id}/requests/${user.id}`;
    if (decision) await owner.submit(await owner.open(rules), request, { decision, reason: 'Not now' });
  }
  const secret = await owner.post(path(`developer/${app.id}/secrets`), { csrf: await owner.csrf() });
  assert.equal(secret.status, 200, secret.text);
  await disableEndpoint(server, app);
  server.advanceClock(HOUR);
  const removal = path(`members/${ned.id}/remove`);
  await leaving.submit(await leaving.open(removal), removal);
  const rob = await server.addUser('Rob', [[borealis, 'owner']]);
  await signIn(rob);
  const authority = path(`connected-apps/${app.id}/${olga.id}/authority`);
  await owner.submit(await owner.open(authority), authority, { to: rob.id });
  people.push(await causeAccountNotices(server));
  return new Map(people.map(({ user, browser }) => [user.email, browser]));
}

async function disableEndpoint(server: TestServer, app: { id: string }): Promise<void> {
  const keys = createKeyring(server.settings.secretKeys);
  const endpoint = { appId: app.id, eventTypes: ['grant.created'], url: 'https://hooks.example/' };
  await server.storage().transaction(async (tx) => {
    const { endpoint: added } = await insertEndpoint(tx, keys, endpoint, server.clock());
    await switchEndpointOff(tx, added.id, 'gone', server.clock());
  });
}

/** Of one user, whose browser is signed in afterwards. */
async function causeAccountNotices(server: TestServer): Promise<Person> {
  const { user, browser, freshCode, recoveryCodes } = await addTwoStepUser(server, 'Una');
  const other = server.browse();
  const again = await enterCode(other, await enterPassword(other, user), '000000');
  await enterCode(other, again, recoveryCodes[0] ?? '');
  const password = { current_password: PASSWORD, password: 'a whole new drawbridge' };
  await browser.submit(await browser.open('/settings/account'), '/settings/account/password', password);
  for (const action of ['recovery-codes', 'remove']) {
    const path = `${TWO_STEP}/${action}`;
    await browser.submit(await browser.open(path), path, { code: freshCode() });
  }
  return { user, browser };
}

/** By subject. The mails to people who have left the business do not count. */
async function waitForMails(smtp: MailServer, subjects: string[], readers: Map<string, Browser>) {
  const mails = new Map<string, { mail: ReceivedMail; reader: Browser }>();
  for (let count = 1; !subjects.every((subject) => mails.has(subject)); count += 1) {
    const mail = await smtp.waitFor(count);
    const reader = readers.get(mail.recipients[0] ?? '');
    if (reader) mails.set(mail.subject ?? '', { mail, reader });
  }
  return mails;
}
