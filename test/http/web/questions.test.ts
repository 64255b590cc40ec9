import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findMembership } from '../../../src/accounts/memberships.ts';
import { findApp } from '../../../src/apps/apps.ts';
import { verifyPublisher } from '../../../src/apps/verification.ts';
import { OPERATOR } from '../../../src/audit/entries.ts';
import { MINUTE } from '../../../src/lib/clock.ts';
import type { Browser, Fields } from '../../support/browser.ts';
import { PASSWORD } from '../../support/fixtures.ts';
import { makePng } from '../../support/images.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const { durable: db } = server.storage();

/** The owner of a business with a verified app that has a logo. */
async function newWorld() {
  const business = await server.addBusiness('Borealis');
  const olga = await server.addUser(`Olga${business.id}`, [[business, 'owner']]);
  const owner = await server.signedIn(olga);
  const app = await server.addApp({ name: 'Ledgerly', ownerBusinessId: business.id });
  const page = `/settings/developer/${app.id}`;
  await upload(owner, `${page}/logo`);
  await verifyPublisher(OPERATOR, db, { appId: app.id }, server.clock());
  const read = async () => (await findApp(db, app.id)) ?? assert.fail();
  return { business, olga, owner, page, read, isVerified: async () => (await read()).verifiedAt !== null };
}

async function upload(owner: Browser, path: string, fields: Record<string, string> = {}) {
  const body = new FormData();
  body.append('csrf', await owner.csrf());
  for (const [name, value] of Object.entries(fields)) body.append(name, value);
  body.append('logo', new Blob([new Uint8Array(makePng({ color: [7, 8, Object.keys(fields).length] }))]), 'logo.png');
  return owner.fetch(path, { method: 'POST', body });
}

test('a change that costs the badge is made only after a question: the name, publisher, homepage and logo of an app', async () => {
  const changes: [on: string, action: string, fields: Fields][] = [
    ['', '', { name: 'Ledgerly Pro', redirect_uris: ['https://a.example/', 'https://b.example/'] }],
    ['/identity', '/identity', { publisher: 'Borealis Ltd' }],
    ['/identity', '/identity', { homepage: 'https://ledgerly.example/' }],
    ['/identity', '/logo/remove', {}],
  ];
  for (const [on, action, fields] of changes) {
    const { owner, page, read, isVerified } = await newWorld();
    const before = await read();

    const typed = on === '' ? { scope: 'read:invoices', ...fields } : fields;
    const question = await owner.submit(await owner.open(page + on), page + action, typed);
    const unchanged = await read();
    const wasVerified = await isVerified();
    await owner.submit(question, page + action);

    assert.match(question.text, /<h1>Change Ledgerly and lose the badge\?<\/h1>/);
    assert.match(
      question.text,
      /The Verified publisher badge is removed until the change has been checked: Ledgerly\./,
    );
    assert.deepEqual([unchanged, wasVerified], [before, true]);
    assert.equal(await isVerified(), false);
    const changed = await read();
    assert.notDeepEqual({ ...changed, verifiedAt: null }, { ...before, verifiedAt: null }, action);
    if (on === '') assert.deepEqual(changed.redirectUris, ['https://a.example/', 'https://b.example/']);
  }
});

test('a new logo for a verified app needs a tick that the badge may go', async () => {
  const { owner, page, read, isVerified } = await newWorld();
  const { logoHash } = await read();

  const shown = await owner.open(`${page}/identity`);
  const rejected = await upload(owner, `${page}/logo`, { other: '1' });
  const unchanged = await read();
  const accepted = await upload(owner, `${page}/logo`, { confirmed: 'yes' });

  assert.match(shown.text, /name="confirmed" value="yes" required/);
  assert.equal(rejected.status, 400);
  assert.equal(unchanged.logoHash, logoHash);
  assert.equal(accepted.status, 303);
  assert.equal(await isVerified(), false);
});

test('changes that leave the badge ask nothing, and neither do those of an app without one', async () => {
  const { owner, page, isVerified } = await newWorld();
  const typed = { name: 'Ledgerly', scope: 'read:invoices', redirect_uris: 'https://c.example/' };

  const kept = await owner.submit(await owner.open(page), page, typed);
  const verified = await isVerified();
  const other = `/settings/developer/${(await server.addApp({ ownerBusinessId: server.acme.id })).id}`;
  const ada = await server.signedIn();
  const renamed = await ada.submit(await ada.open(other), other, { ...typed, name: 'Renamed' });

  assert.match(kept.text, /Saved\./);
  assert.equal(verified, true);
  assert.match(renamed.text, /Saved\./);
});

