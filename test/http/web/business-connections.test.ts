import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Business } from '../../../src/accounts/businesses.ts';
import type { Role } from '../../../src/accounts/memberships.ts';
import type { User } from '../../../src/accounts/users.ts';
import { OPERATOR } from '../../../src/audit/entries.ts';
import { changeRole, removeMember } from '../../../src/grants/member-changes.ts';
import { disableUser } from '../../../src/grants/suspension.ts';
import { readAuditEntries } from '../../support/audit-entries.ts';
import type { Browser, Fields } from '../../support/browser.ts';
import { createClient } from '../../support/client.ts';
import { PASSWORD } from '../../support/fixtures.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const CONNECTED_APPS = '/settings/connected-apps';
const MINUTE = 60_000;
let count = 0;

/** A business with an owner, and an app that is open to every business. */
async function newWorld() {
  const number = ++count;
  const business = await server.addBusiness(`Harbour ${number}`);
  const app = await server.addApp({ name: `Ledgerly ${number}`, ownerBusinessId: business.id });
  const olga = await join(business, 'Olga', 'owner');
  return { business, app, olga, ...clientOf(app, business, olga) };
}

function clientOf(app: Awaited<ReturnType<typeof server.addApp>>, business: Business, { user }: { user: User }) {
  return { client: createClient({ ...server, user, app, business }) };
}

async function join(business: Business, name: string, role: Role) {
  server.advanceClock(MINUTE);
  const user = await server.addUser(`${name} ${count}`, [[business, role]]);
  return { user, browser: await server.signedIn(user) };
}

type World = Awaited<ReturnType<typeof newWorld>>;

/** The app has had time to sign its user in. */
async function connectFor(whom: 'user' | 'business', world: World, browser: Browser, scope = 'read:invoices') {
  const tokens = await connectNow(whom, world, browser, scope);
  server.advanceClock(10 * MINUTE);
  return tokens;
}

async function connectNow(whom: 'user' | 'business', { client }: World, browser: Browser, scope = 'read:invoices') {
  const page = await browser.open(client.authorizeUrl({ scope }));
  const left = (await browser.submit(page, '/consent', { decision: 'allow', connected_for: whom })).leftTo;
  const { body } = await client.exchange(left?.searchParams.get('code') ?? '');
  return body;
}

const me = async ({ client }: World, token: string) =>
  (await client.get('/api/v1/me', { authorization: `Bearer ${token}` })).body;

async function remove(by: Browser, userId: string, fields: Fields = {}) {
  const path = `/settings/members/${userId}/remove`;
  return by.submit(await by.open(path), path, fields);
}

/** The audit entries about connections of the business, oldest first. */
async function transfersIn({ business }: World) {
  const entries = (await readAuditEntries(server)).filter(({ business_id }) => business_id === business.id);
  return entries
    .filter(({ action }) => action === 'grant.transferred' || action === 'grant.allowed')
    .map(({ action, actor_name, detail }) => ({ action, by: actor_name, ...JSON.parse(detail) }));
}

async function eventsOf({ app }: World, type: string) {
  const rows = await server.storage().durable.selectFrom('events').selectAll().where('app_id', '=', app.id).execute();
  return rows.filter((row) => row.type === type).map(({ data }) => JSON.parse(data));
}

test('owners and admins choose for whom they connect an app, and members do not', async () => {
  const world = await newWorld();
  const member = await join(world.business, 'Mia', 'member');
  const admin = await join(world.business, 'Ann', 'admin');

  const shown = await admin.browser.open(world.client.authorizeUrl());
  const toMember = await member.browser.open(world.client.authorizeUrl());
  const forced = await member.browser.submit(toMember, '/consent', { decision: 'allow', connected_for: 'business' });
  const tokens = await connectFor('business', world, admin.browser);

  assert.match(shown.text, /value="user" checked><span><strong>For me<\/strong>/);
  assert.match(shown.text, /value="business" ><span><strong>For <bdi>Harbour \d+<\/bdi><\/strong>/);
  assert.doesNotMatch(toMember.text, /connected_for/);
  assert.equal(forced.leftTo, undefined, 'a forged choice gives no code');
  assert.match(forced.text, /wants to access/);
  assert.equal((await me(world, tokens.access_token)).connectedFor, 'business');
  assert.equal((await world.client.introspect(tokens.access_token)).body.connected_for, 'business');
  assert.equal((await eventsOf(world, 'grant.created'))[0].connectedFor, 'business');
  assert.deepEqual(await transfersIn(world), [
    { action: 'grant.allowed', by: admin.user.name, scope: 'read:invoices', connected_for: 'the business' },
  ]);
});

