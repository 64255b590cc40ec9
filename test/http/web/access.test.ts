import assert from 'node:assert/strict';
import { test } from 'node:test';
import fastify, { type FastifyRequest } from 'fastify';
import { ROLES, type Role } from '../../../src/accounts/memberships.ts';
import { access, addAccessHooks } from '../../../src/web/access.ts';
import { businessRoute } from '../../../src/web/business-address.ts';
import type { WebDeps } from '../../../src/web/deps.ts';

function startHost() {
  const host = fastify();
  addAccessHooks(host, {} as WebDeps);
  return host;
}

test('a page that does not declare who may open it prevents the server from starting', () => {
  const host = startHost();

  assert.throws(() => host.get('/settings/secrets', async () => 'secret'), /GET \/settings\/secrets does not declare/);
});

test('a page that declares a role, and whose address names no business, prevents the server from starting [D5]', () => {
  const host = startHost();

  for (const level of ['member', 'admin', 'owner'] as const) {
    assert.throws(() => host.get('/settings/secrets', access(level), async () => 'secret'), /names a business/);
  }
});

test('a page about a business that declares no role prevents the server from starting [D5]', () => {
  const host = startHost();

  for (const level of ['anyone', 'signed_in', 'platform_admin'] as const) {
    assert.throws(() => host.get(businessRoute('secrets'), access(level), async () => 'secret'), /names a business/);
  }
});

const ALLOWED: Record<string, Role[]> = {
  member: ['member', 'admin', 'owner'],
  admin: ['admin', 'owner'],
  owner: ['owner'],
};

for (const level of ['member', 'admin', 'owner'] as const) {
  test(`the handler of a page declared for the role ${level} runs for no other role`, async () => {
    const opened = [];
    for (const role of ROLES) {
      const host = startHost();
      host.addHook('onRequest', async (request) => {
        request.pageContext = { current: { role } } as FastifyRequest['pageContext'];
      });
      host.get(businessRoute('secrets'), access(level), async () => 'secret');

      if ((await host.inject('/businesses/1/secrets')).body === 'secret') opened.push(role);
    }

    assert.deepEqual(opened.sort(), ALLOWED[level]?.toSorted());
  });
}

test('a page declared for platform admins is not found without a session', async () => {
  const host = startHost();
  host.decorateRequest('session', undefined);
  host.get('/platform/secrets', access('platform_admin'), async () => 'secret');

  const response = await host.inject('/platform/secrets');

  assert.doesNotMatch(response.body, /^secret/);
  assert.notEqual(response.statusCode, 200);
});
