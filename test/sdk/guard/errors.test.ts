import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GuardError } from '../../../sdk/guard/src/index.ts';
import { HOUR } from '../../../src/lib/clock.ts';
import { newId } from '../../../src/lib/ids.ts';
import { startTestServer } from '../../support/test-server.ts';
import { type GuardedResponse, get, guardFor, serveInvoices } from './protected-apis.ts';

const server = await startTestServer();
const platform = await server.addApp({ name: 'Platform API' });
await server.listForIntrospection(platform);
const other = await server.addBusiness('Other');
const { guard, errors } = guardFor(server, platform);
const urls = await serveInvoices(guard);
const gatehouse = `${server.api}/api/v1/accounting/invoices`;
const business = { 'x-business-id': server.acme.id };

/** The response without values that differ each time. */
function comparable({ status, headers, body }: GuardedResponse) {
  const names = ['www-authenticate', 'cache-control', 'pragma', 'retry-after', 'content-type'];
  return { status, body, headers: Object.fromEntries(names.map((name) => [name, headers[name]])) };
}

async function assertSameError(
  headers: Record<string, string | string[]>,
  expected: [status: number, error: string, reason: string],
  query = '',
) {
  const theirs = comparable(await get(gatehouse + query, headers));
  const { status, body } = theirs;
  assert.deepEqual([status, body.error, body.reason], expected);
  for (const [framework, url] of Object.entries(urls)) {
    assert.deepEqual(comparable(await get(url + query, headers)), theirs, framework);
  }
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}`, ...business });

test('an accepted request reaches the handler with the user, app, business and scopes', async () => {
  const { access_token } = await server.connect({ scope: 'read:invoices read:contacts' });
  const access = {
    userId: server.ada.id,
    appId: server.ledger.id,
    businessId: server.acme.id,
    scopes: ['read:invoices', 'read:contacts'],
  };

  for (const url of Object.values(urls)) {
    for (const headers of [
      bearer(access_token),
      { authorization: `bearer  ${access_token}`, 'x-business-id': server.acme.id.toUpperCase() },
    ]) {
      assert.deepEqual((await get(url, headers)).body, access, url);
    }
  }
  assert.deepEqual(await guard.check(bearer(access_token), 'read:contacts'), access);
  assert.deepEqual(await guard.check(new Headers(bearer(access_token)), 'read:contacts'), access);
});

const WITHOUT_TOKEN: Record<string, string>[] = [{}, business, { authorization: 'Basic YTpi' }, { authorization: '' }];
for (const headers of WITHOUT_TOKEN) {
  test(`the error equals Gatehouse’s for a request without a token: ${Object.entries(headers)}`, () =>
    assertSameError(headers, [401, 'unauthorized', 'token_missing']));
}

for (const authorization of ['Bearer', 'Bearer ', 'Bearer one two']) {
  test(`the error equals Gatehouse’s for a malformed header: ${authorization}.`, () =>
    assertSameError({ authorization, ...business }, [401, 'invalid_token', 'token_malformed']));
}

for (const token of ['x', 'gat_', 'gat_junk', `gat_${'A'.repeat(96)}`, '"quoted"']) {
  test(`the error equals Gatehouse’s for an unknown token: ${token}`, () =>
    assertSameError(bearer(token), [401, 'invalid_token', 'token_unknown']));
}

test('the error equals Gatehouse’s for a refresh token and for a code', async () => {
  const { refresh_token } = await server.connect();
  for (const token of [refresh_token, await server.allow()]) {
    await assertSameError(bearer(token), [401, 'invalid_token', 'token_of_another_kind']);
  }
});

test('the error equals Gatehouse’s for a token that is for an MCP server [G2]', async () => {
  for (const resource of [`${server.api}/mcp`, `${server.api}/mcp/${server.acme.id}`]) {
    const { access_token } = await server.connect({ resource });
    await assertSameError(bearer(access_token), [401, 'invalid_token', 'token_for_other_resource']);
  }
});

test('the error equals Gatehouse’s for a token in the address, with and without the header', async () => {
  const { access_token } = await server.connect();
  const query = `?access_token=${access_token}`;
  await assertSameError(bearer(access_token), [400, 'invalid_request', 'token_in_address'], query);
  await assertSameError(business, [401, 'unauthorized', 'token_missing'], query);
  await assertSameError(bearer('x'), [401, 'invalid_token', 'token_unknown'], '?access_token=');
  await assertSameError(
    bearer(access_token),
    [400, 'invalid_request', 'token_in_address'],
    `?access_token=&${query.slice(1)}`,
  );
});

test('the error equals Gatehouse’s for a revoked token, for a revoked grant and for a paused app', async () => {
  const [one, two] = [await server.connect(), await server.connect()];
  const app = await server.addApp({ name: 'Paused', ownerBusinessId: server.acme.id });
  const code = await server.allow({ client_id: app.id });
  const paused = (await server.exchange(code, { client_id: app.id, client_secret: app.secret })).body;
  await server.revoke(one.access_token);
  await server.revoke(two.refresh_token);
  await server.storage().durable.updateTable('apps').set({ paused_at: 1 }).where('id', '=', app.id).execute();

  await assertSameError(bearer(one.access_token), [401, 'invalid_token', 'access_token_revoked']);
  await assertSameError(bearer(two.access_token), [401, 'invalid_token', 'revoked_by_app']);
  await assertSameError(bearer(paused.access_token), [401, 'invalid_token', 'app_paused']);
});

test('the error equals Gatehouse’s for a token without the scope, whatever the business', async () => {
  const { access_token } = await server.connect({ scope: 'read:contacts' });
  for (const id of [server.acme.id, other.id, 'x']) {
    const headers = { ...bearer(access_token), 'x-business-id': id };
    await assertSameError(headers, [403, 'insufficient_scope', 'insufficient_scope']);
  }
});

test('the error equals Gatehouse’s for a missing, malformed, repeated and other business', async () => {
  const { access_token } = await server.connect();
  const { authorization } = bearer(access_token);
  await assertSameError({ authorization }, [400, 'invalid_request', 'business_id_malformed']);
  for (const header of ['', 'x', `${server.acme.id} `.repeat(2), [server.acme.id, server.acme.id]]) {
    const headers = { authorization, 'x-business-id': header };
    await assertSameError(headers, [400, 'invalid_request', 'business_id_malformed']);
  }
  for (const id of [other.id, newId(0), platform.id]) {
    const headers = { authorization, 'x-business-id': id };
    await assertSameError(headers, [403, 'business_mismatch', 'business_mismatch']);
  }
});

test('the error equals Gatehouse’s for an expired token', async () => {
  const { access_token } = await server.connect();
  server.advanceClock(HOUR);
  await assertSameError(bearer(access_token), [401, 'invalid_token', 'access_token_expired']);
});

test('a guard with the credentials of a third-party app accepts the tokens of this app alone', async () => {
  const app = await server.addApp({ name: 'Own API', ownerBusinessId: server.acme.id });
  const own = guardFor(server, app);
  const code = await server.allow({ client_id: app.id });
  const { access_token } = (await server.exchange(code, { client_id: app.id, client_secret: app.secret })).body;
  const foreign = await server.connect();

  assert.equal((await own.guard.check(bearer(access_token), 'read:invoices')).appId, app.id);
  await assert.rejects(own.guard.check(bearer(foreign.access_token), 'read:invoices'), (error) => {
    assert.ok(error instanceof GuardError);
    assert.deepEqual([error.status, error.body.reason], [401, 'token_unknown']);
    return true;
  });
});

test('while Gatehouse cannot be reached, requests get 503 with Retry-After, and no request reaches the handler', async () => {
  const { access_token } = await server.connect();
  await server.restart({
    meanwhile: async () => {
      for (const url of Object.values(urls)) {
        const { status, headers, body } = await get(url, bearer(access_token));
        assert.deepEqual(
          [status, body.error, body.reason],
          [503, 'temporarily_unavailable', 'temporarily_unavailable'],
        );
        assert.equal(headers['retry-after'], '1');
        assert.equal((await get(url, business)).status, 401);
      }
    },
  });

  assert.match(errors.at(-1)?.message ?? '', /^No response from http:\/\/127\.0\.0\.1:\d+ \(ECONNREFUSED\)\.$/);
  for (const url of Object.values(urls)) assert.equal((await get(url, bearer(access_token))).status, 200, url);
});

test('a request that has not passed the guard has no access', () => {
  assert.throws(() => guard.accessOf({}), /has not passed the guard/);
});