test('a public app is connected for a person only, because its tokens are on their device', async () => {
  const { business, olga } = await newWorld();
  const app = await server.addApp({ name: 'Local', ownerBusinessId: business.id, isPublic: true, requiresPkce: true });
  const { client } = clientOf(app, business, olga);
  const challenge = { code_challenge: 'a'.repeat(43), code_challenge_method: 'S256' };

  const page = await olga.browser.open(client.authorizeUrl(challenge));
  const forced = await olga.browser.submit(page, '/consent', { decision: 'allow', connected_for: 'business' });

  assert.match(page.text, /wants to access/);
  assert.doesNotMatch(page.text, /connected_for/);
  assert.equal(forced.leftTo, undefined);
});

test('a connection for the business survives the removal of its person, without interruption', async () => {
  const world = await newWorld();
  const { user, browser } = await join(world.business, 'Ann', 'admin');
  const tokens = await connectFor('business', world, browser);
  // The owner joined after the app was connected.
  const late = await join(world.business, 'Lea', 'owner');

  await remove(late.browser, user.id, { [`connection.${world.app.id}`]: 'take_over' });
  const called = await me(world, tokens.access_token);
  const refreshed = await world.client.refresh(tokens.refresh_token);

  assert.deepEqual([called.user.id, called.user.name], [late.user.id, late.user.name]);
  assert.equal(refreshed.status, 200);
  assert.equal((await world.client.introspect(refreshed.body.access_token)).body.sub, late.user.id);
  const [event] = await eventsOf(world, 'grant.transferred');
  assert.deepEqual([event.previousUserId, event.userId], [user.id, late.user.id]);
  assert.deepEqual(await eventsOf(world, 'grant.revoked'), []);
  assert.deepEqual((await transfersIn(world)).at(-1), {
    action: 'grant.transferred',
    by: late.user.name,
    from: user.name,
    to: late.user.name,
    why: 'member removed',
    scope: 'read:invoices',
  });
});

test('before an owner removes a member, the page lists each connection with its scopes: disconnect it or keep it', async () => {
  const world = await newWorld();
  const { user, browser } = await join(world.business, 'Mia', 'member');
  const taken = await connectFor('user', world, browser);
  const other = await server.addApp({ name: 'Parcelwise', ownerBusinessId: world.business.id });
  const second = { ...world, app: other, ...clientOf(other, world.business, world.olga) };
  const ended = await connectFor('user', second, browser);

  const page = await world.olga.browser.open(`/settings/members/${user.id}/remove`);
  await remove(world.olga.browser, user.id, {
    [`connection.${world.app.id}`]: 'take_over',
    [`connection.${other.id}`]: 'end',
  });

  assert.match(page.text, /<legend>Parcelwise <\/legend>\s*<ul class="scopes"><li>View invoices/);
  assert.match(page.text, /Choose this if Mia \d+ runs the app, or uses it with a personal account/);
  assert.equal([...page.text.matchAll(/value="end" checked/g)].length, 2, 'personal connections end unless chosen');
  assert.equal((await me(world, taken.access_token)).user.id, world.olga.user.id);
  assert.equal((await me(world, taken.access_token)).connectedFor, 'business');
  assert.equal((await second.client.refresh(ended.refresh_token)).body.reason, 'member_removed');
  assert.equal((await transfersIn(world)).at(-1)?.was, 'for the user');
});

test('without a choice, personal connections of a removed member end', async () => {
  const world = await newWorld();
  const { user, browser } = await join(world.business, 'Mia', 'member');
  const tokens = await connectFor('user', world, browser);

  await remove(world.olga.browser, user.id);

  assert.equal((await world.client.refresh(tokens.refresh_token)).body.reason, 'member_removed');
  assert.equal((await transfersIn(world)).length, 1);
});

test('a business connection can be ended with the removal', async () => {
  const world = await newWorld();
  const { user, browser } = await join(world.business, 'Ann', 'admin');
  const tokens = await connectFor('business', world, browser);

  await remove(world.olga.browser, user.id, { [`connection.${world.app.id}`]: 'end' });

  assert.equal((await world.client.refresh(tokens.refresh_token)).body.reason, 'member_removed');
});

