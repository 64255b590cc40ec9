import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const platform = await server.addApp({ name: 'Platform API' });
await server.listForIntrospection(platform);
const asPlatform = { client_id: platform.id, client_secret: platform.secret };
const INACTIVE = { active: false };

test('a first-party app that is not in INTROSPECTION_CLIENTS introspects its own tokens only [I3]', async () => {
  const { access_token } = await server.connect();
  const other = await server.addApp({ name: 'Not listed' });

  const { body } = await server.introspect(access_token, { client_id: other.id, client_secret: other.secret });

  assert.deepEqual(body, INACTIVE);
});

test('a third-party app in INTROSPECTION_CLIENTS introspects its own tokens only [I3]', async () => {
  const { access_token } = await server.connect();
  const app = await server.addApp({ name: 'Third', ownerBusinessId: server.acme.id });
  await server.listForIntrospection(platform, app);

  const { body } = await server.introspect(access_token, { client_id: app.id, client_secret: app.secret });

  assert.deepEqual(body, INACTIVE);
});

test('a first-party app in INTROSPECTION_CLIENTS introspects access tokens of every app', async () => {
  const { access_token } = await server.connect();

  const { body } = await server.introspect(access_token, asPlatform);

  assert.deepEqual(body, (await server.introspect(access_token)).body);
  assert.deepEqual([body.client_id, body.business_id], [server.ledger.id, server.acme.id]);
});

test('an app in INTROSPECTION_CLIENTS cannot introspect refresh tokens of other apps [I3]', async () => {
  const { refresh_token } = await server.connect();

  assert.deepEqual((await server.introspect(refresh_token, asPlatform)).body, INACTIVE);
});

test('a revoked token is inactive for an app in INTROSPECTION_CLIENTS, too', async () => {
  const { access_token } = await server.connect();
  await server.revoke(access_token);

  assert.deepEqual((await server.introspect(access_token, asPlatform)).body, INACTIVE);
});

for (const column of ['disabled_at', 'paused_at'] as const) {
  test(`an app in INTROSPECTION_CLIENTS with ${column} introspects no tokens of other apps`, async () => {
    const app = await server.addApp({ name: 'Stopped' });
    await server.listForIntrospection(platform, app);
    const { access_token } = await server.connect();
    const update = server.storage().durable.updateTable('apps').where('id', '=', app.id);
    await update.set({ [column]: server.clock() }).execute();

    const { body } = await server.introspect(access_token, { client_id: app.id, client_secret: app.secret });

    assert.deepEqual(body, INACTIVE);
  });
}

/** The stored uses. A restart stores the counts in memory. */
async function usesOf(userId: string) {
  await server.restart();
  return server
    .storage()
    .durable.selectFrom('scope_uses')
    .select(['app_id', 'business_id', 'scope', 'uses'])
    .where('user_id', '=', userId)
    .orderBy('scope')
    .execute();
}

test('an introspection by an app in INTROSPECTION_CLIENTS that names a scope counts as a use of it by the token’s app', async () => {
  const user = await server.addUser('Used', [[server.acme, 'member']]);
  const { access_token } = await server.connect({ scope: 'read:invoices' }, await server.signedIn(user));
  await server.introspect(access_token, asPlatform);
  for (const scope of ['read:invoices', 'read:invoices', 'read:contacts', 'nonsense']) {
    assert.equal((await server.introspect(access_token, { ...asPlatform, scope })).body.scope, 'read:invoices');
  }

  assert.deepEqual(await usesOf(user.id), [
    { app_id: server.ledger.id, business_id: server.acme.id, scope: 'read:invoices', uses: 2 },
  ]);
});

test('a first-party app that is not in INTROSPECTION_CLIENTS counts no use', async () => {
  const user = await server.addUser('Unlisted', [[server.acme, 'member']]);
  const app = await server.addApp({ name: 'Own', scopes: ['read:invoices'] });
  const credentials = { client_id: app.id, client_secret: app.secret };
  const code = await server.allow({ client_id: app.id, scope: 'read:invoices' }, await server.signedIn(user));
  const { access_token } = (await server.exchange(code, credentials)).body;
  await server.introspect(access_token, { ...credentials, scope: 'read:invoices' });

  assert.deepEqual(await usesOf(user.id), []);
});

test('an app that introspects its own token counts no use', async () => {
  const user = await server.addUser('Own', [[server.acme, 'member']]);
  const { access_token } = await server.connect({ scope: 'read:invoices' }, await server.signedIn(user));
  await server.introspect(access_token, { scope: 'read:invoices' });

  assert.deepEqual(await usesOf(user.id), []);
});
