import assert from 'node:assert/strict';
import { test } from 'node:test';
import { retentionSteps } from '../../../src/jobs.ts';
import { DAY, HOUR } from '../../../src/lib/clock.ts';
import { createKeyring } from '../../../src/lib/keyring.ts';
import { removeExpired } from '../../../src/storage/retention.ts';
import { switchEndpointOff } from '../../../src/webhooks/endpoint-notices.ts';
import { insertEndpoint } from '../../../src/webhooks/endpoints.ts';
import { readAuditEntries } from '../../support/audit-entries.ts';
import type { Browser } from '../../support/browser.ts';
import { createCommandRunner } from '../../support/command-runner.ts';
import { PASSWORD } from '../../support/fixtures.ts';
import { startMailServer } from '../../support/mail-server.ts';
import { addUserWithPasskey, PASSKEYS, passkeysOf } from '../../support/passkeys.ts';
import { startTestServer, type TestServer } from '../../support/test-server.ts';
import { addTwoStepUser, enterCode, enterPassword } from '../../support/two-step.ts';

const server = await startTestServer();
const operator = createCommandRunner(server);

/** The notices on the account page, newest first. */
async function noticesIn(browser: Browser): Promise<string[]> {
  const { text } = await browser.open('/settings/account');
  const [, section = ''] = /<section class="card settings" id="notices">(.*?)<\/section>/s.exec(text) ?? [];
  return [...section.matchAll(/<strong>([^<]*)<\/strong>\s*<p class="small">([^<]*)/g)].map(
    ([, title, sentence]) => `${title}: ${sentence}`,
  );
}

async function addUser(name: string, from: TestServer = server) {
  const user = await from.addUser(name, [[from.acme, 'owner']]);
  return { user, browser: await from.signedIn(user) };
}

test('a sign-in from an unknown browser is a notice, and one from a known browser is not', async () => {
  const { user, browser } = await addUser('Ann');
  const before = await noticesIn(browser);
  const known = server.browse();
  await known.signIn(user.email, PASSWORD);
  const first = await noticesIn(browser);

  server.advanceClock(2 * HOUR);
  await known.signIn(user.email, PASSWORD, await known.open('/sign-in'));
  const again = await noticesIn(browser);
  await server.browse().signIn(user.email, PASSWORD);

  assert.deepEqual(before, []);
  assert.equal(first.length, 1);
  assert.match(
    first[0] ?? '',
    /^New sign-in: Someone signed in to your account using .* from the IP address 127\.0\.0\.1\./,
  );
  assert.deepEqual(again, first);
  assert.equal((await noticesIn(browser)).length, 2);
});

test('an app that was connected, a new password and changes of factors are notices', async () => {
  const { user, browser } = await addUserWithPasskey(server, 'Bea');
  await server.connect({}, browser);
  const [passkey] = await passkeysOf(server, user);
  await browser.post(`${PASSKEYS}/${passkey?.id}/remove`, { csrf: await browser.csrf() });
  await browser.submit(await browser.open('/settings/account'), '/settings/account/password', {
    current_password: PASSWORD,
    password: 'a whole new drawbridge',
  });

  assert.deepEqual((await noticesIn(browser)).slice(0, 4), [
    'Password changed: Your password was changed on your account page.',
    'Sign-in method removed: The passkey “My phone” was removed from your account by you.',
    'App connected: You allowed “Ledger” to access “Acme”.',
    'Sign-in method added: The passkey “My phone” was added to your account.',
  ]);
});

test('a wrong code after the right password is a notice, and so are used recovery codes', async () => {
  const { user, browser, recoveryCodes } = await addTwoStepUser(server, 'Cal');
  const other = server.browse();
  const wrong = await enterCode(other, await enterPassword(other, user), '000000');
  await enterCode(other, wrong, recoveryCodes[0] ?? '');

  const notices = await noticesIn(browser);

  assert.deepEqual(
    notices.map((notice) => notice.split(':')[0]),
    ['New sign-in', 'Recovery code used', 'Wrong code after the correct password', 'Sign-in method added'],
  );
});

test('the owners of a business get a notice of a secret that was added to its app, once an hour', async () => {
  const business = await server.addBusiness('Borealis');
  const [owner, other] = [
    await server.addUser('Dan', [[business, 'owner']]),
    await server.addUser('Eva', [[business, 'owner']]),
  ];
  const admin = await server.addUser('Fay', [[business, 'admin']]);
  const app = await server.addApp({ ownerBusinessId: business.id, name: 'Ledgerly' });
  const asAdmin = await server.signedIn(admin);
  const add = `/settings/developer/${app.id}/secrets`;

  await asAdmin.post(add, { csrf: await asAdmin.csrf() });
  const [secret] = await operator('app list-secrets', { app: app.id }).then(({ secrets }) => secrets);
  await operator('app remove-secret', { app: app.id, secret: secret.id });
  await asAdmin.post(add, { csrf: await asAdmin.csrf() });
  const expected = ['Secret added: “Fay” added a secret to the app “Ledgerly”.'];

  for (const user of [owner, other]) assert.deepEqual(await noticesIn(await server.signedIn(user)), expected);
  assert.deepEqual(await noticesIn(asAdmin), []);
});

