import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createKeyring } from '../../../src/lib/keyring.ts';
import type { Tables } from '../../../src/storage/tables.ts';
import { insertEndpoint } from '../../../src/webhooks/endpoints.ts';
import { APP_FIELDS, registerInBrowser, shownCredentials } from '../../support/app-pages.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const DEVELOPER = server.acmePath('developer');
const other = await server.addBusiness('Bolt');
const browser = await server.signedIn();

async function rowOf(table: keyof Tables, column: string, id: string): Promise<Record<string, unknown>> {
  const rows = (await server.storage().durable.selectFrom(table).selectAll().execute()) as Record<string, unknown>[];
  const row = rows.find((each) => each[column] === id);
  assert.ok(row, `${table} ${id}`);
  return { ...row };
}

/** Every column of a table as a form field, for a mass assignment. */
const COLUMNS = {
  id: '01a1dd0a-eb11-7000-997c-587fb8fee946',
  app_id: '01a1dd0a-eb11-7000-997c-587fb8fee946',
  client_id: '01a1dd0a-eb11-7000-997c-587fb8fee946',
  client_secret: `gcs_${'Not-a-real-secret'.repeat(2)}of-client`,
  secret_hash: 'chosen',
  secret: `whsec_${'a'.repeat(43)}=`,
  owner_scope: 'platform',
  ownerScope: 'platform',
  owner_business_id: other.id,
  ownerBusinessId: other.id,
  business_id: other.id,
  allowed_scopes: 'read:orders',
  external_client_id: 'https://chosen.example/client',
  externalClientId: 'https://chosen.example/client',
  created_by: 'chosen',
  created_at: '1',
  disabled_at: '1',
  paused_at: '1',
  deleted_at: '1',
  email: 'chosen@example.com',
  email_skeleton: 'chosen@example.com',
  email_verified_at: '1',
  platform_admin: '1',
  isPlatformAdmin: 'true',
  password_hash: 'chosen',
  current_business_id: other.id,
  user_id: 'chosen',
  failures: '9',
  old_secret: 'chosen',
  ['__proto__']: 'chosen',
  'constructor[prototype][isPlatformAdmin]': 'true',
};

test('a form that registers an app stores its own fields, and ignores all others [P11]', async () => {
  const { id, secret } = shownCredentials(await registerInBrowser(browser, DEVELOPER, { ...COLUMNS, name: 'Plain' }));

  const { created_at, redirect_uris, allowed_scopes, ...row } = await rowOf('apps', 'id', id);

  assert.notEqual(id, COLUMNS.id);
  assert.notEqual(secret, COLUMNS.client_secret);
  assert.deepEqual(JSON.parse(String(redirect_uris)), [APP_FIELDS.redirect_uris]);
  assert.deepEqual([created_at, allowed_scopes], [server.clock(), 'read:invoices read:contacts']);
  assert.deepEqual(row, {
    id,
    name: 'Plain',
    owner_scope: 'business',
    owner_business_id: server.acme.id,
    open_to_any_business: 0,
    requires_pkce: 0,
    is_public: 0,
    external_client_id: null,
    created_by: server.ada.id,
    disabled_at: null,
    paused_at: null,
    removable_at: null,
    publisher_name: null,
    homepage_url: null,
    support_url: null,
    privacy_url: null,
    terms_url: null,
    logo_hash: null,
    verified_at: null,
    deleted_at: null,
  });
});

test('a form that changes an app changes its settings, and ignores all other fields [P11]', async () => {
  const app = await server.addApp({ ownerBusinessId: server.acme.id });
  const before = await rowOf('apps', 'id', app.id);
  const path = `${DEVELOPER}/${app.id}`;

  await browser.submit(await browser.open(path), path, { ...APP_FIELDS, ...COLUMNS, name: 'Changed' });

  const after = await rowOf('apps', 'id', app.id);
  assert.deepEqual(after, { ...before, name: 'Changed', allowed_scopes: after.allowed_scopes });
  assert.equal((await rowOf('app_secrets', 'app_id', app.id)).hint, app.secret.slice(-4));
});

test('a form that changes an endpoint changes its address and events, and nothing else [P11]', async () => {
  const keys = createKeyring(server.settings.secretKeys);
  const newEndpoint = { appId: server.ledger.id, url: 'https://acme.example/hook', eventTypes: ['grant.created'] };
  const { endpoint } = await server
    .storage()
    .transaction((tx) => insertEndpoint(tx, keys, newEndpoint, server.clock()));
  const before = await rowOf('endpoints', 'id', endpoint.id);
  const path = `${DEVELOPER}/${server.ledger.id}/endpoints/${endpoint.id}`;
  const typed = { url: 'https://acme.example/moved', events: 'grant.created', ...COLUMNS };

  await browser.submit(await browser.open(path), path, typed);

  assert.deepEqual(await rowOf('endpoints', 'id', endpoint.id), { ...before, url: 'https://acme.example/moved' });
});

test('the account form changes the name, never the email, the password or the role [P11] [D3]', async () => {
  const mia = await server.addUser('Mia', [[server.acme, 'member']]);
  const own = await server.signedIn(mia);
  const [before, membership] = [await rowOf('users', 'id', mia.id), await rowOf('memberships', 'user_id', mia.id)];

  const typed = { ...COLUMNS, role: 'owner', name: 'Maria', password: 'a whole new password' };
  const page = await own.submit(await own.open('/settings/account'), '/settings/account/name', typed);

  assert.match(page.text, /Maria/);
  assert.deepEqual(await rowOf('users', 'id', mia.id), { ...before, name: 'Maria' });
  assert.deepEqual(await rowOf('memberships', 'user_id', mia.id), membership);
});

test('a form that changes a role changes that role, of that member, in that business [P11]', async () => {
  const noa = await server.addUser('Noa', [
    [server.acme, 'member'],
    [other, 'member'],
  ]);
  const before = await server.storage().durable.selectFrom('memberships').selectAll().orderBy('user_id').execute();
  const path = `/settings/members/${noa.id}`;

  const typed = { ...COLUMNS, role: 'admin', user: server.ada.id };
  await browser.submit(await browser.open(path), `${path}/role`, typed);

  const after = await server.storage().durable.selectFrom('memberships').selectAll().orderBy('user_id').execute();
  const wanted = before.map((row) =>
    row.user_id === noa.id && row.business_id === server.acme.id ? { ...row, role: 'admin' } : row,
  );
  const order = (rows: object[]) => rows.map((row) => JSON.stringify(row)).sort();
  assert.deepEqual(order(after), order(wanted));
});
