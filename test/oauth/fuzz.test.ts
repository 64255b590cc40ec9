import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { newWorld } from '../support/world.ts';

const world = await newWorld();
const tokens = await world.connect();
const { client_id, client_secret } = world.credentials;

const endpoints = fc.constantFrom('token', 'revoke', 'introspect');
const names = fc.oneof(
  fc.constantFrom(
    'grant_type',
    'code',
    'refresh_token',
    'token',
    'client_id',
    'client_secret',
    'redirect_uri',
    'scope',
  ),
  fc.constantFrom('code_verifier', '__proto__', 'constructor', ''),
);
const texts = fc.oneof(
  fc.constantFrom('authorization_code', 'refresh_token', client_id, client_secret, tokens.access_token, 'gat_', ''),
  fc.string({ unit: 'binary', maxLength: 120 }),
);

async function send(endpoint: string, type: string, body: string) {
  const headers = { 'content-type': type };
  return fetch(`${world.api}/api/v1/oauth/${endpoint}`, { method: 'POST', headers, body });
}

async function assertClean(response: Response, sent: string) {
  const text = await response.text();
  assert.ok(response.status < 500, `${response.status} for ${sent}`);
  assert.equal(response.headers.get('cache-control'), 'no-store');
  assert.doesNotMatch(text, /\bat .*\.ts:|node_modules|SQLITE/);
  if (response.status !== 200) assert.match(JSON.parse(text).error, /^[a-z_]+$/);
}

test('no JSON whatever makes an endpoint fail, hang or show its insides [X5]', async () => {
  const values = fc.oneof({ weight: 3, arbitrary: texts }, { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) });
  const bodies = fc.oneof(
    { weight: 4, arbitrary: fc.dictionary(names, values).map((fields) => JSON.stringify(fields)) },
    { weight: 1, arbitrary: fc.json() },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 200 }) },
  );
  await fc.assert(
    fc.asyncProperty(endpoints, bodies, async (endpoint, body) => {
      await assertClean(await send(endpoint, 'application/json', body), body);
    }),
    { numRuns: 500 },
  );
});

test('no form whatever makes an endpoint fail, hang or show its insides [X5]', async () => {
  const pairs = fc.array(fc.tuple(names, texts), { maxLength: 8 });
  const bodies = fc.oneof(
    { weight: 3, arbitrary: pairs.map((fields) => `${new URLSearchParams(fields)}`) },
    { weight: 1, arbitrary: fc.string({ maxLength: 200 }) },
  );
  await fc.assert(
    fc.asyncProperty(endpoints, bodies, async (endpoint, body) => {
      await assertClean(await send(endpoint, 'application/x-www-form-urlencoded', body), body);
    }),
    { numRuns: 500 },
  );
});

test('no bearer token, business or query whatever makes the business API fail [X5]', async () => {
  const printable = fc.string({ maxLength: 60 }).map((text) => text.replace(/[^\x20-\x7e]/g, ' ').trim());
  const tokensOrNot = fc.oneof(
    fc.constant(tokens.access_token),
    printable,
    fc
      .nat({ max: 99 })
      .map((place) => `${tokens.access_token.slice(0, place)}x${tokens.access_token.slice(place + 1)}`),
  );
  await fc.assert(
    fc.asyncProperty(
      tokensOrNot,
      fc.oneof(fc.constant(world.acme.id), printable),
      texts,
      async (token, business, text) => {
        const query = new URLSearchParams({ limit: text, cursor: text, status: text });
        const headers = { authorization: `Bearer ${token}`, 'x-business-id': business };
        const response = await fetch(`${world.api}/api/v1/accounting/invoices?${query}`, { headers });
        assert.ok(response.status < 500, `${response.status} for ${token} ${business} ${text}`);
        await response.text();
      },
    ),
    { numRuns: 300 },
  );
});
