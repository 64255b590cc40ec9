import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import express from 'express';
import { createGuard, GuardError } from '../../../sdk/guard/src/index.ts';
import { SCOPES } from '../../../src/oauth/scopes.ts';
import { startTestServer } from '../../support/test-server.ts';
import { guardFor } from './protected-apis.ts';

const server = await startTestServer();
const platform = await server.addApp({ name: 'Platform API' });
await server.listForIntrospection(platform);
const { access_token } = await server.connect();
const headers = { authorization: `Bearer ${access_token}`, 'x-business-id': server.acme.id };
const existing = SCOPES.map(({ name }) => name);
const unknown = (name: string) => `${server.api} does not have the scope ${name}. It has: ${existing.join(', ')}.`;

const rejectionOf = (checked: Promise<unknown>): Promise<GuardError> =>
  checked.then(
    () => assert.fail('the request was accepted'),
    (error) => {
      assert.ok(error instanceof GuardError);
      return error;
    },
  );

test('an API that requires a scope which does not exist is not started, and its error lists the scopes that exist', async () => {
  const { guard } = guardFor(server, platform);
  express().get('/invoices', guard.express('read:invoices'));
  await guard.checkScopes(['read:contacts']);

  await assert.rejects(guard.checkScopes(['read:invoice']), { message: unknown('read:invoice') });
  guard.fastify('write:everything');
  await assert.rejects(guard.checkScopes(), { message: unknown('write:everything') });
  await assert.rejects(guard.checkScopes(['two scopes']), TypeError);
});

const REQUESTS = {
  'a token without the scope': headers,
  'no token': {},
  'an unknown token': { ...headers, authorization: 'Bearer gat_junk' },
};
for (const [name, sent] of Object.entries(REQUESTS)) {
  test(`a request with ${name} to a route whose scope does not exist is not told to request it`, async () => {
    const { guard, errors } = guardFor(server, platform);

    const error = await rejectionOf(guard.check(sent, 'read:invoice'));

    assert.deepEqual([error.status, error.body.error], [500, 'server_error']);
    assert.ok(!JSON.stringify([error.headers, error.body]).includes('read:invoice'));
    assert.deepEqual(
      errors.map(({ message }) => message),
      [unknown('read:invoice')],
    );
  });
}

test('an API starts without Gatehouse, and its rejections are those of before', async () => {
  const { guard, errors } = guardFor(server, platform, { issuer: 'http://127.0.0.1:2' });

  await guard.checkScopes(['read:invoice']);
  const error = await rejectionOf(guard.check({}, 'read:invoice'));

  assert.equal(error.status, 401);
  assert.deepEqual(
    errors.map(({ message }) => message),
    ['The scopes are not checked. No response from http://127.0.0.1:2 (ECONNREFUSED).'],
  );
});

test('the scopes are loaded once a minute, and a scope that Gatehouse gets later is then known', async () => {
  let [now, loads] = [0, 0];
  const metadata = createServer((_, response) => {
    loads += 1;
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify({ scopes_supported: loads === 1 ? ['read:invoices'] : ['read:invoices', 'read:stock'] }),
    );
  });
  await new Promise<void>((resolve) => {
    metadata.listen(0, '127.0.0.1', resolve);
  });
  after(() => metadata.close());
  const issuer = `http://127.0.0.1:${(metadata.address() as AddressInfo).port}`;
  const guard = createGuard({ issuer, clientId: 'id', clientSecret: 'secret', clock: () => now, onError: () => {} });
  const statusOf = async () => (await rejectionOf(guard.check({}, 'read:stock'))).status;

  const first = [await statusOf(), await statusOf(), loads];
  now += 60_000;
  const second = [await statusOf(), loads];

  assert.deepEqual(
    [first, second],
    [
      [500, 500, 1],
      [401, 2],
    ],
  );
});

test('metadata that lists no scopes stops nothing', async () => {
  const errors: Error[] = [];
  for (const body of ['{}', '<html>', '{"scopes_supported":["two scopes"]}', '{"scopes_supported":"read:invoices"}']) {
    const guard = createGuard({
      issuer: 'https://api.example.com',
      clientId: 'id',
      clientSecret: 'secret',
      onError: (error) => errors.push(error),
      fetch: async () => new Response(body),
    });
    await guard.checkScopes(['read:invoice']);
  }
  assert.deepEqual(new Set(errors.map(({ message }) => message)).size, 1);
  assert.match(String(errors[0]), /The scopes are not checked\. The metadata lists no scopes \(status 200\)\./);
});
