import assert from 'node:assert/strict';
import { test } from 'node:test';
import fastify from 'fastify';
import { access, addAccessHooks } from '../../../src/web/access.ts';
import type { WebDeps } from '../../../src/web/deps.ts';

function startHost() {
  const host = fastify();
  addAccessHooks(host, {} as WebDeps);
  return host;
}

test('a page that does not declare who may open it keeps the server from starting', () => {
  const host = startHost();

  assert.throws(() => host.get('/settings/secrets', async () => 'secret'), /GET \/settings\/secrets does not declare/);
});

test('a page declared for platform admins is not found without a session', async () => {
  const host = startHost();
  host.decorateRequest('session', undefined);
  host.get('/platform/secrets', access('platform_admin'), async () => 'secret');

  const response = await host.inject('/platform/secrets');

  assert.doesNotMatch(response.body, /^secret/);
  assert.notEqual(response.statusCode, 200);
});
