import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { User } from '../../../src/accounts/users.ts';
import { PASSWORD } from '../../support/fixtures.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const root = await server.addUser('Root', [], true);
const admin = await server.signedInByPassword(root);
const pathOf = ({ id }: User) => `/platform/users/${id}`;
const rowOf = ({ id }: User) =>
  server.storage().durable.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
async function entriesOn({ id }: User) {
  const entries = server.storage().durable.selectFrom('audit_entries').selectAll().where('subject_id', '=', id);
  const switches = await entries.where('action', 'in', ['user.disabled', 'user.enabled']).orderBy('id').execute();
  return switches.map(({ action, actor_id, business_id }) => ({ action, actor_id, business_id }));
}

test('a platform admin disables a user, after being shown what it affects, and enables them', async () => {
  const bob = await server.addUser('Bob', [[server.acme, 'member']]);
  const his = await server.signedInByPassword(bob);
  const tokens = await server.connect({}, his);
  const call = async () => (await server.listInvoices(tokens.access_token)).status;

  const confirmation = await admin.open(`${pathOf(bob)}/disable`);
  const disabled = await admin.submit(confirmation, `${pathOf(bob)}/disable`);
  const whileDisabled = [await call(), (await his.fetch('/settings/account')).status];
  const rejected = await server.refresh(tokens.refresh_token);
  const sessions = await server
    .storage()
    .durable.selectFrom('sessions')
    .selectAll()
    .where('user_id', '=', bob.id)
    .execute();
  const enabled = await admin.submit(disabled, `${pathOf(bob)}/enable`);

  assert.match(confirmation.text, /1 session<.*1 app in 1 business</s);
  assert.match(disabled.text, /The user is disabled and signed out everywhere\./);
  assert.deepEqual(whileDisabled, [401, 303]);
  assert.equal(rejected.body.reason, 'user_disabled');
  assert.deepEqual(sessions, []);
  assert.match(enabled.text, /The user is enabled\./);
  assert.equal(await call(), 200);
  assert.deepEqual(await entriesOn(bob), [
    { action: 'user.disabled', actor_id: root.id, business_id: null },
    { action: 'user.enabled', actor_id: root.id, business_id: null },
  ]);
});

test('a disabled user cannot sign in, and gets the same response as for a wrong password', async () => {
  const carl = await server.addUser('Carl', [[server.acme, 'member']]);
  await admin.submit(await admin.open(`${pathOf(carl)}/disable`), `${pathOf(carl)}/disable`);

  const rejected = await server.browse().signIn(carl.email, PASSWORD);
  const wrong = await server.browse().signIn(server.ada.email, 'not the password');

  assert.equal(rejected.status, wrong.status);
  assert.equal((await rowOf(carl)).last_signed_in_at, null);
});

test('a reason for disabling a user is shown to platform admins while the user is disabled', async () => {
  const ida = await server.addUser('Ida', []);
  const confirmation = await admin.open(`${pathOf(ida)}/disable`);

  const wrong = await admin.submit(confirmation, `${pathOf(ida)}/disable`, { reason: 'x'.repeat(201) });
  const disabled = await admin.submit(confirmation, `${pathOf(ida)}/disable`, { reason: 'Left the company' });
  const enabled = await admin.submit(disabled, `${pathOf(ida)}/enable`);

  assert.equal(wrong.status, 400);
  assert.match(wrong.text, /id="reason-problem">Use at most 200 characters/);
  assert.match(disabled.text, /Reason: Left the company/);
  assert.match((await admin.open('/platform/audit-log?q=Ida')).text, /[Rr]eason: Left the company/);
  assert.doesNotMatch(enabled.text, /Left the company/);
});

test('the page of a user shows their details, their businesses and their last sign-in', async () => {
  const dora = await server.addUser('Dora', [[server.acme, 'admin']]);
  await server.signedInByPassword(dora);

  const { text } = await admin.open(pathOf(dora));

  assert.match(text, /dora@example\.com/);
  assert.match(
    text,
    new RegExp(`href="/platform/businesses/${server.acme.id}">Acme</a>.*?<span class="badge">Admin`, 's'),
  );
  assert.match(text, /1 session, last signed in <time/);
});

test('the confirmation page names a business that would have no other owner', async () => {
  const lone = await server.addBusiness('Lonely');
  const eve = await server.addUser('Eve', [[lone, 'owner']]);
  await server.addMember(eve, server.acme, 'owner');

  const { text } = await admin.open(`${pathOf(eve)}/disable`);

  assert.match(text, /Nobody else owns Lonely/);
  assert.doesNotMatch(text, /owns Acme/);
});

test('platform admins cannot disable themselves, even with a forged form', async () => {
  const csrf = await admin.csrf();

  const response = await admin.post(`${pathOf(root)}/disable`, { csrf });

  assert.equal(response.status, 400);
  assert.match(response.text, /You cannot disable yourself/);
  assert.equal((await rowOf(root)).disabled_at, null);
  assert.ok(!(await admin.open(pathOf(root))).text.includes(`${pathOf(root)}/disable`));
});

test('if two platform admins disable each other at the same time, one stays enabled', async () => {
  for (let round = 0; round < 5; round++) {
    const other = await server.addUser(`Second${round}`, [], true);
    const theirs = await server.signedInByPassword(other);
    const [csrf, theirCsrf] = [await admin.csrf(), await theirs.csrf()];

    await Promise.all([
      admin.post(`${pathOf(other)}/disable`, { csrf }),
      theirs.post(`${pathOf(root)}/disable`, { csrf: theirCsrf }),
    ]);

    const enabled = [await rowOf(root), await rowOf(other)].filter((row) => row.disabled_at === null);
    assert.equal(enabled.length, 1);
    const db = server.storage().durable;
    await db.updateTable('users').set({ disabled_at: null }).where('id', '=', root.id).execute();
    await db.updateTable('users').set({ disabled_at: 1 }).where('id', '=', other.id).execute();
    if (!(await admin.open('/platform/users')).text.includes('Users')) await admin.signIn(root.email, PASSWORD);
  }
});

test('a form that is sent twice disables once', async () => {
  const finn = await server.addUser('Finn');
  const confirmation = await admin.open(`${pathOf(finn)}/disable`);
  await admin.submit(confirmation, `${pathOf(finn)}/disable`);
  const before = await rowOf(finn);
  server.advanceClock(1000);

  await admin.submit(confirmation, `${pathOf(finn)}/disable`);

  assert.deepEqual(await rowOf(finn), before);
  assert.equal((await entriesOn(finn)).length, 1);
});
