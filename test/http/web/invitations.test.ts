import assert from 'node:assert/strict';
import { test } from 'node:test';
import { retentionSteps } from '../../../src/jobs.ts';
import { DAY } from '../../../src/lib/clock.ts';
import { hashSecret } from '../../../src/lib/secrets.ts';
import { removeExpired } from '../../../src/storage/retention.ts';
import type { Browser, BrowserPage } from '../../support/browser.ts';
import { PASSWORD } from '../../support/fixtures.ts';
import { invitationLink, inviteInBrowser, listWithdrawActions } from '../../support/invitations.ts';
import { submitConfirmed } from '../../support/questions.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const MEMBERS = '/settings/members';
const INVITE = `${MEMBERS}/invite`;
let people = 0;

/** Each test has its own business, so that tests do not share invitations. */
async function newOwner() {
  const business = await server.addBusiness('Bolt');
  const user = await server.addUser(`Owner${people++}`, [[business, 'owner']]);
  return { business, user, owner: await server.signedIn(user) };
}

async function newPerson() {
  const user = await server.addUser(`Person${people++}`);
  return { user, browser: await server.signedIn(user) };
}

const join = async (browser: Browser, link: string) => browser.submit(await browser.open(link), link);

async function membersOf(businessId: string): Promise<string[]> {
  const rows = await server.storage().durable.selectFrom('memberships').selectAll().execute();
  return rows.filter(({ business_id }) => business_id === businessId).map(({ user_id }) => user_id);
}

async function actionsIn(businessId: string): Promise<string[]> {
  const entries = await server.storage().durable.selectFrom('audit_entries').selectAll().orderBy('id').execute();
  return entries.filter(({ business_id }) => business_id === businessId).map(({ action }) => action);
}

test('an owner sees the link once, and the invited person joins in the chosen role', async () => {
  const { business, owner } = await newOwner();
  const { user, browser } = await newPerson();

  const made = await owner.submit(await owner.open(INVITE), INVITE, { role: 'admin', email: user.email });
  const offered = await browser.open(invitationLink(made));
  const joined = await browser.submit(offered, invitationLink(made));

  assert.match(made.text, new RegExp(`Send this link to ${user.email}`));
  assert.match(
    offered.text,
    /<h1>Join <bdi>Bolt<\/bdi><\/h1>\s*<p><strong><bdi>Owner\d+<\/bdi><\/strong> has invited you\./,
  );
  assert.match(offered.text, /<dt>Invitation expires<\/dt>/);
  assert.match(offered.text, new RegExp(`Join as <bdi>${user.name}`));
  assert.match(
    offered.text,
    /<script type="module" src="\/assets\/gatehouse\.js/,
    'the script shows times in the time zone of the browser',
  );
  assert.match(joined.text, /Welcome to the business\./);
  assert.match(joined.text, /<span class="menu-name">Bolt<\/span>/);
  assert.equal((await browser.open('/settings/developer/new')).status, 200);
  assert.equal((await browser.open(INVITE)).status, 404);
  assert.ok((await membersOf(business.id)).includes(user.id));
  assert.deepEqual(await actionsIn(business.id), ['member.invited', 'member.joined']);
});

test('the business that a user joins becomes their current business', async () => {
  const { business, owner } = await newOwner();
  const user = await server.addUser(`Person${people++}`, [[server.acme, 'member']]);
  const browser = await server.signedIn(user);

  const joined = await join(browser, await inviteInBrowser(owner, { email: user.email }));

  assert.match(joined.text, new RegExp(`value="${business.id}" aria-current="true">.*<span>Bolt</span>`));
});

test('the link is in no list and in no table: only its hash is stored [T28]', async () => {
  const { owner } = await newOwner();
  const link = await inviteInBrowser(owner, { email: 'kim@example.com' });
  const token = link.replace('/invitation/', '');

  const listed = await owner.open(`${MEMBERS}/invitations`);
  const rows = await server.storage().durable.selectFrom('invitations').selectAll().execute();
  const entries = await server.storage().durable.selectFrom('audit_entries').selectAll().execute();

  assert.match(listed.text, /<strong>kim@example\.com<\/strong>.*?<span class="badge">Member<\/span>/s);
  assert.match(listed.text, /Invitations \(1\)/);
  assert.ok(rows.some(({ token_hash }) => token_hash === hashSecret(token)));
  for (const text of [listed.text, JSON.stringify(rows), JSON.stringify(entries)]) assert.ok(!text.includes(token));
});

