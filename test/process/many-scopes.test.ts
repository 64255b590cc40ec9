import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertUnique, SCOPES, type Scope } from '../../src/oauth/scopes.ts';
import { redirectParams } from '../support/raw-http.ts';
import { startTestServer } from '../support/test-server.ts';

/** Adds forty scopes, only to the list, as a developer would. */
const added = Array.from({ length: 40 }, (_, index) => `read:thing-${index + 1}`);
(SCOPES as Scope[]).push(...added.map((name) => ({ name, kind: 'read' as const, meaning: `View ${name}` })));

const server = await startTestServer();
const all = SCOPES.map(({ name }) => name);
const app = await server.addApp({ name: 'Everything', ownerBusinessId: server.acme.id, scopes: all });
const credentials = { client_id: app.id, client_secret: app.secret };

test('fifty scopes go from the app through consent into the tokens', async () => {
  const browser = await server.signedIn(server.ada);
  const page = await browser.open(server.authorizeUrl({ client_id: app.id, scope: all.join(' ') }));
  for (const name of added) assert.ok(page.text.includes(`View ${name} `), name);

  const allowed = await browser.submit(page, '/consent', { decision: 'allow' });
  const { body } = await server.exchange(redirectParams(allowed.leftTo?.href).code ?? '', credentials);

  assert.equal(body.scope, all.join(' '));
  assert.equal((await server.introspect(body.access_token, credentials)).body.scope, all.join(' '));
  assert.equal((await server.introspect(body.refresh_token, credentials)).body.scope, all.join(' '));
  assert.equal((await server.listInvoices(body.access_token)).status, 200);
});

test('each of fifty scopes can be the only one of an access token', async () => {
  const browser = await server.signedIn(server.ada);
  const code = await server.allow({ client_id: app.id, scope: all.join(' ') }, browser);
  let { refresh_token } = (await server.exchange(code, credentials)).body;

  for (const scope of all) {
    const { body } = await server.refresh(refresh_token, { ...credentials, scope });
    refresh_token = body.refresh_token;
    assert.equal(body.scope, scope);
    assert.equal((await server.introspect(body.access_token, credentials)).body.scope, scope);
    const mayRead = (await server.listInvoices(body.access_token)).status === 200;
    assert.equal(mayRead, scope === 'read:invoices', scope);
  }
});

test('a scope after the 32nd can be optional, declined, and removed from the app', async () => {
  const browser = await server.signedIn(await server.addUser('Eve', [[server.acme, 'member']]));
  const [kept = '', declined = ''] = added.slice(-2);
  const request = { client_id: app.id, scope: kept, optional_scope: declined };
  const page = await browser.open(server.authorizeUrl(request));
  const allowed = await browser.submit(page, '/consent', { decision: 'allow', optional_scope: [] });
  const { body } = await server.exchange(redirectParams(allowed.leftTo?.href).code ?? '', credentials);
  assert.equal(body.scope, kept);

  const db = server.storage().durable;
  const without = all.filter((name) => name !== kept).join(' ');
  await db.updateTable('apps').set({ allowed_scopes: without }).where('id', '=', app.id).execute();

  assert.equal((await server.introspect(body.access_token, credentials)).body.scope, '');
});

test('the server does not start with two scopes of the same name', () => {
  const [first] = SCOPES;
  assert.ok(first);
  for (const name of [first.name, first.name.toUpperCase()]) {
    assert.throws(() => assertUnique([first, { ...first, name }]), {
      message: `The scope ${name} is listed twice in src/oauth/scopes.ts.`,
    });
  }
});
