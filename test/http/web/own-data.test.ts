import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { User } from '../../../src/accounts/users.ts';
import { userActor } from '../../../src/accounts/users.ts';
import { findApp } from '../../../src/apps/apps.ts';
import { requestApproval } from '../../../src/grants/app-requests.ts';
import type { Browser } from '../../support/browser.ts';
import { createClient } from '../../support/client.ts';
import { PASSWORD } from '../../support/fixtures.ts';
import { inviteInBrowser } from '../../support/invitations.ts';
import { addUserWithPasskey } from '../../support/passkeys.ts';
import { startTestServer } from '../../support/test-server.ts';
import { addTwoStepUser } from '../../support/two-step.ts';

const DELETE = '/settings/delete-account';
const server = await startTestServer();
const db = () => server.storage().durable;
let users = 0;

async function remove(browser: Browser, password = PASSWORD) {
  const page = await browser.open(DELETE);
  return page.text.includes('<form method="post" action="/settings/delete-account"')
    ? browser.submit(page, DELETE, { current_password: password })
    : page;
}

async function exists({ id }: User): Promise<boolean> {
  return (await db().selectFrom('users').select('id').where('id', '=', id).executeTakeFirst()) !== undefined;
}

test('a deleted account is gone with its sessions and passkeys, and its apps lose their access', async () => {
  const { user, browser } = await addUserWithPasskey(server, `Pia${++users}`);
  const { access_token, refresh_token } = await server.connect({}, browser);
  const page = await browser.open(DELETE);

  const done = await remove(browser);

  assert.match(page.text, /your membership of Acme/);
  assert.match(page.text, /the access of 1 app that you connected/);
  assert.match(done.text, /Your account is deleted\./);
  assert.equal(await exists(user), false);
  assert.match((await browser.open('/settings/account')).url, /\/sign-in/);
  assert.equal((await server.browse().signIn(user.email, PASSWORD)).status, 401);
  assert.equal((await server.listInvoices(access_token)).status, 401);
  const refreshed = await server.refresh(refresh_token);
  assert.deepEqual([refreshed.status, refreshed.body.error], [400, 'invalid_grant']);
  assert.equal(refreshed.body.reason, 'member_removed');
});

test('no row of the account is left, except in the audit log and in what has ended', async () => {
  const { user, browser } = await addTwoStepUser(server, `Tess${++users}`);
  const app = (await findApp(db(), server.ledger.id)) ?? assert.fail('the app');
  const request = { app, businessId: server.acme.id, scopes: ['read:invoices'], note: '' };
  assert.ok(await requestApproval(userActor(user, '127.0.0.1'), db(), request, server.clock()));

  await remove(browser);

  for (const table of [
    'memberships',
    'sessions',
    'passkeys',
    'password_links',
    'consents',
    'notices',
    'app_requests',
  ] as const) {
    const left = await db().selectFrom(table).select('user_id').where('user_id', '=', user.id).execute();
    assert.deepEqual(left, [], table);
  }
  assert.equal(await exists(user), false);
  const entries = db().selectFrom('audit_entries').select('action').where('subject_id', '=', user.id);
  const actions = (await entries.orderBy('id').execute()).map(({ action }) => action);
  assert.deepEqual(actions.slice(-2), ['member.removed', 'user.deleted']);
});

test('a wrong password deletes nothing [D3]', async () => {
  const user = await server.addUser(`Wary${++users}`, [[server.acme, 'member']]);

  const { status, text } = await remove(await server.signedIn(user), 'not the password');

  assert.equal(status, 400);
  assert.match(text, /This is not your current password\./);
  assert.equal(await exists(user), true);
});

test('the only owner of a business with other members cannot delete the account, by the page or by a form', async () => {
  const business = await server.addBusiness(`Bolt ${++users}`);
  const owner = await server.addUser(`Owner${users}`, [[business, 'owner']]);
  await server.addUser(`Member${users}`, [[business, 'member']]);
  const browser = await server.signedIn(owner);

  const page = await remove(browser);
  const forced = await browser.post(DELETE, { csrf: await browser.csrf(), current_password: PASSWORD });

  assert.match(page.text, /<h1>You cannot delete your account yet<\/h1>/);
  assert.match(page.text, /you are their only owner/);
  assert.ok(page.text.includes(`<a href="/businesses/${business.id}/members">${business.name}</a>`));
  assert.equal(forced.status, 400);
  assert.equal(await exists(owner), true);
});

