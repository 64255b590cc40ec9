import assert from 'node:assert/strict';
import { test } from 'node:test';
import { appIdOf } from '../../../src/apps/client-ids.ts';
import { OPERATOR } from '../../../src/audit/entries.ts';
import { removeMember } from '../../../src/grants/member-changes.ts';
import {
  APP_RULES,
  blockApp,
  decideRequest,
  requestApproval,
  requestPath,
  setAppPolicy,
} from '../../support/app-rules.ts';
import { readAuditEntries } from '../../support/audit-entries.ts';
import type { Browser, BrowserPage } from '../../support/browser.ts';
import { externalRequest, startDocumentHost } from '../../support/client-document-host.ts';
import { startMailServer } from '../../support/mail-server.ts';
import { redirectParams } from '../../support/raw-http.ts';
import { countGrants } from '../../support/rows.ts';
import { startTestServer, type TestServer } from '../../support/test-server.ts';

/** A server whose business Acme allows only apps that an owner has approved. */
async function startWith(who: 'anyone' | 'approved' | 'admins', env: Record<string, string> = {}) {
  const server = await startTestServer(env);
  const owner = await server.signedIn();
  if (who !== 'anyone') await setAppPolicy(owner, who);
  const mia = await server.addUser('Mia', [[server.acme, 'member']]);
  const app = server.ledger;
  return { ...server, server, owner, mia, app, request: { app, user: mia }, member: await server.signedIn(mia) };
}

const errorOf = ({ leftTo }: BrowserPage) => {
  const { error, reason, code } = redirectParams(leftTo?.href);
  return { error, reason, code };
};
const denied = (reason: string) => ({ error: 'access_denied', reason, code: undefined });
const back = (browser: Browser, page: BrowserPage) => browser.submit(page, '/consent', { decision: 'back' });
const actionsOf = async (server: TestServer) => (await readAuditEntries(server)).map(({ action }) => action);

test('by default every member may connect any app, and owners see that', async () => {
  const { server, owner, member } = await startWith('anyone');

  assert.ok(await server.allow({}, member));
  assert.match((await owner.open(APP_RULES)).text, /value="anyone" required checked/);
});

test('for an app that is not approved, a member sees how to request approval, and nothing is granted [C10]', async () => {
  const { server, member } = await startWith('approved');

  const page = await member.open(server.authorizeUrl());
  const returned = await back(member, page);
  const forced = await member.submit(page, '/consent', { decision: 'allow' });
  const silent = await member.open(server.authorizeUrl({ prompt: 'none' }));

  assert.equal(page.status, 200);
  assert.match(page.text, /An owner has to approve Ledger/);
  assert.match(page.text, /View invoices, line items and payment status/);
  assert.doesNotMatch(page.text, />Allow</);
  assert.deepEqual(errorOf(returned), denied('approval_required'));
  assert.match(forced.text, /An owner has to approve Ledger/);
  assert.deepEqual(errorOf(silent), denied('approval_required'));
  assert.equal(await countGrants(server), 0);
});

test('owners see the app, its scopes, the person, the time and the note of a request', async () => {
  const { server, owner, member } = await startWith('approved');

  const request = await requestApproval(server, member, {}, 'To send <b>bills</b>');
  const page = await owner.open(APP_RULES);

  assert.match(request.text, /You asked for approval\./);
  assert.doesNotMatch(request.text, /Ask for approval</);
  for (const part of [/Ledger/, /Mia<\/strong> \(mia@example\.com\)/, /View invoices/, /2030-01-01 00:00 UTC/]) {
    assert.match(page.text, part);
  }
  assert.match(page.text, /To send &lt;b&gt;bills&lt;\/b&gt;/);
  assert.match((await owner.open('/settings/business')).text, /Review 1 request</);
  assert.ok((await actionsOf(server)).includes('grant.approval_requested'));
});

test('an approval for one person lets only that person connect the app [C10]', async () => {
  const { server, owner, member, request } = await startWith('approved');
  const other = await server.signedIn(await server.addUser('Ned', [[server.acme, 'admin']]));
  await requestApproval(server, member);

  await decideRequest(owner, request, 'approve_person');

  assert.ok(await server.allow({}, member));
  assert.match((await other.open(server.authorizeUrl())).text, /An owner has to approve Ledger/);
});

