import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findBusiness } from '../../../src/accounts/businesses.ts';
import { findApp } from '../../../src/apps/apps.ts';
import { renameBusiness } from '../../../src/apps/business-names.ts';
import { checkedFingerprint, verifyPublisher } from '../../../src/apps/verification.ts';
import { OPERATOR } from '../../../src/audit/entries.ts';
import { createClient } from '../../support/client.ts';
import { createCommandRunner } from '../../support/command-runner.ts';
import { submitConfirmed } from '../../support/questions.ts';
import { startTestServer } from '../../support/test-server.ts';

const SETTINGS = '/settings/business';
const NAME = `${SETTINGS}/name`;
const server = await startTestServer();
const db = () => server.storage().durable;
const operator = createCommandRunner(server);
const root = await server.signedIn(await server.addUser('Root', [], true));
let count = 0;

/** Each test has its own business, with an owner. */
async function newBusiness() {
  const business = await server.addBusiness(`Bolt ${++count}`);
  const user = await server.addUser(`Olga${count}`, [[business, 'owner']]);
  return { business, user, owner: await server.signedIn(user) };
}

const nameOf = async ({ id }: { id: string }) => (await findBusiness(db(), id))?.name;
const isVerified = async (app: { id: string }) => (await findApp(db(), app.id))?.verifiedAt !== null;

async function entriesOn({ id }: { id: string }) {
  const entries = db().selectFrom('audit_entries').selectAll().where('subject_id', '=', id).orderBy('id');
  return (await entries.execute()).map(({ action, actor_name, subject_name, detail }) => [
    action,
    actor_name,
    subject_name,
    JSON.parse(detail),
  ]);
}

test('an owner renames the business, and pages, apps and the audit log show the new name', async () => {
  const { business, user, owner } = await newBusiness();
  const app = await server.addApp({ ownerBusinessId: business.id });
  const client = createClient({ ...server, user, app, business });
  const { access_token } = await client.connect({}, owner);

  const page = await owner.submit(await owner.open(SETTINGS), NAME, { name: '  Harbour Coffee ' });
  const { body } = await server.get('/api/v1/businesses', { authorization: `Bearer ${access_token}` });

  assert.match(page.text, /The business has been renamed\..*<h1>Harbour Coffee/s);
  assert.deepEqual(body, [{ id: business.id, name: 'Harbour Coffee' }]);
  assert.deepEqual((await entriesOn(business)).at(-1), [
    'business.renamed',
    user.name,
    business.name,
    { to: 'Harbour Coffee' },
  ]);
  assert.match((await owner.open('/settings/audit-log')).text, /Renamed the business/);
});

test('the same name changes nothing, and an invalid name is rejected at its field', async () => {
  const { business, owner } = await newBusiness();
  const before = await entriesOn(business);

  const same = await owner.submit(await owner.open(SETTINGS), NAME, { name: business.name });
  const none = await owner.submit(await owner.open(SETTINGS), NAME, { name: ' ' });
  const long = await owner.submit(await owner.open(SETTINGS), NAME, { name: 'x'.repeat(1000) });

  assert.equal(same.status, 200);
  for (const { status, text } of [none, long]) {
    assert.equal(status, 400);
    assert.match(text, /id="name-problem"/);
  }
  assert.equal(await nameOf(business), business.name);
  assert.deepEqual(await entriesOn(business), before);
});

test('a user who is no longer an owner cannot rename the business with a page that they opened before', async () => {
  const { business, user, owner } = await newBusiness();
  const page = await owner.open(SETTINGS);
  await db().updateTable('memberships').set({ role: 'admin' }).where('user_id', '=', user.id).execute();
  const actor = { kind: 'user', id: user.id, name: user.name, email: user.email, address: null } as const;

  const sent = await owner.submit(page, NAME, { name: 'Taken over' });
  const renamed = await renameBusiness(actor, db(), { businessId: business.id, name: 'Taken over' }, server.clock());

  assert.deepEqual([sent.status, renamed], [404, false]);
  assert.equal(await nameOf(business), business.name);
});

test('a new name removes the Verified publisher badge from the apps of the business, and from no others', async () => {
  const { business, owner } = await newBusiness();
  const [own, other] = [
    await server.addApp({ ownerBusinessId: business.id }),
    await server.addApp({ ownerBusinessId: server.acme.id }),
  ];
  for (const { id } of [own, other]) {
    await root.submit(await root.open(`/platform/apps/${id}`), `/platform/apps/${id}/verify`);
  }
  assert.deepEqual([await isVerified(own), await isVerified(other)], [true, true]);

  await submitConfirmed(owner, await owner.open(SETTINGS), NAME, { name: 'Somebody Else Ltd' });

  assert.deepEqual([await isVerified(own), await isVerified(other)], [false, true]);
  const [action, , , detail] = (await entriesOn(own)).at(-1) ?? [];
  assert.deepEqual([action, detail], ['app.verification_removed', { reason: 'the business was renamed' }]);
});

test('a platform admin who saw the old name cannot verify the app with that page', async () => {
  const { business, owner } = await newBusiness();
  const app = await server.addApp({ ownerBusinessId: business.id });
  const path = `/platform/apps/${app.id}`;
  const page = await root.open(path);
  await owner.submit(await owner.open(SETTINGS), NAME, { name: 'Somebody Else Ltd' });

  const { status, text } = await root.submit(page, `${path}/verify`);

  assert.equal(status, 400);
  assert.match(text, /The app has changed since you opened this page/);
  assert.equal(await isVerified(app), false);
});

test('of a verification and a new name at the same time, the badge never survives beside a name that was not checked', async () => {
  for (let round = 0; round < 10; round += 1) {
    const { business } = await newBusiness();
    const app = await server.addApp({ ownerBusinessId: business.id });
    const seen = checkedFingerprint((await findApp(db(), app.id)) ?? assert.fail(), business.name);
    await Promise.allSettled([
      verifyPublisher(OPERATOR, db(), { appId: app.id, seen }, server.clock()),
      renameBusiness(OPERATOR, db(), { businessId: business.id, name: 'Somebody Else Ltd' }, server.clock()),
    ]);

    assert.deepEqual([await nameOf(business), await isVerified(app)], ['Somebody Else Ltd', false]);
  }
});

test('an operator renames a business on the command line', async () => {
  const { business } = await newBusiness();

  const changed = await operator('business change', { business: business.id, name: 'Harbour Tea' });

  assert.deepEqual([changed.name, changed.requiresSecondFactor], ['Harbour Tea', false]);
  assert.deepEqual((await entriesOn(business)).at(-1)?.slice(0, 2), ['business.renamed', 'Operator']);
  await assert.rejects(operator('business change', { business: business.id }), /Give --name or --require-second/);
});
