import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { User } from '../../../src/accounts/users.ts';
import { LISTED_AFTER } from '../../../src/events/events.ts';
import type { Browser } from '../../support/browser.ts';
import type { RegisteredApp } from '../../support/fixtures.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const db = () => server.storage().durable;
const ada = await server.signedIn();
const BOTH = 'read:invoices read:contacts';
const CONTACTS = '/api/v1/crm/contacts';

const newApp = () => server.addApp({ ownerBusinessId: server.acme.id, scopes: BOTH.split(' ') });
const credentialsOf = (app: RegisteredApp) => ({ client_id: app.id, client_secret: app.secret });
const pathOf = (app: RegisteredApp, user: User = server.ada) =>
  `/businesses/${server.acme.id}/connected-apps/${app.id}/${user.id}/permissions`;

async function connect(app: RegisteredApp, browser: Browser = ada) {
  const code = await server.allow({ client_id: app.id, scope: BOTH }, browser);
  return (await server.exchange(code, credentialsOf(app))).body;
}

/** Submits the form with only these scopes ticked. */
async function keep(
  app: RegisteredApp,
  scope: string[],
  { by = ada, of = server.ada }: { by?: Browser; of?: User } = {},
) {
  const form = await by.open(pathOf(app, of));
  return by.submit(form, pathOf(app, of), { shown: BOTH.split(' '), scope });
}

const listContacts = (token: string) =>
  server.get(CONTACTS, { authorization: `Bearer ${token}`, 'x-business-id': server.acme.id });

async function eventsOf(app: RegisteredApp) {
  server.advanceClock(LISTED_AFTER);
  const authorization = `Basic ${Buffer.from(`${app.id}:${app.secret}`).toString('base64')}`;
  return (await server.get('/api/v1/events', { authorization })).body as {
    type: string;
    data: Record<string, unknown>;
  }[];
}

test('a live access token loses a withdrawn scope at once, and the description says why', async () => {
  const app = await newApp();
  const { access_token } = await connect(app);
  assert.equal((await listContacts(access_token)).status, 200);

  await keep(app, ['read:invoices']);

  const rejected = await listContacts(access_token);
  assert.deepEqual([rejected.status, rejected.body.error], [403, 'insufficient_scope']);
  assert.match(rejected.body.error_description, /read:contacts.*withdrawn/);
  assert.equal((await server.listInvoices(access_token)).status, 200);
});

test('refresh and introspection return the smaller scope, and a refresh cannot request the withdrawn one', async () => {
  const app = await newApp();
  const tokens = await connect(app);
  await keep(app, ['read:invoices']);

  const introspected = await server.introspect(tokens.access_token, credentialsOf(app));
  const wider = await server.refresh(tokens.refresh_token, { ...credentialsOf(app), scope: BOTH });
  const refreshed = await server.refresh(tokens.refresh_token, credentialsOf(app));

  assert.equal(introspected.body.scope, 'read:invoices');
  assert.equal(wider.body.error, 'invalid_scope');
  assert.equal(refreshed.body.scope, 'read:invoices');
  assert.equal((await listContacts(refreshed.body.access_token)).status, 403);
});

test('a code that is not exchanged yet is narrowed, too', async () => {
  const app = await newApp();
  const code = await server.allow({ client_id: app.id, scope: BOTH }, ada);
  await keep(app, ['read:invoices']);

  assert.equal((await server.exchange(code, credentialsOf(app))).body.scope, 'read:invoices');
});

test('a silent authorization does not restore a withdrawn scope: the screen is shown again, and Allow restores it', async () => {
  const app = await newApp();
  await connect(app);
  await keep(app, ['read:invoices']);

  const silent = await ada.open(server.authorizeUrl({ client_id: app.id, scope: BOTH, prompt: 'none' }));
  const screen = await ada.open(server.authorizeUrl({ client_id: app.id, scope: BOTH }));
  const { access_token, scope } = await connect(app);

  assert.equal(silent.leftTo?.searchParams.get('error'), 'consent_required');
  assert.equal(screen.status, 200);
  assert.equal(scope, BOTH);
  assert.equal((await listContacts(access_token)).status, 200);
});

