import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient } from '../../support/client.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const DEVELOPER = server.acmePath('developer');
const root = await server.addUser('Root', [], true);
const admin = await server.signedIn(root);
const owner = await server.signedIn();

/** An app of Acme that is open to all, connected by one user of Acme and two of Bolt. */
async function connectedApp(name: string) {
  const bolt = await server.addBusiness(`Bolt ${name}`);
  const app = await server.addApp({ name, ownerBusinessId: server.acme.id, openToAnyBusiness: true });
  const people = [
    { user: server.ada, business: server.acme },
    { user: await server.addUser(`First${name}`, [[bolt, 'owner']]), business: bolt },
    { user: await server.addUser(`Second${name}`, [[bolt, 'member']]), business: bolt },
  ];
  const calls: (() => Promise<number>)[] = [];
  for (const { user, business } of people) {
    const client = createClient({ ...server, app, user, business });
    const { access_token } = await client.connect();
    calls.push(async () => (await client.listInvoices(access_token)).status);
  }
  return { app, path: `/platform/apps/${app.id}`, statuses: () => Promise.all(calls.map((call) => call())) };
}

async function entriesOn(id: string) {
  const entries = server.storage().durable.selectFrom('audit_entries').selectAll().where('subject_id', '=', id);
  const switches = await entries.where('action', 'in', ['app.paused', 'app.resumed']).orderBy('id').execute();
  return switches.map(({ action, actor_id, business_id }) => ({ action, actor_id, business_id }));
}

test('a platform admin pauses an app everywhere, after being shown whom it affects, and resumes it', async () => {
  const { app, path, statuses } = await connectedApp('Shelf');

  const confirmation = await admin.open(`${path}/pause`);
  const paused = await admin.submit(confirmation, `${path}/pause`);
  const whilePaused = await statuses();
  const resumed = await admin.submit(paused, `${path}/resume`);

  assert.match(confirmation.text, /2 businesses, 3 users/);
  assert.match(paused.text, /The app is paused everywhere\./);
  assert.match(paused.text, /Paused<\/span>/);
  assert.deepEqual(whilePaused, [401, 401, 401]);
  assert.match(resumed.text, /The app is resumed\./);
  assert.deepEqual(await statuses(), [200, 200, 200]);
  assert.deepEqual(await entriesOn(app.id), [
    { action: 'app.paused', actor_id: root.id, business_id: server.acme.id },
    { action: 'app.resumed', actor_id: root.id, business_id: server.acme.id },
  ]);
});

test('the confirmation page changes nothing, and links back', async () => {
  const { path, statuses } = await connectedApp('Still');

  const confirmation = await admin.open(`${path}/pause`);

  assert.match(confirmation.text, /Pause Still everywhere\?/);
  assert.ok(confirmation.text.includes(`href="${path}">Cancel`));
  assert.deepEqual(await statuses(), [200, 200, 200]);
});

test('a form that is sent twice pauses once, and one sent late changes nothing', async () => {
  const { app, path, statuses } = await connectedApp('Twice');
  const confirmation = await admin.open(`${path}/pause`);
  await admin.submit(confirmation, `${path}/pause`);
  const since = (await server.storage().durable.selectFrom('apps').selectAll().where('id', '=', app.id).execute())[0];
  server.advanceClock(1000);

  const again = await admin.submit(confirmation, `${path}/pause`);

  const after = (await server.storage().durable.selectFrom('apps').selectAll().where('id', '=', app.id).execute())[0];
  assert.equal(again.status, 200);
  assert.deepEqual(after, since);
  assert.deepEqual(await statuses(), [401, 401, 401]);
  assert.equal((await entriesOn(app.id)).length, 1);
});

test('the confirmation page of an app that is paused already says so', async () => {
  const { path } = await connectedApp('Known');
  await admin.submit(await admin.open(`${path}/pause`), `${path}/pause`);

  const page = await admin.open(`${path}/pause`);

  assert.equal(new URL(page.url).pathname, path);
  assert.match(page.text, /Paused everywhere/);
});

test('the owner sees that the platform has paused the app, and cannot undo it by Enable', async () => {
  const { app, path, statuses } = await connectedApp('Owned');
  const own = `${DEVELOPER}/${app.id}`;
  await admin.submit(await admin.open(`${path}/pause`), `${path}/pause`);

  const page = await owner.open(own);
  await owner.submit(await owner.open(`${own}/disable`), `${own}/disable`);
  await owner.submit(await owner.open(own), `${own}/enable`);

  assert.match(page.text, /Paused by Gatehouse/);
  assert.deepEqual(await statuses(), [401, 401, 401]);
});

test('a reason for a pause is shown to platform admins and, on the app’s page and in the audit log, to its owners', async () => {
  const { app, path } = await connectedApp('Explained');
  const reason = 'It sends <b>spam</b>';

  const paused = await admin.submit(await admin.open(`${path}/pause`), `${path}/pause`, { reason: ` ${reason} ` });
  const log = await owner.open('/settings/audit-log?q=Explained');
  const onPage = await owner.open(`${DEVELOPER}/${app.id}`);
  const resumed = await admin.submit(paused, `${path}/resume`);

  for (const { text } of [paused, log, onPage]) assert.match(text, /[Rr]eason: It sends &lt;b&gt;spam&lt;\/b&gt;/);
  assert.doesNotMatch(resumed.text, /spam/);
  assert.doesNotMatch((await owner.open(`${DEVELOPER}/${app.id}`)).text, /spam/);
});

test('an unreadable reason pauses nothing, gets an error beside the field, and is kept for correction', async () => {
  const { path, statuses } = await connectedApp('Wordy');
  const confirmation = await admin.open(`${path}/pause`);

  const tooLong = await admin.submit(confirmation, `${path}/pause`, { reason: 'x'.repeat(201) });
  const unseen = await admin.submit(confirmation, `${path}/pause`, { reason: 'a\u202eb' });

  assert.equal(tooLong.status, 400);
  assert.match(tooLong.text, /id="reason-problem">Use at most 200 characters/);
  assert.ok(tooLong.text.includes(`value="${'x'.repeat(201)}"`));
  assert.match(unseen.text, /visible characters only/);
  assert.deepEqual(await statuses(), [200, 200, 200]);
});

test('a connection that has ended is not counted among those whom a pause affects', async () => {
  const { app, path } = await connectedApp('Count');
  const grants = server.storage().durable.updateTable('grants').set({ revoked_at: 1 }).where('app_id', '=', app.id);
  await grants.where('user_id', '!=', server.ada.id).execute();

  assert.match((await admin.open(`${path}/pause`)).text, /1 business, 1 user</);
});

test('a deleted app is neither listed nor found', async () => {
  const { app, path } = await connectedApp('Gone');
  await server.storage().durable.updateTable('apps').set({ deleted_at: 1 }).where('id', '=', app.id).execute();
  const csrf = await admin.csrf();

  assert.ok(!(await admin.open('/platform/apps')).text.includes(app.id));
  assert.equal((await admin.open(path)).status, 404);
  assert.equal((await admin.post(`${path}/pause`, { csrf })).status, 404);
});
