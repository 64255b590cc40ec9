import assert from 'node:assert/strict';
import { test } from 'node:test';
import fastify, { type FastifyInstance } from 'fastify';
import type { ProtectedEndpoint } from '../../../src/business/protected-endpoint.ts';
import { mountProtectedEndpoint } from '../../../src/business/routes.ts';

const { scope: _, ...withoutScope }: ProtectedEndpoint = {
  method: 'GET',
  path: '/api/v1/accounting/contacts',
  scope: 'read:contacts',
  operationId: 'listContacts',
  summary: 'List contacts',
  description: 'The contacts of one business.',
  response: { description: 'Contacts.', name: 'Contact', schema: {}, example: {} },
  handle: async () => ({ body: [] }),
};

function mount(endpoint: ProtectedEndpoint): FastifyInstance {
  const host = fastify();
  mountProtectedEndpoint(host, {} as Parameters<typeof mountProtectedEndpoint>[1], endpoint);
  return host;
}

test('a protected endpoint without a scope does not compile, and does not start', () => {
  // @ts-expect-error: `scope` is missing.
  const undeclared: ProtectedEndpoint = withoutScope;

  assert.throws(() => mount(undeclared), /GET \/api\/v1\/accounting\/contacts declares the scope undefined/);
});

test('a protected endpoint whose scope is not in the list of scopes does not start', () => {
  assert.throws(
    () => mount({ ...withoutScope, scope: 'read:moon' }),
    /read:moon, which is not in src\/oauth\/scopes\.ts/,
  );
});

test('a protected endpoint is mounted with its preflight route', () => {
  const host = mount({ ...withoutScope, scope: 'read:contacts' });

  for (const method of ['GET', 'OPTIONS'] as const) {
    assert.ok(host.hasRoute({ method, url: '/api/v1/accounting/contacts' }), method);
  }
});
