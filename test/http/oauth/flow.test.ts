import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer } from '../../support/test-server.ts';

test('an app gets a token response of exactly five fields for its code', async () => {
  const server = await startTestServer();
  await server.addInvoice(server.acme);

  const { status, body, headers } = await server.exchange(await server.allow());

  assert.equal(status, 200);
  assert.deepEqual(Object.keys(body).sort(), ['access_token', 'expires_in', 'refresh_token', 'scope', 'token_type']);
  assert.equal(body.token_type, 'bearer');
  assert.equal(body.expires_in, 3600);
  assert.equal(body.scope, 'read:invoices');
  assert.equal(headers.get('cache-control'), 'no-store');
  const invoices = await server.listInvoices(body.access_token);
  assert.equal(invoices.status, 200, JSON.stringify(invoices.body));
  assert.equal(invoices.body[0].total, '1234.50');
});
