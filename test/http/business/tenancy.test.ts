import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deleteMembership } from '../../../src/accounts/memberships.ts';
import { sendRaw } from '../../support/raw-http.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const beta = await server.addBusiness('Beta');
const grace = await server.addUser('Grace', [
  [server.acme, 'member'],
  [beta, 'owner'],
]);
await server.addInvoice(server.acme, { number: 'ACME-1' });
await server.addInvoice(beta, { number: 'BETA-1' });
const tokens = await server.connect({ scope: 'read:invoices' }, await server.signedIn(grace));
const NOWHERE = '0190a6c6-0000-7000-8000-000000000000';
const PATH = '/api/v1/accounting/invoices';

const listAs = (business: string, query = '') =>
  server.listInvoices(tokens.access_token, { 'x-business-id': business }, query);
const numbersIn = (invoices: { number: string }[]) => invoices.map(({ number }) => number);
const bearer = { authorization: `Bearer ${tokens.access_token}` };

test('a list has the invoices of the token’s business only [P8]', async () => {
  const { body } = await listAs(server.acme.id);

  assert.deepEqual(
    body.map(({ number }: { number: string }) => number),
    ['ACME-1'],
  );
});

test('another business gets the same 403 whether or not it exists, even one of the user’s own [P6]', async () => {
  const own = await listAs(beta.id);
  const strange = await listAs((await server.addBusiness('Strange')).id);
  const nowhere = await listAs(NOWHERE);

  assert.deepEqual([own.status, own.body.error], [403, 'business_mismatch']);
  for (const response of [strange, nowhere]) assert.deepEqual([response.status, response.body], [own.status, own.body]);
  const names = ({ headers }: typeof own) => [...headers.keys()].sort();
  assert.deepEqual(names(nowhere), names(strange));
});

test('x-business-id is required, once, as a UUID: there is no default business [P7]', async () => {
  const { acme } = server;
  const without = await server.get(PATH, bearer);
  assert.deepEqual([without.status, without.body.error], [400, 'invalid_request']);

  for (const value of [
    '',
    ' ',
    'Acme',
    '1',
    '*',
    'null',
    `${acme.id},${acme.id}`,
    `${acme.id}, ${beta.id}`,
    `${acme.id} ${beta.id}`,
    `{${acme.id}}`,
    acme.id.replaceAll('-', ''),
    `${acme.id}x`,
    `urn:uuid:${acme.id}`,
    "' or ''='",
  ]) {
    const { status, body } = await listAs(value);
    assert.deepEqual([status, body.error], [400, 'invalid_request'], value);
  }
});

test('x-business-id sent twice is a 400, also with the same value [P7]', async () => {
  for (const second of [server.acme.id, beta.id]) {
    const { status, text } = await sendRaw(server.api, {
      path: PATH,
      headers: [
        ['Authorization', bearer.authorization],
        ['X-Business-Id', server.acme.id],
        ['x-business-id', second],
      ],
    });
    assert.equal(status, 400);
    assert.equal(JSON.parse(text).error, 'invalid_request');
  }
});

test('x-business-id may be written in capitals', async () => {
  assert.equal((await listAs(server.acme.id.toUpperCase())).status, 200);
});

test('a business id in the query does not replace the header [P9]', async () => {
  const named = await listAs(server.acme.id, `?businessId=${beta.id}&x-business-id=${beta.id}`);
  const only = await server.get(`${PATH}?x-business-id=${server.acme.id}`, bearer);

  assert.deepEqual([named.status, numbersIn(named.body)], [200, ['ACME-1']]);
  assert.equal(only.status, 400);
});

test('a business id in a body or in the path does not replace the header [P9]', async () => {
  const headers: [string, string][] = [
    ['Authorization', bearer.authorization],
    ['X-Business-Id', server.acme.id],
    ['Content-Type', 'application/json'],
  ];
  const body = JSON.stringify({ businessId: beta.id, 'x-business-id': beta.id, business_id: beta.id });
  const length: [string, string] = ['Content-Length', String(body.length)];

  const inBody = await sendRaw(server.api, { path: PATH, headers: [...headers, length], body });
  assert.deepEqual([inBody.status, numbersIn(JSON.parse(inBody.text))], [200, ['ACME-1']]);
  for (const path of [
    `/api/v1/businesses/${beta.id}`,
    `/api/v1/businesses/${beta.id}/invoices`,
    `${PATH}/${beta.id}`,
  ]) {
    assert.equal((await sendRaw(server.api, { path, headers })).status, 404, path);
  }
});

test('an invoice of another business is not found, by any method [P8]', async () => {
  const rows = await server.storage().durable.selectFrom('invoices').select(['id', 'number']).execute();
  const { access_token: token } = await server.connect(
    { scope: 'read:invoices write:invoices' },
    await server.signedIn(grace),
  );
  const headers = {
    authorization: `Bearer ${token}`,
    'x-business-id': server.acme.id,
    'content-type': 'application/json',
  };
  const theirs = rows.filter(({ number }) => number === 'BETA-1');

  for (const { id } of theirs) {
    const requests = [
      ['GET', ''],
      ['PATCH', '', '{"notes":"x"}'],
      ['POST', '/send', '{}'],
      ['POST', '/pay', '{}'],
      ['POST', '/void', '{}'],
    ] as const;
    for (const [method, action, body = null] of requests) {
      const { status } = await fetch(`${server.api}${PATH}/${id}${action}`, { method, headers, body });
      assert.equal(status, 404, `${method} ${action}`);
    }
  }
  assert.equal(theirs.length, 1);
});

test('a cursor from another business reveals nothing of that business [P8]', async () => {
  const [newest] = (
    await server.storage().durable.selectFrom('invoices').selectAll().where('business_id', '=', beta.id).execute()
  ).map(({ id }) => id);
  const { status, body } = await listAs(server.acme.id, `?cursor=${newest}`);

  assert.equal(status, 200);
  assert.ok(body.every(({ number }: { number: string }) => number === 'ACME-1'));
});

test('GET /api/v1/businesses returns the one business of the token, without x-business-id', async () => {
  const { status, body } = await server.get('/api/v1/businesses', bearer);

  assert.equal(status, 200);
  assert.deepEqual(body, [{ id: server.acme.id, name: 'Acme' }]);
  assert.deepEqual((await server.get('/api/v1/businesses', { ...bearer, 'x-business-id': beta.id })).body, body);
});

test('GET /api/v1/businesses needs a token, but no particular scope', async () => {
  const contacts = await server.connect({ scope: 'read:contacts' }, await server.signedIn(grace));

  const allowed = await server.get('/api/v1/businesses', { authorization: `Bearer ${contacts.access_token}` });
  assert.equal(allowed.status, 200);
  assert.equal((await server.get('/api/v1/businesses')).status, 401);
});

test('removing the user from the business takes effect on the next request [P10]', async () => {
  const leaver = await server.addUser('Leaver', [[server.acme, 'member']]);
  const { access_token } = await server.connect({}, await server.signedIn(leaver));
  assert.equal((await server.listInvoices(access_token)).status, 200);

  await deleteMembership(server.storage().durable, leaver.id, server.acme.id);

  assert.equal((await server.listInvoices(access_token)).status, 401);
  assert.equal((await server.get('/api/v1/businesses', { authorization: `Bearer ${access_token}` })).status, 401);
});