test('an approval for everyone lets every member connect the app, and ends the requests of others for the same', async () => {
  const { server, owner, member, request } = await startWith('approved');
  const other = await server.signedIn(await server.addUser('Ned', [[server.acme, 'member']]));
  const third = await server.signedIn(await server.addUser('Oda', [[server.acme, 'member']]));
  await requestApproval(server, member);
  await requestApproval(server, other);
  await requestApproval(server, third, { scope: 'read:invoices write:invoices' });

  await decideRequest(owner, request, 'approve_all');

  assert.ok(await server.allow({}, other));
  const page = await owner.open(APP_RULES);
  assert.doesNotMatch(page.text, /Ned<\/strong>/);
  assert.match(page.text, /Oda<\/strong>/, 'this request is for more');
});

test('an approval covers the requested scopes only [C10]', async () => {
  const { server, owner, member, request } = await startWith('approved');
  await requestApproval(server, member);
  await decideRequest(owner, request, 'approve_all');

  const more = await member.open(server.authorizeUrl({ scope: 'read:invoices write:invoices' }));
  const optional = await member.open(server.authorizeUrl({ optional_scope: 'write:invoices' }));
  const forged = await member.submit(optional, '/consent', { decision: 'allow', optional_scope: 'write:invoices' });
  const { body } = await server.exchange(forged.leftTo?.searchParams.get('code') ?? '');

  assert.match(more.text, /An owner has to approve Ledger/);
  assert.doesNotMatch(optional.text, /Create, update and send invoices/);
  assert.equal(body.scope, 'read:invoices', 'an optional scope that is not approved is left out');
});

test('a refusal is shown with its reason to the member, and to the app at the next authorize request', async () => {
  const { server, owner, member, request } = await startWith('approved');
  await requestApproval(server, member);

  await decideRequest(owner, request, 'refuse', 'We use Books');
  const page = await member.open(server.authorizeUrl());

  assert.match(page.text, /An owner has refused Ledger/);
  assert.match(page.text, /Their reason: <bdi>We use Books/);
  assert.deepEqual(errorOf(await back(member, page)), denied('app_refused'));
  assert.deepEqual(errorOf(await member.open(server.authorizeUrl({ prompt: 'none' }))), denied('app_refused'));
  const again = await member.submit(page, '/consent', { decision: 'ask', note: 'Please' });
  assert.match(again.text, /An owner has refused Ledger/, 'another request does not undo it');
});

test('owners get a notice of a request, and the member of the decision, by mail and on the account page', async () => {
  const smtp = await startMailServer({ wantsNotices: true });
  const { server, owner, member, request: approvalRequest } = await startWith('approved', smtp.env);
  await requestApproval(server, member);
  await decideRequest(owner, approvalRequest, 'refuse', 'We use Books');

  const [first, second] = [await smtp.waitFor(1), await smtp.waitFor(2)];
  const [request, refusal] = first.recipients[0] === 'ada@example.com' ? [first, second] : [second, first];

  assert.deepEqual(refusal.recipients, ['mia@example.com']);
  assert.equal(request.text?.includes('“Mia” wants to connect “Ledger” to “Acme”.'), true);
  assert.match(refusal.subject ?? '', /^App refused/);
  assert.match((await member.open('/settings/account')).text, /has refused your request to connect “Ledger”/);
  assert.match(refusal.text ?? '', /Their reason: “We use Books”/);
});

test('members cannot decide about their own requests, even if they have become owners [C10]', async () => {
  const { server, member, mia, request } = await startWith('approved');
  await requestApproval(server, member);
  const csrf = await member.csrf();
  const fields = { csrf, business: server.acme.id, decision: 'approve_all', scopes: 'read:invoices' };
  const asMember = await member.post(requestPath(request), fields);
  await server
    .storage()
    .durable.updateTable('memberships')
    .set({ role: 'owner' })
    .where('user_id', '=', mia.id)
    .execute();

  const asOwner = await member.post(requestPath(request), fields);

  assert.equal(asMember.status, 404);
  assert.equal(asOwner.status, 400);
  assert.match(asOwner.text, /Another owner has to decide about your own request\./);
  assert.ok(!(await actionsOf(server)).includes('grant.approved'));
});