test('submitting the form twice creates one invitation and shows the same link', async () => {
  const { business, owner } = await newOwner();
  const form = await owner.open(INVITE);

  const responses = await Promise.all(
    [1, 2, 3].map(() => owner.submit(form, INVITE, { role: 'member', email: 'kim@example.com' })),
  );

  assert.equal(new Set(responses.map(invitationLink)).size, 1);
  assert.equal((await listWithdrawActions(owner)).length, 1);
  assert.deepEqual(await actionsIn(business.id), ['member.invited']);
});

test('a new invitation ends the earlier ones of the same address in the same business, and no others', async () => {
  const { business, owner } = await newOwner();
  const { owner: elsewhere } = await newOwner();
  const first = await inviteInBrowser(owner, { email: 'kim@example.com' });
  const others = [
    await inviteInBrowser(owner, { email: 'lea@example.com' }),
    await inviteInBrowser(elsewhere, { email: 'kim@example.com' }),
  ];

  const second = await inviteInBrowser(owner, { role: 'admin', email: 'KIM@example.com' });

  const statusOf = async (link: string) => (await server.browse().open(link)).status;
  assert.deepEqual([await statusOf(first), await statusOf(second)], [410, 200]);
  for (const link of others) assert.equal(await statusOf(link), 200);
  assert.equal((await listWithdrawActions(owner)).length, 2);
  const entries = ['member.invited', 'member.invited', 'member.invitation_withdrawn', 'member.invited'];
  assert.deepEqual(await actionsIn(business.id), entries);
});

test('of five invitations of one address at the same time, one stays open', async () => {
  const { business, owner } = await newOwner();
  const second = await server.signedIn(await server.addUser(`Second ${business.id}`, [[business, 'owner']]));
  const browsers = [owner, second, owner, second, owner];
  const forms = await Promise.all(browsers.map((browser) => browser.open(INVITE)));

  const responses = await Promise.all(
    browsers.map((browser, i) =>
      browser.submit(forms[i] as BrowserPage, INVITE, { role: 'member', email: 'kim@example.com' }),
    ),
  );

  const links = responses.filter(({ text }) => text.includes('id="invitation"')).map(invitationLink);
  const statuses = await Promise.all(links.map(async (link) => (await server.browse().open(link)).status));
  assert.equal(statuses.filter((status) => status === 200).length, 1);
  assert.equal((await listWithdrawActions(owner)).length, 1);
});

test('a form whose invitation was withdrawn or used does not create another one', async () => {
  const { business, owner } = await newOwner();
  const form = await owner.open(INVITE);
  const link = invitationLink(await owner.submit(form, INVITE, { role: 'member', email: 'kim@example.com' }));
  const [withdrawal = ''] = await listWithdrawActions(owner);
  await owner.submit(await owner.open(`${MEMBERS}/invitations`), withdrawal);

  const again = await submitConfirmed(owner, form, INVITE, { role: 'owner', email: 'kim@example.com' });

  assert.match(again.text, /No open invitations/);
  assert.equal((await server.browse().open(link)).status, 410);
  assert.deepEqual(await actionsIn(business.id), ['member.invited', 'member.invitation_withdrawn']);
});

test('an error is shown beside the field, and the input is kept', async () => {
  const { owner } = await newOwner();
  const form = await owner.open(INVITE);
  const email = `${'x'.repeat(250)}@example.com`;

  const long = await owner.submit(form, INVITE, { role: 'admin', email });
  const empty = await owner.submit(form, INVITE, { role: 'admin' });
  const unseen = await owner.submit(form, INVITE, { role: 'admin', email: 'a\u202eb@example.com' });
  const king = await owner.submit(form, INVITE, { role: 'king', email: 'kim@example.com' });
  const forged = await owner.submit(form, INVITE, { role: 'admin', email: 'kim@example.com', form_key: 'forged' });

  assert.equal(long.status, 400);
  assert.match(long.text, /id="email-problem">Enter an email address/);
  assert.ok(long.text.includes(`value="${email}"`));
  assert.match(long.text, /value="admin" required checked/);
  assert.match(empty.text, /id="email-problem">Enter an email address/);
  assert.match(unseen.text, /id="email-problem">Use visible characters only\./);
  assert.match(king.text, /id="role-problem">A role must be one of/);
  assert.equal(forged.status, 404);
  assert.deepEqual(await listWithdrawActions(owner), []);
});