test('the owners get a notice when an endpoint is switched off', async () => {
  const { browser } = await addUser('Gus');
  const app = await server.addApp({ ownerBusinessId: server.acme.id, name: 'Hooked' });
  const added = await operator('endpoint add', {
    app: app.id,
    url: 'https://hooks.example/in',
    event: 'grant.revoked',
  });

  const off = `/settings/developer/${app.id}/endpoints/${added.id ?? added.endpoint}/disable`;
  await browser.post(off, { csrf: await browser.csrf() });

  assert.match(
    (await noticesIn(browser))[0] ?? '',
    /^Webhook endpoint switched off: The endpoint of the app “Hooked” at hooks\.example is off/,
  );
});

test('the owners get a notice and an entry in the audit log when an endpoint says that it is gone, and when it has failed for days', async () => {
  const { browser } = await addUser('Gil');
  const app = await server.addApp({ ownerBusinessId: server.acme.id, name: 'Failing' });
  const keys = createKeyring(server.settings.secretKeys);
  const newEndpoint = { appId: app.id, eventTypes: ['grant.created'] };
  for (const [host, reason] of [
    ['gone.example', 'gone'],
    ['down.example', 'failing'],
  ] as const) {
    await server.storage().transaction(async (tx) => {
      const { endpoint } = await insertEndpoint(tx, keys, { ...newEndpoint, url: `https://${host}/` }, server.clock());
      await switchEndpointOff(tx, endpoint.id, reason, server.clock());
    });
  }

  assert.deepEqual((await noticesIn(browser)).slice(0, 2), [
    'Webhook endpoint switched off: The endpoint of the app “Failing” at down.example is off: it had been failing for days.',
    'Webhook endpoint switched off: The endpoint of the app “Failing” at gone.example is off: it responded with 410 Gone.',
  ]);
  const entries = (await readAuditEntries(server)).filter(({ action }) => action === 'endpoint.disabled').slice(-2);
  assert.deepEqual(
    entries.map(({ actor_name, business_id, subject_name, detail }) => [actor_name, business_id, subject_name, detail]),
    [
      ['Automatic', server.acme.id, 'gone.example', '{"app":"Failing","why":"it responded with 410 Gone"}'],
      ['Automatic', server.acme.id, 'down.example', '{"app":"Failing","why":"it failed for days"}'],
    ],
  );
});

test('an operator who removes a second factor or sets a password leaves a notice', async () => {
  // Commands use the real time. By a clock that is ahead of it, the retention job would remove their notices.
  const current = await startTestServer({}, Date.now());
  const run = createCommandRunner(current);
  const { user } = await addTwoStepUser(current, 'Hal');
  await run('user remove-second-factor', { user: user.id });
  await run('user set-password', { user: user.id, password: 'a whole new drawbridge' });
  const { durable } = current.storage();
  const rows = await durable.selectFrom('notices').selectAll().where('user_id', '=', user.id).orderBy('id').execute();

  assert.deepEqual(rows.map(({ kind, detail }) => [kind, JSON.parse(detail).by ?? JSON.parse(detail).how]).slice(-2), [
    ['factor_removed', 'operator'],
    ['password_changed', 'by_operator'],
  ]);
});

test('notices are removed after 90 days', async () => {
  const own = await startTestServer();
  const { user, browser } = await addUser('Ida', own);
  await own.browse().signIn(user.email, PASSWORD);
  assert.equal((await noticesIn(browser)).length, 1);
  own.advanceClock(90 * DAY);

  await removeExpired(own.storage().durable, retentionSteps(), own.clock());

  assert.deepEqual(await own.storage().durable.selectFrom('notices').selectAll().execute(), []);
});

test('with mail on, a notice is mailed to a verified address, and to no other', async () => {
  const smtp = await startMailServer({ wantsNotices: true });
  const own = await startTestServer(smtp.env);
  const verified = await addUser('Jan', own);
  const unverified = await addUser('Kay', own);
  const db = own.storage().durable;
  await db.updateTable('users').set({ email_verified_at: null }).where('id', '=', unverified.user.id).execute();

  await own.browse().signIn(unverified.user.email, PASSWORD);
  await own.browse().signIn(verified.user.email, PASSWORD);
  const mail = await smtp.waitFor(1);

  assert.deepEqual(mail.recipients, [verified.user.email]);
  assert.equal(mail.subject, 'New sign-in (Gatehouse)');
  assert.match(mail.text ?? '', new RegExp(`${own.web}/settings/account`));
  assert.match(mail.text ?? '', /If this was not you, change your password/);
  assert.deepEqual(await db.selectFrom('notices').select('id').where('mail_due', '=', 1).execute(), []);
});
