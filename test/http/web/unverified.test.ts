import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCommandRunner } from '../../support/command-runner.ts';
import { inviteInBrowser } from '../../support/invitations.ts';
import { startTestServer } from '../../support/test-server.ts';
import { registerByInvitation } from '../../support/unverified.ts';

const BADGE = /Address not verified/;
const server = await startTestServer();
const operator = createCommandRunner(server);
const root = await server.signedIn(await server.addUser('Root', [], true));
const acme = await server.signedIn();
const evil = await server.addBusiness('Evil');
const MEMBERS = `/businesses/${evil.id}/members`;
const mallory = await server.signedIn(await server.addUser('Mallory', [[evil, 'owner']]));
let victims = 0;

/** An account that Mallory has created for someone else’s address. */
const hijack = () => {
  const email = `victim-${++victims}@example.com`;
  return registerByInvitation(server, { owner: mallory, name: `Victim ${victims}`, email });
};

async function businessesOf({ id }: { id: string }): Promise<string[]> {
  const rows = await server.storage().durable.selectFrom('memberships').selectAll().where('user_id', '=', id).execute();
  return rows.map(({ business_id }) => business_id);
}

test('an account created with an invitation belongs to that business, and cannot join another by signing in [E2]', async () => {
  const { user, browser } = await hijack();
  const link = await inviteInBrowser(acme, { email: user.email });

  const opened = await browser.open(link);
  const forced = await browser.post(link, { csrf: await browser.csrf() });

  assert.equal(opened.status, 200);
  assert.match(opened.text, /Your email address is not verified yet/);
  assert.match(
    opened.text,
    /Ask a platform admin or an operator of <bdi>Gatehouse<\/bdi>\. They can give you a one-time link/,
  );
  assert.doesNotMatch(opened.text, /Join as/);
  assert.equal(forced.status, 400);
  assert.deepEqual(await businessesOf(user), [evil.id]);
  assert.equal((await browser.open(MEMBERS)).status, 200);
});

test('an unverified account that has left every business cannot join another either [E2]', async () => {
  const { user, browser } = await hijack();
  await browser.submit(await browser.open(`${MEMBERS}/${user.id}/remove`), `${MEMBERS}/${user.id}/remove`);
  const link = await inviteInBrowser(acme, { email: user.email });

  const forced = await browser.post(link, { csrf: await browser.csrf() });

  assert.equal(forced.status, 400);
  assert.deepEqual(await businessesOf(user), []);
});

test('an unverified account can rejoin the business whose invitation created it', async () => {
  const { user, browser } = await hijack();
  await browser.submit(await browser.open(`${MEMBERS}/${user.id}/remove`), `${MEMBERS}/${user.id}/remove`);
  const link = await inviteInBrowser(mallory, { email: user.email });

  await browser.submit(await browser.open(link), link);

  assert.deepEqual(await businessesOf(user), [evil.id]);
});

test('an invitation can be accepted only by the account of its address [E2]', async () => {
  const bob = await server.addUser('Bob');
  const eve = await server.signedIn(await server.addUser('Eve'));
  const link = await inviteInBrowser(acme, { email: bob.email });

  const opened = await eve.open(link);
  const forced = await eve.post(link, { csrf: await eve.csrf() });
  const meant = await server.signedIn(bob);
  const joined = await meant.submit(await meant.open(link), link);

  assert.match(opened.text, /This invitation is for a different address/);
  assert.match(opened.text, /bob@example\.com/);
  assert.equal(forced.status, 400);
  assert.match(joined.text, /Welcome to the business\./);
});

test('an invitation to an address that looks like the one of an account cannot create a second account [E3]', async () => {
  const coco = await server.addUser('Coco');
  const link = await inviteInBrowser(acme, { email: '\u0441\u043e\u0441\u043e@example.com' });
  const newcomer = server.browse();

  const rejected = await newcomer.submit(await newcomer.open(link), `${link}/account`, {
    name: 'Coco',
    password: 'a whole new drawbridge',
  });
  const browser = await server.signedIn(coco);
  const joined = await browser.submit(await browser.open(link), link);

  assert.equal(rejected.status, 400);
  assert.match(rejected.text, /There is already an account with this email address\./);
  assert.match(joined.text, /Welcome to the business\./);
});

test('the page of an invitation is the same whether or not its address has an account [E6]', async () => {
  const dora = await server.addUser('Dora');
  const pages = [];
  for (const email of [dora.email, 'nova@example.com']) {
    const link = await inviteInBrowser(acme, { email });
    const { status, text } = await server.browse().open(link);
    const token = link.replace('/invitation/', '');
    pages.push([
      status,
      text
        .replaceAll(email, 'X')
        .replaceAll(token, 'T')
        .replace(/name="csrf" value="[^"]*"/, ''),
    ]);
  }

  assert.deepEqual(pages[0], pages[1]);
});

test('an unverified address is marked wherever it is shown', async () => {
  const { user, browser } = await hijack();
  const pages = {
    'the members': () => mallory.open(MEMBERS),
    'a member': () => mallory.open(`${MEMBERS}/${user.id}`),
    'all users': () => root.open(`/platform/users?q=${user.email}`),
    'a user': () => root.open(`/platform/users/${user.id}`),
    'a business': () => root.open(`/platform/businesses/${evil.id}`),
    'their own account': () => browser.open('/settings/account'),
  };

  for (const [what, open] of Object.entries(pages)) assert.match((await open()).text, BADGE, what);
  assert.doesNotMatch((await acme.open(server.acmePath('members'))).text, BADGE);
});

test('a platform admin marks an address as verified, and the account can join another business', async () => {
  const { user, browser } = await hijack();
  const link = await inviteInBrowser(acme, { email: user.email });
  const path = `/platform/users/${user.id}`;

  const marked = await root.submit(await root.open(path), `${path}/verify-email`);
  const joined = await browser.submit(await browser.open(link), link);

  assert.match(marked.text, /The email address is marked as verified\./);
  assert.doesNotMatch(marked.text, BADGE);
  assert.match(joined.text, /Welcome to the business\./);
  const entries = await server
    .storage()
    .durable.selectFrom('audit_entries')
    .selectAll()
    .where('subject_id', '=', user.id)
    .execute();
  const entry = entries.find(({ action }) => action === 'user.email_verified');
  assert.deepEqual([entry?.actor_kind, entry?.actor_name, entry?.business_id], ['platform', 'Root', null]);
});

test('an operator cannot add an unverified account to a business until the address is verified [E2]', async () => {
  const { user } = await hijack();
  const wanted = { user: user.id, business: server.acme.id, role: 'member' };

  await assert.rejects(operator('member add', wanted), /The email address of this user is not verified/);
  const verified = await operator('user verify-email', { user: user.id });
  await operator('member add', wanted);

  assert.ok(verified.emailVerifiedAt > 0);
  assert.deepEqual((await businessesOf(user)).sort(), [evil.id, server.acme.id].sort());
});

test('an account that an operator adds has a verified address', async () => {
  const typed = { email: 'op@example.com', name: 'Op', password: 'a whole new drawbridge' };

  assert.ok((await operator('user add', typed)).emailVerifiedAt > 0);
});