test('a take-over fails if the connection has changed since the page was shown: more scopes, or a new connection', async () => {
  const world = await newWorld();
  const { user, browser } = await join(world.business, 'Ann', 'admin');
  const path = `/settings/members/${user.id}/remove`;
  const take = { [`connection.${world.app.id}`]: 'take_over' };
  const before = await world.olga.browser.open(path);
  await connectFor('business', world, browser);

  const unseen = await world.olga.browser.submit(before, path);
  const seen = await world.olga.browser.open(path);
  await connectFor('business', world, browser, 'read:invoices read:contacts');
  const grown = await world.olga.browser.submit(seen, path, take);

  assert.equal(unseen.status, 400);
  assert.match(unseen.text, /has connected Ledgerly \d+ in the meantime\. Decide about it, too\./);
  assert.equal(grown.status, 400);
  assert.match(grown.text, /What Ledgerly \d+ may do has changed\. Review it again\./);
  assert.equal((await world.olga.browser.submit(grown, path, take)).status, 200);
});

test('when a person leaves, their business connections go to the longest-standing other owner, who is notified', async () => {
  const world = await newWorld();
  const second = await join(world.business, 'Sue', 'owner');
  const third = await join(world.business, 'Tom', 'owner');
  const tokens = await connectFor('business', world, third.browser);

  const page = await third.browser.open(`/settings/members/${third.user.id}/remove`);
  await remove(third.browser, third.user.id);

  assert.match(page.text, /connected for Harbour \d+\. They stay, and Olga \d+ becomes responsible for them/);
  assert.equal((await me(world, tokens.access_token)).user.id, world.olga.user.id);
  assert.match((await world.olga.browser.open('/settings/account')).text, /You are responsible for a connection/);
  assert.doesNotMatch((await second.browser.open('/settings/account')).text, /You are responsible for a connection/);
  assert.equal((await transfersIn(world)).at(-1)?.why, 'member left');
});

test('a deleted account leaves its business connections to another owner', async () => {
  const world = await newWorld();
  const { browser } = await join(world.business, 'Ann', 'admin');
  const tokens = await connectFor('business', world, browser);

  const page = await browser.open('/settings/delete-account');
  assert.doesNotMatch(page.text, /the access of/);
  assert.match(page.text, /Apps that you connected for a business stay connected\./);
  await browser.submit(page, '/settings/delete-account', { current_password: PASSWORD });

  assert.equal((await me(world, tokens.access_token)).user.id, world.olga.user.id);
  assert.equal((await transfersIn(world)).at(-1)?.why, 'account deleted');
});

test('connections of an admin who becomes a member move to the owner who demotes them', async () => {
  const world = await newWorld();
  const { user, browser } = await join(world.business, 'Ann', 'admin');
  const tokens = await connectFor('business', world, browser);
  const personal = await server.addApp({ name: 'Own', ownerBusinessId: world.business.id });
  const own = { ...world, app: personal, ...clientOf(personal, world.business, world.olga) };
  const kept = await connectFor('user', own, browser);

  const page = await world.olga.browser.open(`/settings/members/${user.id}`);
  await world.olga.browser.submit(page, `/settings/members/${user.id}/role`, { role: 'member' });

  assert.equal((await me(world, tokens.access_token)).user.id, world.olga.user.id);
  assert.equal((await me(own, kept.access_token)).user.id, user.id);
  assert.equal((await transfersIn(world)).at(-1)?.why, 'role changed');
});

test('an operator who removes a member moves their business connections, and ends the others', async () => {
  const world = await newWorld();
  await join(world.business, 'Sue', 'owner');
  const { user, browser } = await join(world.business, 'Ann', 'admin');
  const tokens = await connectFor('business', world, browser);

  const parties = { userId: user.id, businessId: world.business.id };
  await removeMember(OPERATOR, server.storage().durable, parties, server.clock());

  assert.equal((await me(world, tokens.access_token)).user.id, world.olga.user.id);
  assert.equal((await transfersIn(world)).at(-1)?.by, 'Operator');
});

test('without another owner, a removal ends business connections, and a demotion leaves them as they are', async () => {
  const world = await newWorld();
  const tokens = await connectFor('business', world, world.olga.browser);
  const parties = { userId: world.olga.user.id, businessId: world.business.id };

  await changeRole(OPERATOR, server.storage().durable, { ...parties, role: 'member' }, server.clock());
  const demoted = await me(world, tokens.access_token);
  await removeMember(OPERATOR, server.storage().durable, parties, server.clock());

  assert.equal(demoted.user.id, world.olga.user.id);
  assert.equal((await world.client.refresh(tokens.refresh_token)).body.reason, 'member_removed');
});

