import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changeApp } from '../../../src/apps/apps.ts';
import { OPERATOR } from '../../../src/audit/entries.ts';
import { told } from '../../support/wire.ts';
import { newWorld } from '../../support/world.ts';

const world = await newWorld();
const ALLOWED = 'read:invoices write:invoices read:contacts';
let people = 0;
const arrive = async () => world.signedIn(await world.addUser(`Person${++people}`, [[world.acme, 'member']]));

for (const [what, scope] of [
  ['a missing scope', undefined],
  ['an empty scope', ''],
  ['a scope of spaces only', '  '],
] as const) {
  test(`${what} means all scopes that the app is allowed: consent screen and token response name them [A9]`, async () => {
    const browser = await arrive();
    const page = await browser.open(world.authorizeUrl({ scope }));

    assert.equal(page.status, 200);
    for (const meaning of [/View invoices/, /Create, update and send invoices/, /View CRM contacts/]) {
      assert.match(page.text, meaning);
    }
    const allowed = await browser.submit(page, '/consent', { answer: 'allow' });
    const { status, body } = await world.exchange(told(allowed.leftTo?.href).code ?? '');
    assert.deepEqual([status, body.scope], [200, ALLOWED]);
    assert.equal((await world.introspect(body.access_token)).body.scope, ALLOWED);
  });
}

test('without scope, what optional_scope names can be left out', async () => {
  const browser = await arrive();
  const page = await browser.open(world.authorizeUrl({ scope: undefined, optional_scope: 'read:contacts' }));

  const allowed = await browser.submit(page, '/consent', { answer: 'allow', optional_scope: [] });

  const { body } = await world.exchange(told(allowed.leftTo?.href).code ?? '');
  assert.equal(body.scope, 'read:invoices write:invoices');
});

test('a scope that the app gets while the consent screen is open is not granted by its Allow [C3][C7]', async () => {
  const app = await world.addApp({ name: 'Growing', ownerBusinessId: world.acme.id, scopes: ['read:invoices'] });
  const browser = await arrive();
  const page = await browser.open(world.authorizeUrl({ client_id: app.id, scope: undefined }));
  const allowedScopes = ['read:invoices', 'read:contacts'];
  await changeApp(
    OPERATOR,
    world.storage().durable,
    { appId: app.id, change: () => ({ ...app, allowedScopes }) },
    world.clock(),
  );

  const again = await browser.submit(page, '/consent', { answer: 'allow' });

  assert.deepEqual([again.status, again.leftTo], [200, undefined]);
  assert.match(again.text, /View CRM contacts/);
  const allowed = await browser.submit(again, '/consent', { answer: 'allow' });
  const { body } = await world.exchange(told(allowed.leftTo?.href).code ?? '', {
    client_id: app.id,
    client_secret: app.secret,
  });
  assert.equal(body.scope, 'read:invoices read:contacts');
});

test('a scope that the app gets after Allow is asked about at the next request without scope [C7]', async () => {
  const app = await world.addApp({ name: 'Later', ownerBusinessId: world.acme.id, scopes: ['read:invoices'] });
  const browser = await arrive();
  const request = { client_id: app.id, scope: undefined };
  await world.allow(request, browser);
  const allowedScopes = ['read:invoices', 'read:contacts'];
  await changeApp(
    OPERATOR,
    world.storage().durable,
    { appId: app.id, change: () => ({ ...app, allowedScopes }) },
    world.clock(),
  );

  const page = await browser.open(world.authorizeUrl(request));
  const silent = await browser.open(world.authorizeUrl({ ...request, prompt: 'none' }));

  assert.equal(page.status, 200);
  assert.match(page.text, /View CRM contacts and companies <span class="new">New<\/span>/);
  assert.equal(told(silent.leftTo?.href).error, 'consent_required');
});
