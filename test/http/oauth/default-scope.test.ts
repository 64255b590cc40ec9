import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changeApp } from '../../../src/apps/app-changes.ts';
import { OPERATOR } from '../../../src/audit/entries.ts';
import { redirectParams } from '../../support/raw-http.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const ALLOWED = 'read:invoices write:invoices read:contacts';
let users = 0;
const arrive = async () => server.signedIn(await server.addUser(`Person${++users}`, [[server.acme, 'member']]));

for (const [what, scope] of [
  ['a missing scope', undefined],
  ['an empty scope', ''],
] as const) {
  test(`${what} means all scopes that the app is allowed: consent screen and token response name them [A9]`, async () => {
    const browser = await arrive();
    const page = await browser.open(server.authorizeUrl({ scope }));

    assert.equal(page.status, 200);
    for (const meaning of [/View invoices/, /Create, update and send invoices/, /View CRM contacts/]) {
      assert.match(page.text, meaning);
    }
    const allowed = await browser.submit(page, '/consent', { decision: 'allow' });
    const { status, body } = await server.exchange(redirectParams(allowed.leftTo?.href).code ?? '');
    assert.deepEqual([status, body.scope], [200, ALLOWED]);
    assert.equal((await server.introspect(body.access_token)).body.scope, ALLOWED);
  });
}

test('without scope, the scopes in optional_scope can be declined', async () => {
  const browser = await arrive();
  const page = await browser.open(server.authorizeUrl({ scope: undefined, optional_scope: 'read:contacts' }));

  const allowed = await browser.submit(page, '/consent', { decision: 'allow', optional_scope: [] });

  const { body } = await server.exchange(redirectParams(allowed.leftTo?.href).code ?? '');
  assert.equal(body.scope, 'read:invoices write:invoices');
});

test('a scope added to the app while the consent screen is open is not granted by its Allow [C3][C7]', async () => {
  const app = await server.addApp({ name: 'Growing', ownerBusinessId: server.acme.id, scopes: ['read:invoices'] });
  const browser = await arrive();
  const page = await browser.open(server.authorizeUrl({ client_id: app.id, scope: undefined }));
  const allowedScopes = ['read:invoices', 'read:contacts'];
  await changeApp(
    OPERATOR,
    server.storage().durable,
    { appId: app.id, change: () => ({ ...app, allowedScopes }) },
    server.clock(),
  );

  const again = await browser.submit(page, '/consent', { decision: 'allow' });

  assert.deepEqual([again.status, again.leftTo], [200, undefined]);
  assert.match(again.text, /View CRM contacts/);
  const allowed = await browser.submit(again, '/consent', { decision: 'allow' });
  const { body } = await server.exchange(redirectParams(allowed.leftTo?.href).code ?? '', {
    client_id: app.id,
    client_secret: app.secret,
  });
  assert.equal(body.scope, 'read:invoices read:contacts');
});

test('a scope added to the app after Allow needs consent at the next request without scope [C7]', async () => {
  const app = await server.addApp({ name: 'Later', ownerBusinessId: server.acme.id, scopes: ['read:invoices'] });
  const browser = await arrive();
  const request = { client_id: app.id, scope: undefined };
  await server.allow(request, browser);
  const allowedScopes = ['read:invoices', 'read:contacts'];
  await changeApp(
    OPERATOR,
    server.storage().durable,
    { appId: app.id, change: () => ({ ...app, allowedScopes }) },
    server.clock(),
  );

  const page = await browser.open(server.authorizeUrl(request));
  const silent = await browser.open(server.authorizeUrl({ ...request, prompt: 'none' }));

  assert.equal(page.status, 200);
  assert.match(page.text, /View CRM contacts and companies <span class="new">New<\/span>/);
  assert.equal(redirectParams(silent.leftTo?.href).error, 'consent_required');
});