test('a business has at most a hundred open invitations, on pages that stay small', async () => {
  const { business, user, owner } = await newOwner();
  await inviteInBrowser(owner, { email: `${'n'.repeat(200)}@example.com` });
  const db = server.storage().durable;
  const row = await db
    .selectFrom('invitations')
    .selectAll()
    .where('invited_by', '=', user.id)
    .executeTakeFirstOrThrow();
  const more = Array.from({ length: 98 }, (_, i) => {
    const ending = String(i).padStart(4, '0');
    return { ...row, id: row.id.slice(0, -4) + ending, token_hash: `hash-${business.id}-${ending}` };
  });
  await db.insertInto('invitations').values(more).execute();

  const forms = await Promise.all([1, 2, 3].map(() => owner.open(INVITE)));
  const responses = await Promise.all(
    forms.map((form, i) => owner.submit(form, INVITE, { role: 'member', email: `kim${i}@example.com` })),
  );
  const { text } = await owner.open(`${MEMBERS}/invitations`);

  assert.deepEqual(responses.map(({ status }) => status).sort(), [200, 400, 400]);
  assert.match(responses.find(({ status }) => status === 400)?.text ?? '', /100 invitations are open already/);
  assert.equal((await listWithdrawActions(owner)).length, 50);
  assert.match(text, /rel="next"/);
  assert.ok(Buffer.byteLength(text) < 60_000, `${text.length} bytes`);
});

test('of eight simultaneous clicks on one link in eight browsers, one joins', async () => {
  const { business, owner } = await newOwner();
  const { user } = await newPerson();
  const link = await inviteInBrowser(owner, { email: user.email });
  const browsers = await Promise.all(Array.from({ length: 8 }, () => server.signedIn(user)));
  const opened = await Promise.all(browsers.map(async (browser) => ({ browser, page: await browser.open(link) })));

  const responses = await Promise.all(opened.map(({ browser, page }) => browser.submit(page, link)));

  assert.ok(responses.some(({ text }) => /Welcome to the business\./.test(text)));
  assert.equal((await membersOf(business.id)).length, 2);
  assert.deepEqual(await actionsIn(business.id), ['member.invited', 'member.joined']);
});

test('the page of a used link says so, and a second click by the person who used it changes nothing', async () => {
  const { business, owner } = await newOwner();
  const { user, browser } = await newPerson();
  const link = await inviteInBrowser(owner, { email: user.email });
  const form = await browser.open(link);
  await browser.submit(form, link);

  const again = await browser.submit(form, link);
  const opened = await server.browse().open(link);

  assert.match(again.text, /Welcome to the business\./);
  assert.equal(opened.status, 410);
  assert.match(opened.text, /This link has been used/);
  assert.doesNotMatch(opened.text, new RegExp(`Bolt|${user.name}`));
  assert.equal((await membersOf(business.id)).length, 2);
});

