import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Role } from '../../../src/accounts/memberships.ts';
import { newId } from '../../../src/lib/ids.ts';
import { type Browser, nextPageLink } from '../../support/browser.ts';
import { addMembers } from '../../support/bulk-data.ts';
import { inviteInBrowser } from '../../support/invitations.ts';
import { submitConfirmed } from '../../support/questions.ts';
import { startTestServer } from '../../support/test-server.ts';
import { setUpTwoStep } from '../../support/two-step.ts';

const server = await startTestServer();
const MEMBERS = '/settings/members';
const ada = await server.signedIn();

/** Each test has its own business, with an owner for each name. */
async function newBusiness(name: string, ...owners: string[]) {
  const business = await server.addBusiness(name);
  const people = await Promise.all(owners.map((owner) => newMember(owner, business, 'owner')));
  return { business, people };
}

async function newMember(name: string, business = server.acme, role: Role = 'member') {
  const user = await server.addUser(name, [[business, role]]);
  return { user, browser: await server.signedIn(user) };
}

const role = (userId: string) => `${MEMBERS}/${userId}/role`;
const removal = (userId: string) => `${MEMBERS}/${userId}/remove`;

async function setRole(owner: Browser, userId: string, wanted: string) {
  const page = await owner.open(`${MEMBERS}/${userId}`);
  if (wanted === 'owner') return submitConfirmed(owner, page, role(userId), { role: wanted });
  return owner.submit(page, role(userId), { role: wanted });
}

async function remove(by: Browser, userId: string) {
  return by.submit(await by.open(removal(userId)), removal(userId));
}

/** Posts a form from a page that was opened while there was another owner. */
async function leaveAnyway({ user, browser }: { user: { id: string }; browser: Browser }, businessId: string) {
  return browser.post(removal(user.id), { csrf: await browser.csrf(), business: businessId });
}

async function rolesIn(businessId: string): Promise<string[]> {
  const rows = await server.storage().durable.selectFrom('memberships').selectAll().execute();
  return rows.filter(({ business_id }) => business_id === businessId).map((row) => row.role);
}

async function entriesIn(businessId: string) {
  const entries = await server.storage().durable.selectFrom('audit_entries').selectAll().orderBy('id').execute();
  return entries
    .filter(({ business_id, action }) => business_id === businessId && action.startsWith('member.'))
    .map(({ action, actor_name, subject_name, detail }) => [action, actor_name, subject_name, JSON.parse(detail)]);
}

test('owners and admins see who has set up two-step sign-in; members do not', async () => {
  const { business, people } = await newBusiness('Fjord', 'Olga');
  const { browser: admin } = await newMember('Axel', business, 'admin');
  const { browser: member, user } = await newMember('Mona', business);
  await setUpTwoStep(server, member);
  const statusOf = ({ text }: { text: string }, email: string) =>
    new RegExp(`<p class="muted small">${email}</p>.*?(Two-step on|Two-step off)`, 's').exec(text)?.[1];

  for (const browser of [people[0]?.browser, admin]) {
    assert.ok(browser);
    const list = await browser.open(MEMBERS);
    assert.equal(statusOf(list, user.email), 'Two-step on');
    assert.equal(statusOf(list, 'olga@example.com'), 'Two-step off');
  }
  assert.doesNotMatch((await member.open(MEMBERS)).text, /Two-step o/);
});