test('a business with verified apps is renamed only after a question that names them', async () => {
  const { owner, isVerified } = await newWorld();
  const path = '/settings/business/name';

  const question = await owner.submit(await owner.open('/settings/business'), path, { name: 'Austral' });
  const wasVerified = await isVerified();
  const renamed = await owner.submit(question, path);

  assert.match(question.text, /<h1>Rename Borealis\?<\/h1>.*Ledgerly\./s);
  assert.equal(wasVerified, true);
  assert.match(renamed.text, /Austral/);
  assert.equal(await isVerified(), false);
});

test('two-step sign-in is required of a business only after a question with the number of people, and a fresh sign-in', async () => {
  const { business, olga, owner } = await newWorld();
  await server.addUser(`Mia${business.id}`, [[business, 'member']]);
  const path = '/settings/business/two-step';
  const isRequired = async () =>
    (await db.selectFrom('businesses').selectAll().where('id', '=', business.id).executeTakeFirstOrThrow())
      .requires_second_factor;

  const question = await owner.submit(await owner.open('/settings/business'), path);
  const before = await isRequired();
  server.advanceClock(20 * MINUTE);
  const late = await owner.submit(question, path);
  const afterLate = await isRequired();
  const back = await owner.signIn(olga.email, PASSWORD, late);
  await owner.submit(await owner.submit(back, path), path);

  assert.match(question.text, /<h1>Require two-step sign-in in Borealis\?<\/h1>/);
  assert.match(question.text, /2 of 2 members<\/strong> have neither an authenticator app nor a passkey/);
  assert.match(late.text, /Sign in again to make this change\./);
  assert.deepEqual([before, afterLate, await isRequired()], [0, 0, 1]);
});

test('two-step sign-in is required of everyone only after a question with the number of users, and a fresh sign-in', async () => {
  const root = await server.addUser('Root', [], true);
  const admin = await server.signedIn(root);
  const path = '/platform/settings/two-step';
  const rules = () => db.selectFrom('platform_settings').selectAll().where('requires_second_factor', '=', 1).execute();

  const { count } = await db
    .selectFrom('users')
    .select(({ fn }) => fn.countAll().as('count'))
    .executeTakeFirstOrThrow();
  const question = await admin.submit(await admin.open('/platform/settings'), path);
  const before = await rules();
  server.advanceClock(20 * MINUTE);
  const late = await admin.submit(question, path);

  assert.match(question.text, new RegExp(`<strong>${count} users have</strong> neither`));
  assert.match(late.text, /Sign in again to make this change\./);
  assert.deepEqual([before, await rules()], [[], []]);
});

test('a member becomes an owner only after a question with the number of people, and a fresh sign-in', async () => {
  const { business, olga, owner } = await newWorld();
  const mia = await server.addUser(`Mia${business.id}`, [[business, 'member']]);
  const [page, path] = [`/settings/members/${mia.id}`, `/settings/members/${mia.id}/role`];
  const roleOf = async () => (await findMembership(db, mia.id, business.id))?.role;

  const question = await owner.submit(await owner.open(page), path, { role: 'owner' });
  const asked = await roleOf();
  server.advanceClock(20 * MINUTE);
  const late = await owner.submit(question, path);
  const afterLate = await roleOf();
  const back = await owner.signIn(olga.email, PASSWORD, late);
  await owner.submit(await owner.submit(back, path, { role: 'owner' }), path);
  await owner.submit(await owner.open(page), path, { role: 'admin' });

  assert.match(question.text, /<h1>Make Mia.* an owner of Borealis\?<\/h1>/);
  assert.match(question.text, /<strong>2 members<\/strong>, 1 of them an owner/);
  assert.match(late.text, /Sign in again to make this change\./);
  assert.deepEqual([asked, afterLate], ['member', 'member']);
  assert.equal(await roleOf(), 'admin', 'another role needs no question');
});

test('an owner is invited only after the question, and a member without one', async () => {
  const { business, owner } = await newWorld();
  const path = '/settings/members/invite';
  const open = async () =>
    (await db.selectFrom('invitations').selectAll().where('business_id', '=', business.id).execute()).length;

  const question = await owner.submit(await owner.open(path), path, { role: 'owner', email: 'new@example.com' });
  const asked = await open();
  const invited = await owner.submit(question, path);
  const member = await owner.submit(await owner.open(path), path, { role: 'member', email: 'm@example.com' });
  server.advanceClock(20 * MINUTE);
  const late = await owner.submit(await owner.open(path), path, { role: 'owner', email: 'late@example.com' });

  assert.match(question.text, /<h1>Invite an owner to Borealis\?<\/h1>.*new@example\.com/s);
  assert.equal(asked, 0);
  assert.match(invited.text, /can join Borealis as an owner/);
  assert.match(member.text, /can join Borealis as a member/);
  assert.match(late.text, /Sign in again to make this change\./);
  assert.equal(await open(), 2);
});
