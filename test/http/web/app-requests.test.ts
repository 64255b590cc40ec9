import assert from 'node:assert/strict';
import { test } from 'node:test';
import { appIdOf } from '../../../src/apps/client-ids.ts';
import { retentionSteps } from '../../../src/jobs.ts';
import { DAY, MINUTE } from '../../../src/lib/clock.ts';
import { removeExpired } from '../../../src/storage/retention.ts';
import { APP_RULES, decideRequest, requestApproval, setAppPolicy } from '../../support/app-rules.ts';
import { readAuditEntries } from '../../support/audit-entries.ts';
import { CALLBACK, externalRequest } from '../../support/client-document-host.ts';
import { startTestServer } from '../../support/test-server.ts';

/** A server whose business Acme allows only apps that an owner has approved. */
async function startWithApprovals(env: Record<string, string> = {}) {
  const server = await startTestServer(env);
  const owner = await server.signedIn();
  await setAppPolicy(owner, 'approved');
  const mia = await server.addUser('Mia', [[server.acme, 'member']]);
  const request = { app: server.ledger, user: mia };
  const removeOld = () => removeExpired(server.storage().durable, retentionSteps(), server.clock());
  return { server, owner, mia, request, removeOld, member: await server.signedIn(mia) };
}

test('a member has at most ten pending requests, and can send another after a decision', async () => {
  const { server, owner, member, mia, request } = await startWithApprovals();
  const other = await server.signedIn(await server.addUser('Ned', [[server.acme, 'member']]));
  await requestApproval(server, member);
  for (let i = 1; i < 10; i++) {
    const app = await server.addApp({ name: `App ${i}`, ownerBusinessId: server.acme.id });
    await requestApproval(server, member, { client_id: app.id });
  }
  const eleventh = await server.addApp({ name: 'Eleventh', ownerBusinessId: server.acme.id });

  const refused = await requestApproval(server, member, { client_id: eleventh.id });
  const more = await requestApproval(server, other, { client_id: eleventh.id });

  assert.equal(refused.status, 400);
  assert.match(
    refused.text,
    /10 of your requests are waiting for an owner of this business\. Wait until one is decided\./,
  );
  assert.match(more.text, /You asked for approval\./, 'the limit is for each member');
  const requests = (await readAuditEntries(server)).filter(({ action }) => action === 'grant.approval_requested');
  assert.equal(requests.filter(({ actor_id }) => actor_id === mia.id).length, 10);
  await decideRequest(owner, request, 'refuse');
  assert.match((await requestApproval(server, member, { client_id: eleventh.id })).text, /You asked for approval\./);
});

test('the request that has waited longest is listed first', async () => {
  const { server, owner, member } = await startWithApprovals();
  const other = await server.signedIn(await server.addUser('Ned', [[server.acme, 'member']]));
  await requestApproval(server, other);
  server.advanceClock(MINUTE);
  await requestApproval(server, member);

  assert.match((await owner.open(APP_RULES)).text, /Ned<\/strong>[\s\S]*Mia<\/strong>/);
});

test('a request without a decision is removed after 90 days, and the member can send it again', async () => {
  const { server, mia, member, removeOld } = await startWithApprovals();
  await requestApproval(server, member);

  server.advanceClock(90 * DAY - MINUTE);
  await removeOld();
  const kept = await (await server.signedIn()).open(APP_RULES);
  server.advanceClock(MINUTE);
  await removeOld();

  assert.match(kept.text, /Mia<\/strong>/);
  assert.doesNotMatch((await (await server.signedIn()).open(APP_RULES)).text, /Mia<\/strong>/);
  assert.match((await requestApproval(server, await server.signedIn(mia))).text, /You asked for approval\./);
});

test('a request for more scopes without a decision does not affect the earlier approval', async () => {
  const { server, owner, mia, member, request, removeOld } = await startWithApprovals();
  await requestApproval(server, member);
  await decideRequest(owner, request, 'approve_person');
  await requestApproval(server, member, { scope: 'read:invoices write:invoices' });

  server.advanceClock(90 * DAY);
  await removeOld();

  const page = await (await server.signedIn()).open(APP_RULES);
  assert.match(page.text, /No requests are waiting for approval\./);
  assert.match(page.text, /Approved for Mia/);
  assert.doesNotMatch(page.text, /Create, update and send invoices/);
  assert.ok(await server.allow({}, await server.signedIn(mia)));
});

test('approvals for one person add up', async () => {
  const { server, owner, member, request } = await startWithApprovals();
  await requestApproval(server, member, { scope: 'read:invoices' });
  await decideRequest(owner, request, 'approve_person');
  await requestApproval(server, member, { scope: 'write:invoices' });

  await decideRequest(owner, request, 'approve_person');

  const page = await owner.open(APP_RULES);
  assert.match(page.text, /View invoices/);
  assert.match(page.text, /Create, update and send invoices/);
  assert.ok(await server.allow({ scope: 'read:invoices write:invoices' }, member));
});

test('a refusal ends what was approved for the person before', async () => {
  const { server, owner, member, request } = await startWithApprovals();
  await requestApproval(server, member, { scope: 'read:invoices' });
  await decideRequest(owner, request, 'approve_person');
  await requestApproval(server, member, { scope: 'write:invoices' });

  await decideRequest(owner, request, 'refuse');

  const page = await member.open(server.authorizeUrl({ scope: 'read:invoices' }));
  assert.match(page.text, /An owner has refused Ledger/);
  assert.doesNotMatch(page.text, />Allow</);
});

test('owners see where an app that registered itself sends people, in its request and after the decision', async () => {
  const { server, owner, member, mia } = await startWithApprovals({ DYNAMIC_REGISTRATION: 'on' });
  const metadata = { client_name: 'Ledger', redirect_uris: [CALLBACK, 'http://127.0.0.1:33418/'] };
  const { body } = await server.sendJson('POST', '/api/v1/oauth/register', metadata);
  const approvalRequest = { app: { id: appIdOf(body.client_id) }, user: mia };
  const request = { ...externalRequest(server, body.client_id), scope: 'read:invoices' };
  const origin =
    /Registered itself; its name is not verified\. It sends people to assistant\.example, a program on their device\./;

  await requestApproval(server, member, request);
  const waiting = await owner.open(APP_RULES);
  const personal = await decideRequest(owner, approvalRequest, 'approve_person');
  await requestApproval(server, member, { ...request, scope: 'write:invoices' });
  const general = await decideRequest(owner, approvalRequest, 'approve_all');

  for (const page of [waiting, personal, general]) assert.match(page.text, origin);
  assert.match(general.text, /Approved for everyone/);
});

test('owners see who made the app that they have decided about', async () => {
  const { server, owner, member, request } = await startWithApprovals();
  await requestApproval(server, member);

  const page = await decideRequest(owner, request, 'approve_all');

  assert.match(
    page.text,
    /Approved for everyone<\/span>\s*<p class="muted small">Publisher not verified\. It was registered by a business called <bdi>“Acme”<\/bdi>\.<\/p>/,
  );
});