test('the remaining scopes are still granted silently', async () => {
  const app = await newApp();
  await connect(app);
  await keep(app, ['read:invoices']);

  const page = await ada.open(server.authorizeUrl({ client_id: app.id, scope: 'read:invoices' }));

  assert.ok(page.leftTo?.searchParams.get('code'));
});

test('the app receives one event, and the audit log names the person and the scope', async () => {
  const app = await newApp();
  await connect(app);
  await keep(app, ['read:invoices']);
  await keep(app, ['read:invoices']);

  const narrowed = (await eventsOf(app)).filter(({ type }) => type === 'grant.narrowed');
  const entries = await db().selectFrom('audit_entries').selectAll().where('action', '=', 'grant.narrowed').execute();

  assert.deepEqual(
    narrowed.map(({ data }) => [data.scopes, data.withdrawnScopes]),
    [[['read:invoices'], ['read:contacts']]],
  );
  const own = entries.filter(({ subject_id }) => subject_id === app.id);
  assert.equal(own.length, 1);
  assert.match(own[0]?.detail ?? '', /Ada.*read:contacts/);
});

test('the last scope cannot be withdrawn: the form says to disconnect instead', async () => {
  const app = await newApp();
  const { access_token } = await connect(app);

  const { status, text } = await keep(app, []);

  assert.equal(status, 400);
  assert.match(text, /Keep at least one/);
  assert.equal((await listContacts(access_token)).status, 200);
});

test('an owner narrows the connection of a member, and a member only their own', async () => {
  const app = await newApp();
  const member = await server.addUser('Grace', [[server.acme, 'member']]);
  const grace = await server.signedIn(member);
  const tokens = await connect(app, grace);
  const own = await connect(app);

  const foreign = await grace.open(pathOf(app, server.ada));
  const [, csrf = ''] = /name="csrf" value="([^"]+)"/.exec((await grace.open(pathOf(app, member))).text) ?? [];
  const forged = await grace.post(pathOf(app, server.ada), { csrf, shown: BOTH.split(' '), scope: ['read:invoices'] });
  await keep(app, ['read:invoices'], { of: member });

  assert.deepEqual([foreign.status, forged.status], [404, 404]);
  assert.equal((await listContacts(tokens.access_token)).status, 403);
  assert.equal((await listContacts(own.access_token)).status, 200);
});

test('a scope that the form did not show is not withdrawn', async () => {
  const app = await newApp();
  const { access_token } = await connect(app);
  const form = await ada.open(pathOf(app));

  await ada.submit(form, pathOf(app), { shown: ['read:invoices'], scope: ['read:invoices'] });

  assert.equal((await listContacts(access_token)).status, 200);
});

test('the scopes of a platform app need no consent, so they cannot be withdrawn', async () => {
  const app = await server.addApp({ ownerBusinessId: null, scopes: BOTH.split(' ') });
  await connect(app);

  const { text } = await ada.open(`/businesses/${server.acme.id}/connected-apps/${app.id}/${server.ada.id}`);

  assert.equal((await ada.open(pathOf(app))).status, 404);
  assert.doesNotMatch(text, new RegExp(pathOf(app)));
});

test('narrowing and parallel refreshes and authorizations leave no token with the scope', async () => {
  const app = await newApp();
  const tokens = await connect(app);
  const authorize = () => ada.open(server.authorizeUrl({ client_id: app.id, scope: BOTH, prompt: 'none' }));

  const [, refreshed, ...silent] = await Promise.all([
    keep(app, ['read:invoices']),
    server.refresh(tokens.refresh_token, credentialsOf(app)),
    ...Array.from({ length: 4 }, authorize),
  ]);

  const codes = silent.flatMap(({ leftTo }) => leftTo?.searchParams.get('code') ?? []);
  const exchanged = await Promise.all(codes.map((code) => server.exchange(code, credentialsOf(app))));
  for (const { body } of [refreshed, ...exchanged]) assert.equal((await listContacts(body.access_token)).status, 403);
  assert.deepEqual(await db().selectFrom('consents').select('scopes').where('app_id', '=', app.id).execute(), [
    { scopes: 'read:invoices' },
  ]);
});