test('an approval that is withdrawn while the screen is open counts when Allow is clicked [C10]', async () => {
  const { server, owner, member, app, request } = await startWith('approved');
  await requestApproval(server, member);
  await decideRequest(owner, request, 'approve_all');
  const screen = await member.open(server.authorizeUrl());
  assert.match(screen.text, />Allow</);

  await owner.submit(await owner.open(APP_RULES), `${APP_RULES}/${app.id}/withdraw`);
  const late = await member.submit(screen, '/consent', { decision: 'allow' });

  assert.match(late.text, /An owner has to approve Ledger/);
  assert.equal(await countGrants(server), 0);
});

test('a consent from before the rule grants nothing silently, and existing connections continue [C10]', async () => {
  const { server, owner, member } = await startWith('anyone');
  const tokens = await server.connect({}, member);

  await setAppPolicy(owner, 'approved');

  assert.deepEqual(errorOf(await member.open(server.authorizeUrl({ prompt: 'none' }))), denied('approval_required'));
  assert.match((await member.open(server.authorizeUrl())).text, /An owner has to approve Ledger/);
  assert.equal((await server.refresh(tokens.refresh_token)).status, 200);
});

test('a block ends every connection of the app at once, and not even an owner can connect it again [C11]', async () => {
  const { server, owner, member, app } = await startWith('anyone');
  const tokens = await server.connect({}, member);
  const screen = await owner.open(server.authorizeUrl());

  const blocked = await blockApp(owner, app, 'It leaked data');

  assert.match(blocked.text, /The app is blocked\./);
  assert.equal((await server.listInvoices(tokens.access_token)).body.reason, 'app_blocked');
  assert.equal((await server.refresh(tokens.refresh_token)).body.reason, 'app_blocked');
  for (const browser of [member, owner]) {
    const page = await browser.open(server.authorizeUrl());
    assert.match(page.text, /Their reason: <bdi>It leaked data/);
    assert.deepEqual(errorOf(await back(browser, page)), denied('app_blocked'));
    assert.deepEqual(errorOf(await browser.open(server.authorizeUrl({ prompt: 'none' }))), denied('app_blocked'));
  }
  const late = await owner.submit(screen, '/consent', { decision: 'allow' });
  assert.match(late.text, /Ledger is blocked in Acme/);
  assert.ok((await actionsOf(server)).includes('grant.app_blocked'));
});

test('an unblocked app can be connected again, and its earlier tokens stay revoked', async () => {
  const { server, owner, member, app } = await startWith('anyone');
  const tokens = await server.connect({}, member);
  await blockApp(owner, app);

  const page = await owner.submit(await owner.open(APP_RULES), `${APP_RULES}/${app.id}/withdraw`);

  assert.match(page.text, /The app is no longer blocked\./);
  assert.equal((await server.listInvoices(tokens.access_token)).body.reason, 'app_blocked');
  assert.ok(await server.allow({}, member));
});

test('an app that is blocked in one business works in another', async () => {
  const { server, owner } = await startWith('anyone');
  const beta = await server.addBusiness('Beta');
  const app = await server.addApp({ ownerBusinessId: server.acme.id, openToAnyBusiness: true });
  const bea = await server.signedIn(await server.addUser('Bea', [[beta, 'member']]));
  await blockApp(owner, app);

  assert.ok(await server.allow({ client_id: app.id }, bea));
});

test('owners can allow only owners and admins to connect apps [C10]', async () => {
  const { server, member } = await startWith('admins');
  const admin = await server.signedIn(await server.addUser('Amy', [[server.acme, 'admin']]));

  const page = await member.open(server.authorizeUrl());

  assert.match(page.text, /Only owners and admins can connect apps to <bdi>Acme/);
  assert.doesNotMatch(page.text, /Ask for approval/);
  assert.deepEqual(errorOf(await back(member, page)), denied('role_required'));
  assert.ok(await server.allow({}, admin));
});

test('scopes about staff and money can be reserved to owners, and optional ones are left out [C12]', async () => {
  const { server, owner, member } = await startWith('anyone');
  const app = await server.addApp({ ownerBusinessId: server.acme.id, scopes: ['read:invoices', 'read:employees'] });
  const credentials = { client_id: app.id, client_secret: app.secret };
  const required = { client_id: app.id, scope: 'read:invoices read:employees' };
  const optional = { client_id: app.id, optional_scope: 'read:employees' };
  await server.allow(required, member);

  await setAppPolicy(owner, 'anyone', 'yes');
  const page = await member.open(server.authorizeUrl(required));
  const { body } = await server.exchange(await server.allow(optional, member), credentials);

  assert.match(page.text, /only owners may allow that/);
  assert.deepEqual(errorOf(await back(member, page)), denied('role_required'));
  assert.equal(body.scope, 'read:invoices');
  const owned = await server.exchange(await server.allow(required, owner), credentials);
  assert.equal(owned.body.scope, 'read:invoices read:employees');
});

