import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPasswordLink } from '../../../src/accounts/password-links.ts';
import type { User } from '../../../src/accounts/users.ts';
import { OPERATOR } from '../../../src/audit/entries.ts';
import { DAY, MINUTE } from '../../../src/lib/clock.ts';
import { hashSecret } from '../../../src/lib/secrets.ts';
import type { Browser } from '../../support/browser.ts';
import { PASSWORD } from '../../support/fixtures.ts';
import { addUserWithPasskey, passkeysOf } from '../../support/passkeys.ts';
import { startTestServer } from '../../support/test-server.ts';
import { registerByInvitation } from '../../support/unverified.ts';

const NEW_PASSWORD = 'a whole new drawbridge';
const server = await startTestServer();
const MEMBERS = '/settings/members';
const root = await server.addUser('Root', [], true);
const admin = await server.signedIn(root);
const owner = await server.signedIn();
let users = 0;
const newMember = () => server.addUser(`Member${++users}`, [[server.acme, 'member']]);

function linkIn(text: string): string {
  const [, path] = /<code id="password-link">https?:\/\/[^/]+(\/password\/[\w-]{43})<\/code>/.exec(text) ?? [];
  assert.ok(path, `the page shows a link:\n${text}`);
  return path;
}

async function linkByOwner({ id }: User, signedIn?: Browser): Promise<string> {
  const browser = signedIn ?? (await server.signedIn());
  const page = await browser.open(`${MEMBERS}/${id}`);
  return linkIn((await browser.submit(page, `${MEMBERS}/${id}/password-link`)).text);
}

async function linkByAdmin({ id }: User): Promise<string> {
  const browser = await server.signedIn(root);
  const page = await browser.open(`/platform/users/${id}`);
  return linkIn((await browser.submit(page, `/platform/users/${id}/password-link`)).text);
}

/** Creates a link like the command, but with the clock of the test. */
async function linkByOperator({ id: userId }: User): Promise<string> {
  const wanted = { userId, businessId: null };
  const made = await createPasswordLink(OPERATOR, server.storage().durable, wanted, server.clock());
  assert.ok(made);
  return `/password/${made.token}`;
}

const MAKERS = { 'an owner’s': linkByOwner, 'a platform admin’s': linkByAdmin, 'an operator’s': linkByOperator };

/** Opens the link in a new browser, and sets a new password. */
async function use(link: string, fields: Record<string, string> = { end_grants: 'yes' }, password = NEW_PASSWORD) {
  const browser = server.browse();
  const page = await browser.open(link);
  return page.status === 200 ? browser.submit(page, link, { password, ...fields }) : page;
}

for (const [whose, make] of Object.entries(MAKERS)) {
  test(`${whose} link sets a new password and removes every other way into the account [E1] [E4]`, async () => {
    const { user, browser } = await addUserWithPasskey(server, `Pia${++users}`);
    const { refresh_token } = await server.connect({}, browser);

    const response = await use(await make(user));

    assert.match(response.text, /Your new password is set\. Sign in with it\./);
    assert.match((await browser.open('/settings/account')).url, /\/sign-in/);
    assert.deepEqual(await passkeysOf(server, user), []);
    assert.equal((await server.browse().signIn(user.email, PASSWORD)).status, 401);
    assert.match((await server.browse().signIn(user.email, NEW_PASSWORD)).url, /connected-apps$/);
    assert.equal((await server.refresh(refresh_token)).body.reason, 'password_reset');
  });

  test(`${whose} link works once, and for 24 hours [E4]`, async () => {
    const user = await newMember();
    const link = await make(user);
    const used = await use(link);
    const again = await use(link, {}, 'yet another drawbridge');

    assert.equal(used.status, 200);
    assert.equal(again.status, 404);
    assert.match(again.text, /This link does not work/);
    assert.match((await server.browse().signIn(user.email, NEW_PASSWORD)).url, /connected-apps$/);
  });
}

