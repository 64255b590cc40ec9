import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findConsent } from '../../../src/grants/consents.ts';
import { retentionSteps } from '../../../src/jobs.ts';
import { DAY, MINUTE } from '../../../src/lib/clock.ts';
import { removeExpired } from '../../../src/storage/retention.ts';
import { readAuditEntries } from '../../support/audit-entries.ts';
import type { Browser } from '../../support/browser.ts';
import { createClient } from '../../support/client.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const db = () => server.storage().durable;
let count = 0;

/** Ann, an admin, has connected an app for the business. Olga and Sue own it, and Olga has asked Sue to be responsible. */
async function newWorld() {
  const number = ++count;
  const business = await server.addBusiness(`Harbour ${number}`);
  const app = await server.addApp({ name: `Ledgerly ${number}`, ownerBusinessId: business.id });
  const join = async (name: string, role: 'owner' | 'admin') => {
    const user = await server.addUser(`${name}${number}`, [[business, role]]);
    return { user, browser: await server.signedIn(user) };
  };
  const [ann, olga, sue] = [await join('Ann', 'admin'), await join('Olga', 'owner'), await join('Sue', 'owner')];
  const client = createClient({ ...server, user: ann.user, app, business });
  const screen = await ann.browser.open(client.authorizeUrl({ scope: 'read:invoices' }));
  const allowed = await ann.browser.submit(screen, '/consent', { decision: 'allow', connected_for: 'business' });
  const tokens = (await client.exchange(allowed.leftTo?.searchParams.get('code') ?? '')).body;
  server.advanceClock(10 * MINUTE);
  const connection = `/businesses/${business.id}/connected-apps/${app.id}/${ann.user.id}`;
  const path = `${connection}/authority`;
  const asked = await olga.browser.submit(await olga.browser.open(path), path, { to: sue.user.id });
  const responsible = async () =>
    (await client.get('/api/v1/me', { authorization: `Bearer ${tokens.access_token}` })).body.user.id;
  const consentOf = async ({ id }: { id: string }) =>
    (await findConsent(db(), { userId: id, appId: app.id, businessId: business.id }, server.clock())).allowed;
  const answer = async (browser: Browser, given: string) =>
    browser.post(`${path}/answer`, { csrf: await browser.csrf(), answer: given });
  const actions = async () =>
    (await readAuditEntries(server))
      .filter(({ business_id, action }) => business_id === business.id && /handover|transferred/.test(action))
      .map(({ action, actor_name }) => [action, actor_name]);
  const waiting = () => db().selectFrom('handovers').selectAll().where('business_id', '=', business.id).execute();
  return {
    business,
    app,
    ann,
    olga,
    sue,
    connection,
    path,
    asked,
    responsible,
    consentOf,
    answer,
    actions,
    waiting,
    join,
  };
}

test('a connection that is handed over moves, and a consent is stored, only when the other owner accepts', async () => {
  const { ann, olga, sue, path, asked, responsible, consentOf, actions } = await newWorld();
  const before = [await responsible(), await consentOf(sue.user), await consentOf(ann.user)];

  const page = await sue.browser.open(path);
  const accepted = await sue.browser.submit(page, `${path}/answer`, { answer: 'accept' });

  assert.match(asked.text, /The other owner has been asked\. Until they accept, nothing changes\./);
  assert.deepEqual(before, [ann.user.id, [], ['read:invoices']]);
  assert.match(page.text, /You are asked to become responsible.*value="accept"/s);
  assert.match(page.text, /<li>View invoices/);
  assert.match(accepted.text, /Another owner is now responsible for the connection/);
  assert.deepEqual(
    [await responsible(), await consentOf(sue.user), await consentOf(ann.user)],
    [sue.user.id, ['read:invoices'], []],
  );
  assert.deepEqual(await actions(), [
    ['grant.handover_offered', olga.user.name],
    ['grant.transferred', sue.user.name],
  ]);
});