test('business connections of a disabled user pause, and an owner can take them over', async () => {
  const world = await newWorld();
  const { user, browser } = await join(world.business, 'Ann', 'admin');
  const tokens = await connectFor('business', world, browser);
  await disableUser(OPERATOR, server.storage().durable, { user }, server.clock());
  const paused = await world.client.listInvoices(tokens.access_token);

  const path = `/businesses/${world.business.id}/connected-apps/${world.app.id}/${user.id}/authority`;
  const page = await world.olga.browser.open(path);
  const done = await world.olga.browser.submit(page, path, { to: world.olga.user.id });

  assert.equal(paused.body.reason, 'user_disabled');
  assert.match(page.text, /What it may do<\/h2>\s*<ul class="scopes"><li>View invoices/);
  assert.match(done.text, /Another owner is now responsible for the connection/);
  assert.match(done.text, /<strong>For Harbour \d+<\/strong>, responsible: Olga/);
  assert.equal((await world.client.listInvoices(tokens.access_token)).status, 200);
  assert.equal((await transfersIn(world)).at(-1)?.why, 'taken over');
});

test('an owner can hand a connection over to another owner only', async () => {
  const world = await newWorld();
  const tokens = await connectFor('business', world, world.olga.browser);
  const sue = await join(world.business, 'Sue', 'owner');
  const admin = await join(world.business, 'Ann', 'admin');
  const path = `/businesses/${world.business.id}/connected-apps/${world.app.id}/${world.olga.user.id}/authority`;
  const page = await world.olga.browser.open(path);

  const rejected = await world.olga.browser.submit(page, path, { to: admin.user.id });
  const byAdmin = await admin.browser.post(path, { csrf: await admin.browser.csrf(), to: admin.user.id });
  const done = await world.olga.browser.submit(page, path, { to: sue.user.id });
  const before = await me(world, tokens.access_token);
  await sue.browser.submit(await sue.browser.open(path), `${path}/answer`, { answer: 'accept' });
  const again = await world.olga.browser.submit(page, path, { to: world.olga.user.id });

  assert.equal(rejected.status, 400);
  assert.match(rejected.text, /Choose an owner of the business\./);
  assert.equal(byAdmin.status, 404);
  assert.equal(done.status, 200);
  assert.equal(before.user.id, world.olga.user.id);
  assert.equal((await me(world, tokens.access_token)).user.id, sue.user.id);
  assert.equal(again.status, 404, 'a page from before the change does nothing');
  assert.equal((await transfersIn(world)).at(-1)?.why, 'handed over');
});

/** Allows the app, and returns the code without exchanging it. */
async function allowForBusiness({ client }: World, browser: Browser): Promise<string> {
  const page = await browser.open(client.authorizeUrl({ scope: 'read:invoices' }));
  const left = (await browser.submit(page, '/consent', { decision: 'allow', connected_for: 'business' })).leftTo;
  return left?.searchParams.get('code') ?? '';
}

test('a person who leaves with a code in their browser does not become the new owner at the app [C2]', async () => {
  const world = await newWorld();
  const { user, browser } = await join(world.business, 'Ann', 'admin');
  const code = await allowForBusiness(world, browser);

  await remove(browser, user.id);
  const late = await world.client.exchange(code);

  assert.deepEqual([late.status, late.body.reason], [400, 'member_removed']);
});

test('a code that is exchanged after a take-over is only for the person who received it [C2]', async () => {
  const world = await newWorld();
  const { user, browser } = await join(world.business, 'Ann', 'admin');
  const earlier = await connectFor('business', world, browser);
  const silent = await browser.open(world.client.authorizeUrl({ scope: 'read:invoices' }));
  const path = `/businesses/${world.business.id}/connected-apps/${world.app.id}/${user.id}/authority`;

  await world.olga.browser.submit(await world.olga.browser.open(path), path, { to: world.olga.user.id });
  const late = await world.client.exchange(silent.leftTo?.searchParams.get('code') ?? '');

  const { user: caller, connectedFor } = await me(world, late.body.access_token);
  assert.deepEqual([caller.id, connectedFor], [user.id, 'user']);
  assert.equal((await me(world, earlier.access_token)).user.id, world.olga.user.id);
});