test('a link works for seven days, then says that it has expired, and is removed later', async () => {
  const own = await startTestServer();
  const owner = await own.signedIn();
  const link = await inviteInBrowser(owner);
  const visitor = own.browse();
  const stale = await visitor.open(link);

  own.advanceClock(7 * DAY - 1);
  const before = await own.browse().open(link);
  own.advanceClock(1);
  const after = await own.browse().open(link);
  const typed = { name: 'Late', password: PASSWORD };
  const late = await visitor.submit(stale, `${link}/account`, typed);
  own.advanceClock(30 * DAY);
  await removeExpired(own.storage().durable, retentionSteps(), own.clock());
  const forgotten = await own.browse().open(link);

  assert.match(stale.text, /Invitation expires<\/dt><dd><time datetime="2030-01-08/);
  assert.deepEqual([before.status, after.status, late.status, forgotten.status], [200, 410, 410, 404]);
  assert.match(after.text, /This invitation has expired/);
  assert.deepEqual(await own.storage().durable.selectFrom('invitations').selectAll().execute(), []);
});

test('a withdrawn link does not work, even in a form that was opened before', async () => {
  const { business, owner } = await newOwner();
  const { user, browser } = await newPerson();
  const link = await inviteInBrowser(owner, { email: user.email });
  const form = await browser.open(link);
  const [withdrawal = ''] = await listWithdrawActions(owner);
  const list = await owner.open(`${MEMBERS}/invitations`);

  const withdrawn = await owner.submit(list, withdrawal);
  const again = await owner.submit(list, withdrawal);
  const rejected = await browser.submit(form, link);

  assert.match(withdrawn.text, /The invitation has been withdrawn\. Its link no longer works\./);
  assert.equal(again.status, 200);
  assert.equal(rejected.status, 410);
  assert.match(rejected.text, /This invitation was withdrawn/);
  assert.equal((await membersOf(business.id)).length, 1);
  assert.deepEqual(await actionsIn(business.id), ['member.invited', 'member.invitation_withdrawn']);
});

test('an invitation that was used meanwhile cannot be withdrawn, and the page says so', async () => {
  const { owner } = await newOwner();
  const { user, browser } = await newPerson();
  const link = await inviteInBrowser(owner, { email: user.email });
  const [withdrawal = ''] = await listWithdrawActions(owner);
  const list = await owner.open(`${MEMBERS}/invitations`);
  await join(browser, link);

  const late = await owner.submit(list, withdrawal);

  assert.equal(late.status, 409);
  assert.match(late.text, /Someone has joined with this invitation already/);
});

test('only owners of the business can withdraw an invitation: others get 404 [D5]', async () => {
  const { business, owner } = await newOwner();
  const link = await inviteInBrowser(owner);
  const [withdrawal = ''] = await listWithdrawActions(owner);
  const { owner: stranger } = await newOwner();
  const admin = await server.signedIn(await server.addUser(`Person${people++}`, [[business, 'admin']]));

  for (const browser of [stranger, admin]) {
    assert.equal((await browser.post(withdrawal, { csrf: await browser.csrf() })).status, 404);
  }
  assert.equal((await server.browse().open(link)).status, 200);
});

test('invitations end when their owner becomes an admin or is disabled', async () => {
  const { business, owner } = await newOwner();
  const other = await server.addUser(`Person${people++}`, [[business, 'owner']]);
  const browser = await server.signedIn(other);
  const first = await inviteInBrowser(browser, { role: 'owner' });
  const manage = `${MEMBERS}/${other.id}`;
  await owner.submit(await owner.open(manage), `${manage}/role`, { role: 'admin' });
  const demoted = await server.browse().open(first);
  await submitConfirmed(owner, await owner.open(manage), `${manage}/role`, { role: 'owner' });
  const { user: guest, browser: person } = await newPerson();
  const second = await inviteInBrowser(browser, { role: 'owner', email: guest.email });
  await server.storage().durable.updateTable('users').set({ disabled_at: 1 }).where('id', '=', other.id).execute();

  const disabled = await person.post(second, { csrf: await person.csrf() });

  assert.deepEqual([demoted.status, disabled.status], [410, 410]);
  assert.equal((await membersOf(business.id)).length, 2);
});

test('a member sees that they are one already, and the invitation stays open', async () => {
  const { business, owner, user } = await newOwner();
  const guest = await newPerson();
  const link = await inviteInBrowser(owner, { role: 'member', email: guest.user.email });

  const page = await owner.open(link);
  const forced = await owner.post(link, { csrf: await owner.csrf() });
  const joined = await join(guest.browser, link);

  assert.match(page.text, /You are already a member of <bdi>Bolt/);
  assert.equal(forced.status, 400);
  assert.match(forced.text, /You are already a member of <bdi>Bolt/);
  assert.match(joined.text, /Welcome to the business\./);
  const roles = await server.storage().durable.selectFrom('memberships').selectAll().execute();
  assert.equal(roles.find((row) => row.user_id === user.id && row.business_id === business.id)?.role, 'owner');
});

test('a person with an account signs in first, and returns to the invitation', async () => {
  const { owner } = await newOwner();
  const user = await server.addUser(`Person${people++}`);
  const link = await inviteInBrowser(owner, { email: user.email });
  const browser = server.browse();

  const offered = await browser.open(link);
  const [, signIn = ''] = /href="(\/sign-in\?[^"]*)"/.exec(offered.text) ?? [];
  const back = await browser.signIn(user.email, PASSWORD, await browser.open(signIn));
  const joined = await browser.submit(back, link);

  assert.equal(new URL(back.url).pathname, link);
  assert.match(back.text, new RegExp(`Join as <bdi>${user.name}`));
  assert.match(joined.text, /Welcome to the business\./);
});