test('the form says whose account it is and how long the link lasts, and offers to disconnect all apps', async () => {
  const user = await newMember();

  const { text, headers } = await server.browse().open(await linkByAdmin(user));

  assert.match(text, new RegExp(`<strong><bdi>${user.email}</bdi></strong>`));
  assert.match(text, /works once, until <time datetime="2030-01-02/);
  assert.match(text, /name="end_grants" value="yes" checked/);
  assert.equal(headers.get('cache-control'), 'no-store');
});

test('apps stay connected if the person unticks the box', async () => {
  const { user, browser } = await addUserWithPasskey(server, `Kit${++users}`);
  const { refresh_token } = await server.connect({}, browser);

  await use(await linkByAdmin(user), {});

  assert.equal((await server.refresh(refresh_token)).status, 200);
});

test('a link ends after 24 hours, when a newer one is created, and when the password or the address changes [E4]', async () => {
  const own = await startTestServer();
  const member = await own.addUser('Mia', [[own.acme, 'member']]);
  const make = async () => {
    const boss = await own.signedIn();
    const page = await boss.open(`${MEMBERS}/${member.id}`);
    return linkIn((await boss.submit(page, `${MEMBERS}/${member.id}/password-link`)).text);
  };
  const statusOf = async (link: string) => (await own.browse().open(link)).status;
  const change = (row: { password_hash: string } | { email: string }) =>
    own.storage().durable.updateTable('users').set(row).where('id', '=', member.id).execute();

  const first = await make();
  const second = await make();
  assert.deepEqual([await statusOf(first), await statusOf(second)], [404, 200]);
  own.advanceClock(DAY - 1);
  assert.equal(await statusOf(second), 200);
  own.advanceClock(1);
  assert.equal(await statusOf(second), 404);
  const third = await make();
  await change({ email: 'mia.new@example.com' });
  assert.equal(await statusOf(third), 404);
  const fourth = await make();
  await change({ password_hash: 'another' });
  assert.equal(await statusOf(fourth), 404);
});

test('of ten uses of one link at once, one sets the password [E4]', async () => {
  const user = await newMember();
  const link = await linkByAdmin(user);
  const browser = server.browse();
  const page = await browser.open(link);
  const passwords = Array.from({ length: 10 }, (_, i) => `drawbridge number ${i}`);

  const responses = await Promise.all(passwords.map((password) => browser.submit(page, link, { password })));

  assert.deepEqual(responses.map(({ status }) => status).sort(), [200, ...Array(9).fill(404)]);
  const winner = passwords[responses.findIndex(({ status }) => status === 200)] ?? '';
  assert.match((await server.browse().signIn(user.email, winner)).url, /connected-apps$/);
});

test('only its hash is stored, and only the page that created it shows it [T28]', async () => {
  const user = await newMember();
  const link = await linkByOwner(user);
  const token = link.replace('/password/', '');
  const db = server.storage().durable;
  const rows = await db.selectFrom('password_links').selectAll().execute();
  const entries = await db.selectFrom('audit_entries').selectAll().execute();

  assert.ok(rows.some(({ token_hash }) => token_hash === hashSecret(token)));
  const page = await owner.open(`${MEMBERS}/${user.id}`);
  for (const text of [page.text, JSON.stringify(rows), JSON.stringify(entries)]) assert.ok(!text.includes(token));
});

test('an unknown, a used and a replaced link get the same response [E6]', async () => {
  const [used, replaced] = [await newMember(), await newMember()];
  const spent = await linkByAdmin(used);
  await use(spent);
  const old = await linkByAdmin(replaced);
  await linkByAdmin(replaced);

  const pages = [];
  for (const link of [spent, old, `/password/${'A'.repeat(43)}`, '/password/x', '/password/%00']) {
    const { status, text } = await server.browse().open(link);
    pages.push([status, text]);
  }

  assert.equal(pages[0]?.[0], 404);
  for (const page of pages) assert.deepEqual(page, pages[0]);
});

test('a weak password is rejected beside the field, and the link still works', async () => {
  const user = await newMember();
  const link = await linkByAdmin(user);

  const weak = await use(link, {}, 'password1');

  assert.equal(weak.status, 400);
  assert.match(weak.text, /id="password-problem">This is one of the passwords/);
  assert.doesNotMatch(weak.text, /value="yes" checked/, 'unticked scopes stay unticked');
  assert.match((await use(link)).text, /Your new password is set\./);
});

test('an owner cannot create a link for a member of another business, for a platform admin, or for themselves [E1]', async () => {
  const bolt = await server.addBusiness('Bolt');
  const both = await server.addUser(`Both${++users}`, [
    [server.acme, 'member'],
    [bolt, 'member'],
  ]);
  const staff = await server.addUser(`Staff${++users}`, [[server.acme, 'member']], true);
  const stranger = await server.addUser(`Stranger${++users}`, [[bolt, 'owner']]);
  const business = server.acme.id;
  const post = async (id: string, browser = owner) =>
    browser.post(`${MEMBERS}/${id}/password-link`, { csrf: await browser.csrf(), business });

  for (const id of [both.id, staff.id, server.ada.id]) assert.equal((await post(id)).status, 403);
  assert.equal((await post(stranger.id)).status, 404);
  const member = await newMember();
  assert.equal((await post(both.id, await server.signedIn(member))).status, 404);
  const path = `/platform/users/${root.id}`;
  assert.equal((await admin.post(`${path}/password-link`, { csrf: await admin.csrf() })).status, 403);
  const made = await server.storage().durable.selectFrom('password_links').select('user_id').execute();
  assert.ok(!made.some(({ user_id }) => [both.id, staff.id, server.ada.id, stranger.id, root.id].includes(user_id)));
});

test('the page of a new link says whose it is and until when it works, and leads back to the person', async () => {
  const member = await newMember();
  const page = `${MEMBERS}/${member.id}`;

  const { text } = await owner.submit(await owner.open(page), `${page}/password-link`);

  const back = server.acmePath(`members/${member.id}`);
  assert.match(text, new RegExp(`Send this link to ${member.name} \\(${member.email}\\)`));
  assert.match(text, /data-copy="password-link"/);
  assert.match(text, /It works once, until <time/);
  assert.ok(text.includes(`href="${back}"`));
});

test('where no link can be created, the page says who can create one, and leads back to the person', async () => {
  const bolt = await server.addBusiness('Bolt');
  const member = await newMember();
  await server.addMember(member, bolt);
  const page = `${MEMBERS}/${member.id}`;

  const { status, text } = await owner.submit(await owner.open(page), `${page}/password-link`);

  assert.equal(status, 403);
  assert.match(text, /a platform admin of Gatehouse can create the link/);
  assert.ok(text.includes(`href="${server.acmePath(`members/${member.id}`)}">Back to ${member.name}</a>`));
});

test('an owner’s link ends when the member joins another business, or the owner stops being one', async () => {
  const bolt = await server.addBusiness('Bolt');
  const [joins, stays] = [await newMember(), await newMember()];
  const boss = await server.addUser(`Boss${++users}`, [[server.acme, 'owner']]);
  const links = [await linkByOwner(joins), await linkByOwner(stays, await server.signedIn(boss))];

  await server.addMember(joins, bolt);
  await owner.submit(await owner.open(`${MEMBERS}/${boss.id}`), `${MEMBERS}/${boss.id}/role`, { role: 'admin' });

  for (const link of links) assert.equal((await use(link)).status, 404);
});

test('only a link by the platform or an operator verifies the address [E2]', async () => {
  const verifiedAt = async (user: User) => {
    const rows = server.storage().durable.selectFrom('users').select('email_verified_at').where('id', '=', user.id);
    return (await rows.executeTakeFirstOrThrow()).email_verified_at;
  };
  const register = async () => {
    const email = `guest${++users}@example.net`;
    return (await registerByInvitation(server, { owner, name: `Guest ${users}`, email })).user;
  };
  const [byOwner, byAdmin, byOperator] = [await register(), await register(), await register()];

  await use(await linkByOwner(byOwner));
  await use(await linkByAdmin(byAdmin));
  await use(await linkByOperator(byOperator));

  assert.equal(await verifiedAt(byOwner), null);
  assert.ok(await verifiedAt(byAdmin));
  assert.ok(await verifiedAt(byOperator));
});

test('a link and its use are in the audit log, and the user sees who created it', async () => {
  const [byOwner, byAdmin] = [await newMember(), await newMember()];
  await use(await linkByOwner(byOwner));
  await use(await linkByAdmin(byAdmin));

  const { text } = await owner.open('/settings/audit-log');
  assert.match(text, /Created a link to set a new password/);
  assert.match(text, /Set a new password with a link/);
  const accounts = await Promise.all(
    [byOwner, byAdmin].map(async (user) => (await (await server.signedIn(user)).open('/settings/account')).text),
  );
  assert.match(accounts[0] ?? '', /Ada, an owner of Acme, created a link to set a new password\./);
  assert.match(accounts[0] ?? '', /The link was used, and a new password was set\./);
  assert.match(accounts[1] ?? '', /A platform admin of Gatehouse created a link to set a new password\./);
  assert.doesNotMatch(accounts[1] ?? '', /Root/);
});

const BY_SESSION = {
  'an owner': { who: server.ada, pageOf: ({ id }: User) => server.acmePath(`members/${id}`) },
  'a platform admin': { who: root, pageOf: ({ id }: User) => `/platform/users/${id}` },
};

for (const [role, { who, pageOf }] of Object.entries(BY_SESSION)) {
  test(`${role} whose sign-in is over 15 minutes old signs in again before creating a link, and returns to the person [E1]`, async () => {
    const [user, browser] = [await newMember(), await server.signedIn(who)];
    const page = pageOf(user);
    const links = server
      .storage()
      .durable.selectFrom('password_links')
      .select('user_id')
      .where('user_id', '=', user.id);
    server.advanceClock(15 * MINUTE);

    const asked = await browser.submit(await browser.open(page), `${page}/password-link`);
    const created = await links.execute();
    const back = await browser.signIn(who.email, PASSWORD, asked);
    const made = await browser.submit(back, `${page}/password-link`);

    assert.match(asked.url, /\/sign-in\?/);
    assert.match(asked.text, /Your last sign-in was more than 15 minutes ago/);
    assert.deepEqual(created, []);
    assert.ok(back.url.endsWith(page), back.url);
    assert.match((await use(linkIn(made.text))).text, /Your new password is set\./);
  });
}
