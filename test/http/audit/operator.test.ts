import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCommandRunner } from '../../support/command-runner.ts';
import { PASSWORD, REDIRECT_URI } from '../../support/fixtures.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();

const run = createCommandRunner(server);

/** The entries since then: action, actor, business and subject. */
async function entriesOf(work: () => Promise<unknown>) {
  const all = () => server.storage().durable.selectFrom('audit_entries').selectAll().orderBy('id').execute();
  const known = (await all()).length;
  await work();
  return (await all()).slice(known).map(({ action, actor_kind, address, business_id, subject_name, detail }) => {
    assert.deepEqual([actor_kind, address], ['operator', null]);
    return { action, businessId: business_id, subject: subject_name, detail: JSON.parse(detail) };
  });
}

test('the operator’s changes to users and members are recorded, with the business that they concern', async () => {
  const acme = server.acme.id;
  const entries = await entriesOf(async () => {
    const business = await run('business add', { name: 'Bolt' });
    const typed = { email: 'bob@example.com', name: 'Bob', password: PASSWORD };
    const { id: user } = await run('user add', { ...typed, business: business.id, 'platform-admin': '' });
    await run('member add', { user, business: acme, role: 'member' });
    await run('member set-role', { user, business: acme, role: 'admin' });
    await run('member set-role', { user, business: acme, role: 'admin' });
    await run('member remove', { user, business: acme });
    await run('user disable', { user });
    await run('user disable', { user });
    await run('user enable', { user });
    await run('user enable', { user });
    await run('user set-password', { user, password: 'another fine password' });
  });

  const bolt = entries[0]?.businessId;
  const admin = { role: 'platform admin' };
  assert.ok(bolt);
  assert.deepEqual(entries, [
    { action: 'business.added', businessId: bolt, subject: 'Bolt', detail: {} },
    { action: 'user.added', businessId: null, subject: 'Bob', detail: admin },
    { action: 'member.added', businessId: bolt, subject: 'Bob', detail: { role: 'member' } },
    { action: 'member.added', businessId: acme, subject: 'Bob', detail: { role: 'member' } },
    { action: 'member.role_changed', businessId: acme, subject: 'Bob', detail: { from: 'member', to: 'admin' } },
    { action: 'member.removed', businessId: acme, subject: 'Bob', detail: { role: 'admin' } },
    { action: 'user.disabled', businessId: null, subject: 'Bob', detail: admin },
    { action: 'user.enabled', businessId: null, subject: 'Bob', detail: admin },
    { action: 'user.password_changed', businessId: null, subject: 'Bob', detail: admin },
  ]);
});

test('the operator’s changes to an app and its secrets are recorded for the business that owns it', async () => {
  let hint = '';
  const entries = await entriesOf(async () => {
    const typed = { name: 'Shelf', 'redirect-uri': REDIRECT_URI, scope: 'read:invoices', business: server.acme.id };
    const { client_id: app, client_secret } = await run('app add', typed);
    hint = client_secret.slice(-4);
    await run('app change', { app, name: 'Shelves', pkce: 'yes' });
    await run('app change', { app, name: 'Shelves', scope: 'read:invoices', pkce: 'yes' });
    for (const verb of ['disable', 'disable', 'enable', 'pause', 'resume', 'add-secret'])
      await run(`app ${verb}`, { app });
    const [first] = (await run('app list-secrets', { app })).secrets;
    await run('app remove-secret', { app, secret: first.id });
    await run('app delete', { app });
  });

  assert.ok(entries.every(({ businessId }) => businessId === server.acme.id));
  assert.deepEqual(
    entries.map(({ action, subject }) => [action, subject]),
    [
      ['app.registered', 'Shelf'],
      ['app.changed', 'Shelf'],
      ...['disabled', 'enabled', 'paused', 'resumed'].map((done) => [`app.${done}`, 'Shelves']),
      ['secret.added', 'Shelves'],
      ['secret.removed', 'Shelves'],
      ['app.deleted', 'Shelves'],
    ],
  );
  assert.deepEqual(entries[1]?.detail, { changed: 'name, PKCE' });
  assert.deepEqual(entries[7]?.detail, { secret: `gcs_…${hint}` });
});

test('the operator’s changes to an endpoint are recorded with its host only', async () => {
  const app = server.ledger.id;
  const entries = await entriesOf(async () => {
    const { id: endpoint } = await run('endpoint add', {
      app,
      url: 'https://hooks.example/T0KEN',
      event: 'invoice.paid',
    });
    await run('endpoint change', { app, endpoint, event: 'grant.created' });
    for (const verb of ['disable', 'enable', 'replace-secret', 'test', 'log', 'remove']) {
      await run(`endpoint ${verb}`, { app, endpoint });
    }
  });

  assert.deepEqual(
    entries.map(({ action }) => action),
    ['added', 'changed', 'disabled', 'enabled', 'secret_replaced', 'removed'].map((done) => `endpoint.${done}`),
  );
  assert.ok(entries.every(({ subject, businessId }) => subject === 'hooks.example' && businessId === server.acme.id));
  assert.deepEqual(entries[0]?.detail, { app: 'Ledger', events: 'invoice.paid' });
  assert.deepEqual(entries[1]?.detail, { app: 'Ledger', events: 'grant.created' });
  assert.doesNotMatch(JSON.stringify(entries), /T0KEN|whsec_/);
});

test('a command that fails leaves no audit entry', async () => {
  const entries = await entriesOf(async () => {
    await assert.rejects(run('member remove', { user: server.ada.id, business: (await server.addBusiness('Cog')).id }));
    await assert.rejects(run('app remove-secret', { app: server.ledger.id, secret: 'none' }));
    await assert.rejects(run('user add', { email: 'ada@example.com', name: 'Ada', password: PASSWORD }));
    await assert.rejects(run('endpoint add', { app: server.ledger.id, url: 'ftp://hooks.example' }));
  });

  assert.deepEqual(entries, []);
});

test('a user whom an operator disables is signed out, and stays signed out once enabled again', async () => {
  const user = await server.addUser('Gone', [[server.acme, 'member']]);
  const browser = await server.signedInByPassword(user);

  await run('user disable', { user: user.id });
  await run('user enable', { user: user.id });

  assert.match((await browser.open('/settings/account')).url, /\/sign-in\?/);
});