test('without a session an invitation offers a new account first, and to sign in second, in one card', async () => {
  const { owner } = await newOwner();

  const { text } = await server.browse().open(await inviteInBrowser(owner));
  const actions = [...text.matchAll(/class="(?:button )?(primary|secondary) wide"[^>]*>([^<]*)</g)];

  assert.deepEqual(
    actions.map(([, style, name]) => [style, name]),
    [
      ['primary', 'Create account and join'],
      ['secondary', 'Sign in to join'],
    ],
  );
  assert.equal(text.match(/class="card"/g)?.length, 1);
});

test('the join form leads to the sign-in page if there is no session', async () => {
  const { business, owner } = await newOwner();
  const link = await inviteInBrowser(owner);
  const browser = server.browse();

  const response = await browser.post(link, { csrf: await browser.csrf() });

  assert.match(response.text, /<h1>Sign in<\/h1>/);
  assert.match(response.text, new RegExp(`name="return_to" value="${link}"`));
  assert.equal((await membersOf(business.id)).length, 1);
});

test('a new user creates an account with the link, is signed in and a member, and can sign in again', async () => {
  const { business, owner } = await newOwner();
  const link = await inviteInBrowser(owner, { email: 'Nora@Example.com' });
  const browser = server.browse();
  const typed = { name: 'Nora New', email: 'somebody.else@example.com', password: PASSWORD };

  const joined = await browser.submit(await browser.open(link), `${link}/account`, typed);
  const later = server.browse();
  const signedIn = await later.signIn('nora@example.com', PASSWORD);

  assert.match(joined.text, /Welcome to the business\./);
  assert.match(joined.text, /Nora New/);
  assert.match(signedIn.text, /Connected apps/);
  assert.equal((await membersOf(business.id)).length, 2);
  const entries = await server.storage().durable.selectFrom('audit_entries').selectAll().orderBy('id').execute();
  const theirs = entries.filter(({ actor_name }) => actor_name === 'Nora New').map(({ action }) => action);
  assert.deepEqual(theirs.slice(0, 3), ['user.added', 'member.joined', 'session.started']);
  const [row] = await server.storage().durable.selectFrom('users').selectAll().where('name', '=', 'Nora New').execute();
  assert.equal(row?.platform_admin, 0);
});

test('a new user sees errors beside each field, and the invitation stays open', async () => {
  const { business, owner } = await newOwner();
  const link = await inviteInBrowser(owner, { email: 'olga@example.com' });
  const browser = server.browse();
  const page = await browser.open(link);
  const good = { name: 'Olga', password: PASSWORD };
  const wrongs: [field: string, fields: Record<string, string | string[]>, message: RegExp][] = [
    ['name', { name: '' }, /Enter a name\./],
    ['password', { password: 'short' }, /Use at least 8 characters/],
    ['password', { password: [PASSWORD, PASSWORD] }, /Use at least 8 characters/],
    ['password', { password: 'password1' }, /attackers try first/],
  ];

  for (const [field, fields, message] of wrongs) {
    const { status, text } = await browser.submit(page, `${link}/account`, { ...good, ...fields });
    assert.equal(status, 400, field);
    assert.match(text, new RegExp(`id="${field}-problem">[^<]*${message.source}`));
    if (field === 'password') assert.match(text, /value="Olga"/);
    assert.ok(!text.includes(PASSWORD));
  }
  assert.equal((await membersOf(business.id)).length, 1);
  assert.equal(browser.cookies.has('__Host-session'), false);
  assert.match((await browser.submit(page, `${link}/account`, good)).text, /Welcome to the business\./);
});