test('every member sees the list of members; only owners see how to manage it', async () => {
  const { browser: bob } = await newMember('Bob');

  const seen = await bob.open(MEMBERS);
  const owned = await ada.open(MEMBERS);

  assert.match(seen.text, /<strong>Ada<\/strong>.*?<span class="badge">Owner<\/span>/s);
  assert.match(seen.text, /bob@example\.com<.*?Since <time datetime="2030-01-01/s);
  assert.doesNotMatch(seen.text, /Manage|Invit/);
  assert.match(owned.text, /aria-label="Manage Bob"/);
  assert.match(owned.text, /Invite someone/);
});

test('a user without a business sees how to join one', async () => {
  const { text, status } = await (await server.signedIn(await server.addUser('Alone'))).open(MEMBERS);

  assert.equal(status, 200);
  assert.match(text, /You are not a member of any business yet/);
});

test('members of another business are not listed, and searching finds by name and by email', async () => {
  const { people } = await newBusiness('Bolt', 'Bea');
  await newMember('Zoë');

  const search = async (browser: Browser, q: string) =>
    (await browser.open(`${MEMBERS}?${new URLSearchParams({ q })}`)).text;

  assert.match(await search(ada, 'ZOË'), />Zoë<\/a>/);
  assert.match(await search(ada, 'zoë@EXAMPLE'), />Zoë<\/a>/);
  assert.doesNotMatch(await search(ada, 'zoë'), />Ada<\/a>/);
  assert.doesNotMatch(await search(ada, 'Bea'), />Bea<\/a>/);
  for (const q of ['%', '_', "' or 1=1 --"]) assert.doesNotMatch(await search(ada, q), />Ada<\/a>/);
  assert.doesNotMatch((await people[0]?.browser.open(MEMBERS))?.text ?? '', /Zoë/);
});

test('ten thousand members are listed fifty at a time, on a small page', async () => {
  const { business, people } = await newBusiness('Crowd', 'Cas');
  const userIds = Array.from({ length: 10_000 }, () => newId(server.clock()));
  await addMembers(server.storage(), { businessId: business.id, userIds }, server.clock());
  const owner = people[0]?.browser as Browser;

  const first = await owner.open(MEMBERS);
  const searched = await owner.open(`${MEMBERS}?q=person-77@`);
  const next = nextPageLink(first) ?? '';
  const second = await owner.open(next);

  const names = ({ text }: { text: string }) => [...text.matchAll(/aria-label="Manage ([^"]*)"/g)].map(([, n]) => n);
  assert.equal(names(first).length, 50);
  assert.equal(new Set([...names(first), ...names(second)]).size, 100);
  assert.deepEqual(names(searched), ['Person 77']);
  assert.ok(Buffer.byteLength(first.text) < 50_000, `${first.text.length} bytes`);
});

test('a new role applies from the next request on, and the log names the old and the new one', async () => {
  const { business, people } = await newBusiness('Delta', 'Dan');
  const owner = people[0]?.browser as Browser;
  const { user, browser } = await newMember('Dot', business);

  const before = await browser.open('/settings/developer/new');
  const done = await setRole(owner, user.id, 'admin');
  const after = await browser.open('/settings/developer/new');
  await setRole(owner, user.id, 'owner');
  const asOwner = await browser.open(`${MEMBERS}/invite`);
  await setRole(owner, user.id, 'member');
  const noMore = await browser.open(`${MEMBERS}/invite`);

  assert.notEqual(before.status, 200);
  assert.match(done.text, /The role has been changed\./);
  assert.deepEqual([after.status, asOwner.status, noMore.status], [200, 200, 404]);
  assert.deepEqual(await entriesIn(business.id), [
    ['member.role_changed', 'Dan', 'Dot', { from: 'member', to: 'admin' }],
    ['member.role_changed', 'Dan', 'Dot', { from: 'admin', to: 'owner' }],
    ['member.role_changed', 'Dan', 'Dot', { from: 'owner', to: 'member' }],
  ]);
});

test('an unknown role is rejected beside the field, and the same role again changes nothing', async () => {
  const { business, people } = await newBusiness('Echo', 'Eve');
  const owner = people[0]?.browser as Browser;
  const { user } = await newMember('Ed', business);
  const page = await owner.open(`${MEMBERS}/${user.id}`);

  for (const wrong of ['king', '', ['owner', 'admin'], '__proto__']) {
    const rejected = await owner.submit(page, role(user.id), { role: wrong });
    assert.equal(rejected.status, 400);
    assert.match(rejected.text, /id="role-problem">A role must be one of owner, admin, member\./);
  }
  await owner.submit(page, role(user.id), { role: 'member' });

  assert.deepEqual((await rolesIn(business.id)).sort(), ['member', 'owner']);
  assert.deepEqual(await entriesIn(business.id), []);
});

test('the grants of a removed member stop at the next call, and the next refresh says why [P10]', async () => {
  const { user, browser } = await newMember('Fay');
  const tokens = await server.connect({}, browser);
  const stayed = await server.connect({}, ada);

  const confirmation = await ada.open(removal(user.id));
  const done = await ada.submit(confirmation, removal(user.id));
  const called = await server.listInvoices(tokens.access_token);
  const refreshed = await server.refresh(tokens.refresh_token);

  assert.match(confirmation.text, /Choose what happens to the apps that Fay connected to Acme\./);
  assert.match(confirmation.text, /<legend>Ledger <\/legend>/);
  assert.match(done.text, /The member has been removed\./);
  assert.equal(called.status, 401);
  assert.match(refreshed.body.error_description, /member_removed/);
  assert.equal((await server.listInvoices(stayed.access_token)).status, 200);
  assert.match((await browser.open(MEMBERS)).text, /not a member of any business/);
  const events = await server.storage().durable.selectFrom('events').selectAll().execute();
  const revoked = events.filter(({ type, data }) => type === 'grant.revoked' && JSON.parse(data).userId === user.id);
  assert.deepEqual(
    revoked.map(({ data }) => JSON.parse(data).reason),
    ['member_removed'],
  );
});

test('a later membership restores neither tokens nor consents', async () => {
  const { user, browser } = await newMember('Gil');
  const tokens = await server.connect({}, browser);

  await remove(ada, user.id);
  await server.addMember(user, server.acme);

  assert.equal((await server.listInvoices(tokens.access_token)).status, 401);
  assert.match(
    (await browser.open(server.authorizeUrl())).text,
    /<strong><bdi>Ledger<\/bdi><\/strong> wants to access/,
  );
});

test('every member can leave, and an owner can while there is another one', async () => {
  const { business, people } = await newBusiness('Golf', 'Gus', 'Gia');
  const [gus, gia] = people as [(typeof people)[0], (typeof people)[0]];
  const { user, browser } = await newMember('Gem', business);

  const left = await remove(browser, user.id);
  const leftAsOwner = await remove(gus.browser, gus.user.id);
  const confirmation = await gia.browser.open(removal(gia.user.id));
  const stuck = await leaveAnyway(gia, business.id);
  const stillOwner = await setRole(gia.browser, gia.user.id, 'member');

  assert.match(left.text, /You have left the business\./);
  assert.match(leftAsOwner.text, /You have left the business\./);
  assert.match(confirmation.text, /<h1>You cannot leave Golf yet<\/h1>/);
  assert.match(confirmation.text, /You are the only owner\. Make someone else an owner first/);
  assert.doesNotMatch(confirmation.text, /<form[^>]*\/remove"/);
  for (const rejected of [stuck, stillOwner]) {
    assert.equal(rejected.status, 400);
    assert.match(rejected.text, /A business needs at least one owner\./);
  }
  assert.deepEqual(await rolesIn(business.id), ['owner']);
  assert.deepEqual(await entriesIn(business.id), [
    ['member.removed', 'Gem', 'Gem', { role: 'member' }],
    ['member.removed', 'Gus', 'Gus', { role: 'owner' }],
  ]);
});

test('a disabled owner does not count as the last owner', async () => {
  const { business, people } = await newBusiness('Hotel', 'Hal', 'Hue');
  const [hal, hue] = people as [(typeof people)[0], (typeof people)[0]];
  await server.storage().durable.updateTable('users').set({ disabled_at: 1 }).where('id', '=', hue.user.id).execute();

  const confirmation = await hal.browser.open(removal(hal.user.id));
  const rejected = await leaveAnyway(hal, business.id);

  assert.match(confirmation.text, /You are the only owner/);
  assert.equal(rejected.status, 400);
  assert.equal((await rolesIn(business.id)).length, 2);
});

test('if two owners demote or remove each other at the same time, one owner remains', async () => {
  const names = ['Ivy', 'Ian', 'Ina', 'Ike', 'Ida', 'Ira', 'Isa', 'Ils'];
  for (let round = 0; round < names.length; round += 2) {
    const { business, people } = await newBusiness('India', ...names.slice(round, round + 2));
    const [a, b] = people as [(typeof people)[0], (typeof people)[0]];
    const [path, fields] = round % 4 === 0 ? [removal, {}] : [role, { role: 'member' }];
    const pages = await Promise.all([
      a.browser.open(round % 4 === 0 ? removal(b.user.id) : `${MEMBERS}/${b.user.id}`),
      b.browser.open(round % 4 === 0 ? removal(a.user.id) : `${MEMBERS}/${a.user.id}`),
    ]);

    const responses = await Promise.all([
      a.browser.submit(pages[0], path(b.user.id), fields),
      b.browser.submit(pages[1], path(a.user.id), fields),
    ]);

    const statuses = responses.map(({ status }) => status).sort();
    assert.deepEqual(statuses, [200, 404], `round ${round}`);
    assert.equal((await rolesIn(business.id)).filter((each) => each === 'owner').length, 1);
  }
});

test('if two owners leave at the same time, one stays', async () => {
  const { business, people } = await newBusiness('Juliet', 'Jan', 'Jo');
  const pages = await Promise.all(people.map(({ user, browser }) => browser.open(removal(user.id))));

  const responses = await Promise.all(
    people.map(({ user, browser }, i) => browser.submit(pages[i] as (typeof pages)[0], removal(user.id))),
  );

  assert.deepEqual(responses.map(({ status }) => status).sort(), [200, 400]);
  assert.deepEqual(await rolesIn(business.id), ['owner']);
});

test('a removed member is removed once, however often the form is sent', async () => {
  const { business, people } = await newBusiness('Kilo', 'Kai');
  const owner = people[0]?.browser as Browser;
  const { user } = await newMember('Kit', business);
  const page = await owner.open(removal(user.id));

  const responses = await Promise.all([1, 2, 3].map(() => owner.submit(page, removal(user.id))));

  assert.deepEqual(responses.map(({ status }) => status).sort(), [200, 404, 404]);
  assert.equal((await entriesIn(business.id)).length, 1);
});

test('a form changes the business of its page, and not the one that the owner of both chose meanwhile', async () => {
  const { business: lima } = await newBusiness('Lima', 'Lex');
  const mike = await server.addBusiness('Mike');
  const boss = await server.addUser('Boss', [
    [lima, 'owner'],
    [mike, 'owner'],
  ]);
  const both = await server.addUser('Both', [
    [lima, 'member'],
    [mike, 'member'],
  ]);
  const browser = await server.signedIn(boss);
  const [confirmation, managed] = [await browser.open(removal(both.id)), await browser.open(`${MEMBERS}/${both.id}`)];
  await browser.submit(confirmation, '/settings/current-business', { business: mike.id });

  await submitConfirmed(browser, managed, role(both.id), { role: 'owner' });
  const promoted = await rolesIn(lima.id);
  await browser.submit(confirmation, removal(both.id));

  assert.deepEqual(promoted.sort(), ['owner', 'owner', 'owner']);
  assert.deepEqual((await rolesIn(lima.id)).sort(), ['owner', 'owner']);
  assert.deepEqual((await rolesIn(mike.id)).sort(), ['member', 'owner']);
});

/** The paths that are only for owners, for a given member. */
const OWNERS: [verb: string, path: (userId: string) => string][] = [
  ['GET', () => `${MEMBERS}/invite`],
  ['POST', () => `${MEMBERS}/invite`],
  ['GET', () => `${MEMBERS}/invitations`],
  ['POST', (id) => `${MEMBERS}/invitations/${id}/withdraw`],
  ['GET', (id) => `${MEMBERS}/${id}`],
  ['POST', role],
  ['GET', removal],
  ['POST', removal],
];

test('members, admins and owners of other businesses get 404 for the pages of owners [D5]', async () => {
  const { business, people } = await newBusiness('November', 'Nan');
  const stranger = people[0]?.browser as Browser;
  const { user: target } = await newMember('Ned');
  const { browser: admin } = await newMember('Nia', server.acme, 'admin');
  const { browser: member } = await newMember('Noa');
  const before = await rolesIn(server.acme.id);

  for (const [verb, path] of OWNERS) {
    const isAboutSomeone = path('x').includes('x/') || path('x').endsWith('/x');
    for (const browser of isAboutSomeone ? [admin, member, stranger] : [admin, member]) {
      for (const id of isAboutSomeone ? [target.id, server.ada.id] : ['']) {
        const fields = { csrf: await browser.csrf(), business: business.id, role: 'owner' };
        const response = verb === 'GET' ? await browser.open(path(id)) : await browser.post(path(id), fields);
        assert.equal(response.status, 404, `${verb} ${path(id)}`);
      }
    }
  }
  assert.deepEqual(await rolesIn(server.acme.id), before);
});

test('unknown and malformed ids are 404, for every method', async () => {
  const csrf = await ada.csrf();
  for (const id of ['x', newId(server.clock()), `${server.ada.id.toUpperCase()}`, '%00', 'a'.repeat(90)]) {
    for (const path of [`${MEMBERS}/${id}`, role(id), removal(id), `${MEMBERS}/invitations/${id}/withdraw`]) {
      assert.equal((await ada.post(path, { csrf, business: server.acme.id, role: 'admin' })).status, 404, path);
      assert.equal((await ada.open(path)).status, 404, path);
    }
  }
});

test('a removed owner loses the pages of the business, and their invitations are withdrawn', async () => {
  const { business, people } = await newBusiness('Oscar', 'Ola', 'Oz');
  const [ola, oz] = people as [(typeof people)[0], (typeof people)[0]];
  const link = await inviteInBrowser(oz.browser, { role: 'owner' });

  await remove(ola.browser, oz.user.id);
  const opened = await oz.browser.open(link);

  assert.equal(opened.status, 410);
  assert.match(opened.text, /This invitation was withdrawn/);
  assert.equal((await oz.browser.open(`/businesses/${business.id}/members/${ola.user.id}`)).status, 404);
  assert.deepEqual(await rolesIn(business.id), ['owner']);
});

test('every page about members has a title of its own', async () => {
  const { people } = await newBusiness('Zulu', 'Zoe', 'Zed');
  const [zoe, zed] = people as [(typeof people)[0], (typeof people)[0]];
  const titleOf = async (path: string) => /<title>(.*?) · /.exec((await zoe.browser.open(path)).text)?.[1];

  assert.equal(await titleOf(MEMBERS), 'Members');
  assert.equal(await titleOf(`${MEMBERS}/invite`), 'Invite someone');
  assert.equal(await titleOf(`${MEMBERS}/invitations`), 'Invitations');
  assert.equal(await titleOf(`${MEMBERS}/${zed.user.id}`), 'Zed');
  assert.equal(await titleOf(removal(zed.user.id)), 'Remove Zed from Zulu?');
  assert.equal(await titleOf(removal(zoe.user.id)), 'Leave Zulu?');
});

test('the page of a member says on what a password link depends, and removal leads back to it', async () => {
  const { business, people } = await newBusiness('Yard', 'Yves');
  const owner = people[0]?.browser as Browser;
  const { user, browser } = await newMember('Yuri', business);

  const page = await owner.open(`${MEMBERS}/${user.id}`);
  const removing = await owner.open(removal(user.id));
  const leaving = await browser.open(removal(user.id));

  assert.match(page.text, /This works only if Yuri belongs to no other business\./);
  assert.ok(removing.text.includes(`<a class="back" href="/businesses/${business.id}/members/${user.id}">`));
  assert.ok(leaving.text.includes(`<a class="back" href="/businesses/${business.id}/members">`));
});