test('the owner who was asked can decline, and nothing changes', async () => {
  const { ann, sue, path, responsible, consentOf, actions } = await newWorld();

  const declined = await sue.browser.submit(await sue.browser.open(path), `${path}/answer`, { answer: 'decline' });
  const page = await sue.browser.open(path);

  assert.match(declined.text, /Declined\. Nothing has changed\./);
  assert.equal(await responsible(), ann.user.id);
  assert.deepEqual(await consentOf(sue.user), []);
  assert.doesNotMatch(page.text, /value="accept"/);
  assert.deepEqual((await actions()).at(-1), ['grant.handover_declined', sue.user.name]);
});

test('the person who is responsible, or an owner, withdraws it before it is accepted', async () => {
  const first = await newWorld();
  const page = await first.ann.browser.open(first.connection);
  await first.ann.browser.submit(page, `${first.path}/answer`, { answer: 'withdraw' });
  const second = await newWorld();
  await second.olga.browser.submit(await second.olga.browser.open(second.path), `${second.path}/answer`, {
    answer: 'withdraw',
  });

  for (const { sue, answer, responsible, ann } of [first, second]) {
    assert.equal((await answer(sue.browser, 'accept')).status, 404);
    assert.equal(await responsible(), ann.user.id);
  }
  assert.deepEqual((await first.actions()).at(-1), ['grant.handover_withdrawn', first.ann.user.name]);
});

test('nobody but the owner who was asked accepts or declines', async () => {
  const { ann, olga, sue, business, answer, responsible } = await newWorld();
  const other = await server.addUser(`Other${business.id}`, [[business, 'owner']]);
  const admin = await server.addUser(`Admin${business.id}`, [[business, 'admin']]);

  for (const browser of [ann.browser, olga.browser, await server.signedIn(other), await server.signedIn(admin)]) {
    assert.equal((await answer(browser, 'accept')).status, 404);
    assert.equal((await answer(browser, 'decline')).status, 404);
  }
  assert.equal((await answer(await server.signedIn(admin), 'withdraw')).status, 404);
  assert.equal((await answer(sue.browser, 'nonsense')).status, 404);
  assert.equal(await responsible(), ann.user.id);
});

test('it expires after 7 days, and is then removed', async () => {
  const { sue, answer, waiting } = await newWorld();
  server.advanceClock(7 * DAY);
  const late = await answer(await server.signedIn(sue.user), 'accept');

  await removeExpired(db(), retentionSteps(), server.clock());

  assert.equal(late.status, 404);
  assert.deepEqual(await waiting(), []);
});

test('what the app may do has grown since: it is not accepted', async () => {
  const { app, ann, sue, path, responsible, business } = await newWorld();
  const client = createClient({ ...server, user: ann.user, app, business });
  await ann.browser.submit(await ann.browser.open(client.authorizeUrl({ scope: 'read:contacts' })), '/consent', {
    decision: 'allow',
  });
  server.advanceClock(10 * MINUTE);

  const rejected = await sue.browser.submit(await sue.browser.open(path), `${path}/answer`, { answer: 'accept' });

  assert.equal(rejected.status, 400);
  assert.match(rejected.text, /has changed\. Review it again\./);
  assert.equal(await responsible(), ann.user.id);
});

test('it ends when either person leaves or is no longer an owner, and when the connection moves otherwise', async () => {
  const [left, demoted, taken] = [await newWorld(), await newWorld(), await newWorld()];
  const removal = `/businesses/${left.business.id}/members/${left.sue.user.id}/remove`;
  await left.sue.browser.submit(await left.sue.browser.open(removal), removal);
  const member = `/businesses/${demoted.business.id}/members/${demoted.sue.user.id}`;
  await demoted.olga.browser.submit(await demoted.olga.browser.open(member), `${member}/role`, { role: 'admin' });
  const person = `/businesses/${taken.business.id}/members/${taken.ann.user.id}/remove`;
  await taken.ann.browser.submit(await taken.ann.browser.open(person), person);

  for (const { waiting } of [left, demoted, taken]) assert.deepEqual(await waiting(), []);
  // Decision 28: without an answer, it moves to the longest-standing owner.
  assert.equal(await taken.responsible(), taken.olga.user.id);
});