test('of five people who create an account with one link at the same time, one succeeds and the others leave nothing behind', async () => {
  const { business, owner } = await newOwner();
  const link = await inviteInBrowser(owner);
  const browsers = Array.from({ length: 5 }, () => server.browse());
  const opened = await Promise.all(browsers.map(async (browser) => ({ browser, page: await browser.open(link) })));

  const responses = await Promise.all(
    opened.map(({ browser, page }, i) => {
      const typed = { name: `Racer ${i}`, password: PASSWORD };
      return browser.submit(page, `${link}/account`, typed);
    }),
  );

  assert.deepEqual(responses.map(({ status }) => status).sort(), [200, ...Array(4).fill(400)]);
  const users = await server.storage().durable.selectFrom('users').selectAll().execute();
  assert.equal(users.filter(({ name }) => name.startsWith('Racer')).length, 1);
  assert.equal((await membersOf(business.id)).length, 2);
});

test('creating accounts is limited by address like signing in, and the form says so [S9]', async () => {
  const own = await startTestServer({ LIMIT_SIGN_IN_PER_ADDRESS: '3' });
  const link = await inviteInBrowser(await own.signedIn(), { email: own.ada.email });
  const browser = own.browse();
  const page = await browser.open(link);
  const typed = { name: 'Pat', password: PASSWORD };

  const statuses = [];
  for (let i = 0; i < 4; i++) statuses.push((await browser.submit(page, `${link}/account`, typed)).status);
  const limited = await browser.submit(page, `${link}/account`, typed);

  assert.deepEqual(statuses, [400, 400, 400, 429]);
  assert.match(limited.text, /id="password-problem">Too many attempts/);
  assert.match(limited.text, /value="Pat"/);
  assert.ok(Number(limited.headers.get('retry-after')) > 0);
});

test('an unknown link says only that it does not work, for every method', async () => {
  const { browser } = await newPerson();
  const csrf = await browser.csrf();
  const visitor = server.browse();
  for (const token of ['x', 'A'.repeat(43), '%00', '..%2f..', '%F0%9F%98%80']) {
    const opened = await browser.open(`/invitation/${token}`);
    assert.equal(opened.status, 404, token);
    assert.match(opened.text, /This link does not work/);
    assert.equal((await browser.post(`/invitation/${token}`, { csrf })).status, 404);
    assert.equal((await visitor.post(`/invitation/${token}/account`, { csrf: await visitor.csrf() })).status, 404);
  }
});

test('the pages of an invitation are not cached and send no referrer to other sites [C9]', async () => {
  const { owner } = await newOwner();
  const link = await inviteInBrowser(owner);

  for (const { headers } of [await server.browse().open(link), await owner.open(link)]) {
    assert.equal(headers.get('cache-control'), 'no-store');
    assert.equal(headers.get('referrer-policy'), 'same-origin');
  }
});

test('names are shown as text, and no markup in them runs [S17]', async () => {
  const markup = `"'><img src=x onerror=alert(1)>`;
  const business = await server.addBusiness(markup);
  const user = await server.addUser(`Owner${people++}`, [[business, 'owner']]);
  const owner = await server.signedIn(user);
  const { user: guest, browser } = await newPerson();
  const made = await owner.submit(await owner.open(INVITE), INVITE, { role: 'member', email: guest.email });

  for (const page of [
    made,
    await owner.open(MEMBERS),
    await owner.open(`${MEMBERS}/invitations`),
    await owner.open(`${MEMBERS}/${user.id}`),
    await owner.open(`${MEMBERS}/${user.id}/remove`),
    await owner.open(invitationLink(made)),
    await browser.open(invitationLink(made)),
    await server.browse().open(invitationLink(made)),
  ]) {
    assert.doesNotMatch(page.text, /<img/);
    assert.match(page.text, /&quot;&#39;&gt;&lt;img src=x onerror=alert\(1\)&gt;/);
  }
});