test('right after a code is exchanged, the connection cannot be handed over: the app may still ask who the user is [C2]', async () => {
  const world = await newWorld();
  const { user, browser } = await join(world.business, 'Otto', 'owner');
  const { access_token } = await connectNow('business', world, world.olga.browser);
  const path = `/businesses/${world.business.id}/connected-apps/${world.app.id}/${world.olga.user.id}/authority`;
  await world.olga.browser.submit(await world.olga.browser.open(path), path, { to: user.id });
  const accept = async () => browser.submit(await browser.open(path), `${path}/answer`, { answer: 'accept' });

  const early = await accept();
  const signedIn = await me(world, access_token);
  server.advanceClock(10 * MINUTE);
  await accept();

  assert.match(early.text, /was connected within the last ten minutes/);
  assert.deepEqual([signedIn.user.id, signedIn.connectedFor], [world.olga.user.id, 'business']);
  assert.equal((await me(world, access_token)).user.id, user.id);
});

test('a person who leaves right after a code is exchanged does not become the new owner at the app [C2]', async () => {
  const world = await newWorld();
  const { user, browser } = await join(world.business, 'Ann', 'admin');
  const { access_token } = await connectNow('business', world, browser);

  await remove(browser, user.id);

  assert.equal((await me(world, access_token)).reason, 'member_removed');
});

test('scopes that the app lacked during a take-over do not come back to its new owner [C7]', async () => {
  const world = await newWorld();
  const { user, browser } = await join(world.business, 'Ann', 'admin');
  const tokens = await connectFor('business', world, browser, 'read:invoices read:contacts');
  const register = (allowed_scopes: string) =>
    server.storage().durable.updateTable('apps').set({ allowed_scopes }).where('id', '=', world.app.id).execute();

  await register('read:invoices');
  await remove(world.olga.browser, user.id, { [`connection.${world.app.id}`]: 'take_over' });
  await register('read:invoices read:contacts');

  assert.equal((await world.client.refresh(tokens.refresh_token)).body.scope, 'read:invoices');
  const screen = await world.olga.browser.open(world.client.authorizeUrl({ scope: 'read:invoices read:contacts' }));
  assert.match(screen.text, /wants to access/);
});

test('members see connections for the business with the person who is responsible for them, and cannot end them', async () => {
  const world = await newWorld();
  await connectFor('business', world, world.olga.browser);
  const { browser } = await join(world.business, 'Mia', 'member');

  const { text } = await browser.open(CONNECTED_APPS);

  assert.match(text, /<strong>For Harbour \d+<\/strong>, responsible: Olga/);
  assert.doesNotMatch(text, /Disconnect Ledgerly|Take over|Hand over/);
});

test('a connection that is taken over joins what the new owner has allowed the app before', async () => {
  const world = await newWorld();
  const own = await connectFor('user', world, world.olga.browser, 'read:contacts');
  const { user, browser } = await join(world.business, 'Ann', 'admin');
  const tokens = await connectFor('business', world, browser);

  await remove(world.olga.browser, user.id, { [`connection.${world.app.id}`]: 'take_over' });

  assert.equal((await me(world, own.access_token)).connectedFor, 'user', 'the other grant is unchanged');
  assert.equal((await me(world, tokens.access_token)).user.id, world.olga.user.id);
  const consents = await server.storage().durable.selectFrom('consents').selectAll().execute();
  const here = consents.filter(({ app_id }) => app_id === world.app.id);
  assert.deepEqual(
    here.map(({ user_id, connected_for, scopes }) => [user_id, connected_for, scopes.split(' ').sort()]),
    [[world.olga.user.id, 'business', ['read:contacts', 'read:invoices']]],
  );
});

test('a connection stays one for the business when more is allowed, also without a screen', async () => {
  const world = await newWorld();
  await connectFor('business', world, world.olga.browser);

  const screen = await world.olga.browser.open(world.client.authorizeUrl({ scope: 'read:invoices read:contacts' }));
  const more = await world.olga.browser.submit(screen, '/consent', { decision: 'allow', connected_for: 'user' });
  const added = await world.client.exchange(more.leftTo?.searchParams.get('code') ?? '');
  const silent = await world.client.connect({ scope: 'read:contacts' }, world.olga.browser);

  assert.match(screen.text, /is connected for <bdi>Harbour \d+<\/bdi>, and you are responsible for the connection/);
  assert.equal((await me(world, added.body.access_token)).connectedFor, 'business');
  assert.equal((await me(world, silent.access_token)).connectedFor, 'business');
});