test('platform admins set the default, which owners may change unless it is binding', async () => {
  const { server, owner, member } = await startWith('anyone');
  const root = await server.signedIn(await server.addUser('Root', [], true));
  const settle = async (fields: Record<string, string>) =>
    root.submit(await root.open('/platform/settings'), '/platform/settings/apps', fields);

  const { text } = await settle({ who: 'approved' });
  assert.match(text, /Except for apps that its owners block\..*listed for its owners under Business, Apps\./s);
  assert.match((await owner.open(APP_RULES)).text, /Except for apps that you block\..*requests are listed here\./s);
  assert.match((await member.open(server.authorizeUrl())).text, /An owner has to approve Ledger/);
  await setAppPolicy(owner, 'anyone');
  assert.match((await member.open(server.authorizeUrl())).text, />Allow</);
  await settle({ who: 'admins', binding: 'yes' });

  assert.match((await member.open(server.authorizeUrl())).text, /Only owners and admins/);
  const csrf = await owner.csrf();
  const refused = await owner.post(`${APP_RULES}/policy`, { csrf, business: server.acme.id, who: 'anyone' });
  assert.equal(refused.status, 400);
  assert.match(refused.text, /has decided this for every business/);
});

test('the platform’s own apps are not subject to the rules of a business', async () => {
  const { server, owner, member } = await startWith('approved');
  const app = await server.addApp({ name: 'Console' });

  assert.ok(await server.allow({ client_id: app.id }, member));
  assert.equal((await owner.open(`${APP_RULES}/${app.id}/block`)).status, 200);
  assert.match((await blockApp(owner, app)).text, /An app of the platform cannot be blocked/);
});

test('an approval ends with the membership [C10]', async () => {
  const { server, owner, member, mia, request } = await startWith('approved');
  await requestApproval(server, member);
  await decideRequest(owner, request, 'approve_person');
  await removeMember(
    OPERATOR,
    server.storage().durable,
    { userId: mia.id, businessId: server.acme.id },
    server.clock(),
  );
  await server.addMember(mia, server.acme);

  assert.match((await member.open(server.authorizeUrl())).text, /An owner has to approve Ledger/);
});

test('a request that has changed since the owner read it is not decided', async () => {
  const { server, owner, member, request } = await startWith('approved');
  await requestApproval(server, member);
  const page = await owner.open(APP_RULES);
  await server.storage().durable.updateTable('app_requests').set({ scopes: 'read:invoices write:invoices' }).execute();

  const late = await owner.submit(page, requestPath(request), { decision: 'approve_person' });

  assert.equal(late.status, 400);
  assert.match(late.text, /The request has changed\./);
});

test('a repeated request updates the note and leaves one audit entry', async () => {
  const { server, owner, member } = await startWith('approved');
  const page = await member.open(server.authorizeUrl());
  for (const note of ['First', 'Second']) await member.submit(page, '/consent', { decision: 'ask', note });

  assert.match((await owner.open(APP_RULES)).text, /Second/);
  assert.equal((await actionsOf(server)).filter((action) => action === 'grant.approval_requested').length, 1);
});

test('an app that is not registered here needs approval, and can be blocked, like any other [C10]', async () => {
  const host = await startDocumentHost();
  const { server, owner, member, mia } = await startWith('approved', { WEBHOOKS_TO_LOOPBACK: 'yes' });
  const clientId = host.newClientId();
  const request = { ...externalRequest(server, clientId), scope: 'read:invoices' };
  const app = { id: appIdOf(clientId) };

  await requestApproval(server, member, request);
  const page = await owner.open(APP_RULES);
  await decideRequest(owner, { app, user: mia }, 'approve_person');

  assert.match(page.text, new RegExp(`By ${new URL(clientId).host}`), 'owners see where it describes itself');
  assert.ok(await server.allow(request, member));
  await blockApp(owner, app);
  assert.match((await member.open(server.authorizeUrl(request))).text, /Assistant is blocked in Acme/);
});