test('the apps of a business without other members are disabled, and its invitations withdrawn', async () => {
  const business = await server.addBusiness(`Solo ${++users}`);
  const owner = await server.addUser(`Solo${users}`, [[business, 'owner']]);
  const app = await server.addApp({ name: 'Lonely', ownerBusinessId: business.id });
  const browser = await server.signedIn(owner);
  const link = await inviteInBrowser(browser);
  const page = await browser.open(DELETE);

  await remove(browser);

  assert.match(page.text, /the app Lonely, which is disabled/);
  const { disabled_at } = await db().selectFrom('apps').selectAll().where('id', '=', app.id).executeTakeFirstOrThrow();
  assert.notEqual(disabled_at, null);
  assert.ok([404, 410].includes((await server.browse().open(link)).status));
});

test('the last platform admin cannot delete the account', async () => {
  const root = await server.addUser(`Root${++users}`, [], true);

  const { status, text } = await remove(await server.signedIn(root));

  assert.equal(status, 400);
  assert.match(text, /You are the last platform admin\./);
  assert.equal(await exists(root), true);
});

test('two owners who delete their accounts at the same time leave one of them', async () => {
  const business = await server.addBusiness(`Duo ${++users}`);
  const owners = [
    await server.addUser(`Left${users}`, [[business, 'owner']]),
    await server.addUser(`Right${users}`, [[business, 'owner']]),
  ];
  await server.addUser(`Third${users}`, [[business, 'member']]);
  const browsers = await Promise.all(owners.map((owner) => server.signedIn(owner)));
  const pages = await Promise.all(browsers.map((browser) => browser.open(DELETE)));

  const responses = await Promise.all(
    browsers.map((browser, i) => browser.submit(pages[i] ?? assert.fail(), DELETE, { current_password: PASSWORD })),
  );

  assert.deepEqual(responses.map(({ status }) => status).sort(), [200, 400]);
  assert.deepEqual((await Promise.all(owners.map(exists))).sort(), [false, true]);
});

test('the export has the account, memberships, connections, sign-ins and audit entries, and no secret [T28]', async () => {
  const user = await server.addUser(`Ella${++users}`, [[server.acme, 'member']]);
  const browser = await server.signedInByPassword(user);
  const tokens = await createClient({ ...server, user, app: server.ledger, business: server.acme }).connect(
    {},
    browser,
  );
  await server.browse().signIn(user.email, 'not the password');

  const response = await browser.fetch('/settings/export');
  const text = await response.text();
  const exported = JSON.parse(text);

  assert.equal(response.headers.get('content-disposition'), 'attachment; filename="account.json"');
  assert.equal(response.headers.get('cache-control'), 'no-store');
  assert.equal(exported.account.email, user.email);
  assert.deepEqual(
    exported.memberships.map(({ business }: { business: { name: string } }) => business.name),
    ['Acme'],
  );
  assert.deepEqual(
    exported.connections.map(({ app }: { app: { name: string } }) => app.name),
    ['Ledger'],
  );
  assert.equal(exported.sessions.length, 1);
  const actions = exported.sign_ins.map(({ action }: { action: string }) => action);
  assert.deepEqual(actions.sort(), ['session.failed', 'session.started']);
  assert.ok(exported.audit_log.some(({ action }: { action: string }) => action === 'grant.allowed'));
  const row = await db().selectFrom('users').selectAll().where('id', '=', user.id).executeTakeFirstOrThrow();
  for (const secret of [row.password_hash, tokens.access_token, tokens.refresh_token])
    assert.ok(!text.includes(secret));
});

test('the export names neither a platform admin nor the address of another person, and nothing of another user [D5]', async () => {
  const root = await server.addUser(`Zed${++users}`, [], true);
  const user = await server.addUser(`Mona${users}`, [[server.acme, 'member']]);
  const other = await server.addUser(`Olaf${users}`, [[server.acme, 'member']]);
  const admin = await server.signedIn(root);
  await admin.submit(await admin.open(`/platform/users/${user.id}`), `/platform/users/${user.id}/password-link`);

  const text = await (await (await server.signedIn(user)).fetch('/settings/export')).text();

  const entry = JSON.parse(text).audit_log.find(
    ({ action }: { action: string }) => action === 'user.password_link_created',
  );
  assert.deepEqual(entry.by, { kind: 'platform', name: null, address: null });
  for (const name of [root.name, root.email, other.name, other.email]) assert.ok(!text.includes(name), name);
});
