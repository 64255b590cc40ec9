import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const platform = await server.addApp({ name: 'Platform API' });
const asPlatform = { client_id: platform.id, client_secret: platform.secret };
const INACTIVE = { active: false };

test('a first-party app introspects access tokens of every app, for the platform’s own API', async () => {
  const { access_token } = await server.connect();

  const { body } = await server.introspect(access_token, asPlatform);

  assert.deepEqual(body, (await server.introspect(access_token)).body);
  assert.deepEqual([body.client_id, body.business_id], [server.ledger.id, server.acme.id]);
});

test('a first-party app cannot introspect refresh tokens of other apps', async () => {
  const { refresh_token } = await server.connect();

  assert.deepEqual((await server.introspect(refresh_token, asPlatform)).body, INACTIVE);
});

test('a revoked token is inactive for a first-party app, too', async () => {
  const { access_token } = await server.connect();
  await server.revoke(access_token);

  assert.deepEqual((await server.introspect(access_token, asPlatform)).body, INACTIVE);
});

for (const column of ['disabled_at', 'paused_at'] as const) {
  test(`a first-party app with ${column} introspects no tokens of other apps`, async () => {
    const app = await server.addApp({ name: 'Stopped' });
    const { access_token } = await server.connect();
    const update = server.storage().durable.updateTable('apps').where('id', '=', app.id);
    await update.set({ [column]: server.clock() }).execute();

    const { body } = await server.introspect(access_token, { client_id: app.id, client_secret: app.secret });

    assert.deepEqual(body, INACTIVE);
  });
}

/** Read after a restart, which stores what was counted. */
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

test('an introspection by a first-party app that names a scope counts as a use of it by the token’s app', async () => {
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

test('an app that introspects its own token counts no use', async () => {
  const user = await server.addUser('Own', [[server.acme, 'member']]);
  const { access_token } = await server.connect({ scope: 'read:invoices' }, await server.signedIn(user));
  await server.introspect(access_token, { scope: 'read:invoices' });

  assert.deepEqual(await usesOf(user.id), []);
});
