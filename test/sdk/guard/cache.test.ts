import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GuardError } from '../../../sdk/guard/src/index.ts';
import { HOUR, SECOND } from '../../../src/lib/clock.ts';
import { startTestServer } from '../../support/test-server.ts';
import { guardFor } from './protected-apis.ts';

const server = await startTestServer();
const platform = await server.addApp({ name: 'Platform API' });
await server.listForIntrospection(platform);
const SCOPE = 'read:invoices';
const INTROSPECT = '/api/v1/oauth/introspect';
const ME = '/api/v1/me';

const bearer = (token: string) => ({ authorization: `Bearer ${token}`, 'x-business-id': server.acme.id });

/** The reason of the error, or undefined for an accepted request. */
async function outcomeOf({ guard }: ReturnType<typeof guardFor>, token: string, scope = SCOPE) {
  try {
    await guard.check(bearer(token), scope);
    return undefined;
  } catch (error) {
    assert.ok(error instanceof GuardError);
    return error.body.reason;
  }
}

test('a flood of requests with one token makes one introspection', async () => {
  const guarded = guardFor(server, platform);
  const { access_token } = await server.connect();

  const outcomes = await Promise.all(Array.from({ length: 500 }, () => outcomeOf(guarded, access_token)));
  outcomes.push(await outcomeOf(guarded, access_token));

  assert.deepEqual(new Set(outcomes), new Set([undefined]));
  assert.deepEqual(guarded.sent, [INTROSPECT]);
});

test('a flood of requests with one inactive token makes one introspection, and asks once for the reason', async () => {
  const guarded = guardFor(server, platform);
  const { access_token } = await server.connect();
  await server.revoke(access_token);

  const outcomes = await Promise.all(Array.from({ length: 500 }, () => outcomeOf(guarded, access_token)));

  assert.deepEqual(new Set(outcomes), new Set(['access_token_revoked']));
  assert.deepEqual(guarded.sent, [INTROSPECT, ME]);
});

test('a revocation takes effect after the cache time at the latest, 15 seconds by default', async () => {
  for (const [cacheSeconds, time] of [
    [undefined, 15 * SECOND],
    [30, 30 * SECOND],
    [0, 0],
  ] as const) {
    const guarded = guardFor(server, platform, { cacheSeconds });
    const { access_token } = await server.connect();
    assert.equal(await outcomeOf(guarded, access_token), undefined);
    await server.revoke(access_token);

    if (time > 0) {
      server.advanceClock(time - 1);
      assert.equal(await outcomeOf(guarded, access_token), undefined);
      server.advanceClock(1);
    }
    assert.equal(await outcomeOf(guarded, access_token), 'access_token_revoked', `${cacheSeconds} s`);
  }
});

test('no token is accepted from the cache after its exp', async () => {
  server.advanceClock(SECOND - (server.clock() % SECOND));
  const guarded = guardFor(server, platform);
  const { access_token } = await server.connect();
  server.advanceClock(HOUR - SECOND);
  assert.equal(await outcomeOf(guarded, access_token), undefined);

  server.advanceClock(SECOND);

  assert.equal(await outcomeOf(guarded, access_token), 'access_token_expired');
});

test('a token of a paused app is accepted again five seconds after it is resumed, at the latest', async () => {
  const guarded = guardFor(server, platform, { cacheSeconds: 60 });
  const app = await server.addApp({ name: 'Paused', ownerBusinessId: server.acme.id });
  const code = await server.allow({ client_id: app.id });
  const { access_token } = (await server.exchange(code, { client_id: app.id, client_secret: app.secret })).body;
  const pause = (at: number | null) =>
    server.storage().durable.updateTable('apps').set({ paused_at: at }).where('id', '=', app.id).execute();
  await pause(server.clock());
  assert.equal(await outcomeOf(guarded, access_token), 'app_paused');
  await pause(null);
  assert.equal(await outcomeOf(guarded, access_token), 'app_paused');

  server.advanceClock(5 * SECOND);

  assert.equal(await outcomeOf(guarded, access_token), undefined);
});

test('each scope is introspected once, so that connected apps can show its use', async () => {
  const guarded = guardFor(server, platform);
  const user = await server.addUser('Used', [[server.acme, 'member']]);
  const scope = 'read:invoices read:contacts';
  const { access_token } = await server.connect({ scope }, await server.signedIn(user));

  for (const scope of [SCOPE, 'read:contacts', SCOPE, 'read:contacts']) {
    assert.equal(await outcomeOf(guarded, access_token, scope), undefined);
  }
  assert.equal(await outcomeOf(guarded, access_token, 'read:reports'), 'insufficient_scope');
  await server.restart();

  assert.deepEqual(guarded.sent, [INTROSPECT, INTROSPECT, INTROSPECT]);
  const uses = server.storage().durable.selectFrom('scope_uses').select(['app_id', 'scope', 'uses']);
  assert.deepEqual(await uses.where('user_id', '=', user.id).orderBy('scope').execute(), [
    { app_id: server.ledger.id, scope: 'read:contacts', uses: 1 },
    { app_id: server.ledger.id, scope: 'read:invoices', uses: 1 },
  ]);
});

test('the cache is bounded: the oldest entry is removed, and the newest stay', async () => {
  const guarded = guardFor(server, platform, { maxEntries: 3 });
  const tokens: string[] = [];
  for (let count = 0; count < 4; count += 1) tokens.push((await server.connect()).access_token);
  for (const token of tokens) await outcomeOf(guarded, token);
  assert.equal(guarded.sent.length, 4);

  for (const token of tokens.slice(1)) await outcomeOf(guarded, token);
  assert.equal(guarded.sent.length, 4);
  await outcomeOf(guarded, tokens[0] ?? '');
  assert.equal(guarded.sent.length, 5);
});

test('an outage is not cached, and the cache outlives it', async () => {
  const guarded = guardFor(server, platform);
  const [known, unknown] = [await server.connect(), await server.connect()];
  await outcomeOf(guarded, known.access_token);

  await server.restart({
    meanwhile: async () => {
      assert.equal(await outcomeOf(guarded, known.access_token), undefined);
      assert.equal(await outcomeOf(guarded, unknown.access_token), 'temporarily_unavailable');
      server.advanceClock(15 * SECOND);
      assert.equal(await outcomeOf(guarded, known.access_token), 'temporarily_unavailable');
    },
  });

  assert.equal(await outcomeOf(guarded, unknown.access_token), undefined);
  assert.equal(await outcomeOf(guarded, known.access_token), undefined);
});
