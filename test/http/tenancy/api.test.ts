import assert from 'node:assert/strict';
import { test } from 'node:test';
import { insertRecord } from '../../../src/business/records.ts';
import { listEndpoints } from '../../../src/business/routes.ts';
import { newId } from '../../../src/lib/ids.ts';
import { findResource, RESOURCES } from '../../../src/resources/all.ts';
import { createClient, type Tokens } from '../../support/client.ts';
import { REDIRECT_URI } from '../../support/fixtures.ts';
import { SCOPES } from '../../support/scopes.ts';
import { startTestServer } from '../../support/test-server.ts';
import { dump, rowsWith, withoutSending } from './dump.ts';
import { sendRequest } from './requests.ts';

/** All names of the other business contain the first word, and those of Acme the second. */
const [WORD, OWN_WORD] = ['Zanzibar', 'Acapulco'];
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** The tests of the business API are generated from its declarations. */
const ENDPOINTS = listEndpoints(true);

/** The methods of each route, and its authentication: none, a bearer token, or a client secret. */
const RULES: Record<
  string,
  { authentication: 'nothing' | 'token' | 'secret'; methods: string[]; path?: string; status?: number }
> = {
  '/': { authentication: 'nothing', methods: ['GET'] },
  '/assets/*': { authentication: 'nothing', methods: ['GET'], path: '/assets/icon.svg' },
  '/assets/gatehouse.css': { authentication: 'nothing', methods: ['GET'] },
  '/docs': { authentication: 'nothing', methods: ['GET'] },
  '/assets/scalar.js': { authentication: 'nothing', methods: ['GET'] },
  '/docs/guides': { authentication: 'nothing', methods: ['GET'] },
  '/docs/guides/:name': { authentication: 'nothing', methods: ['GET'], path: '/docs/guides/connect-your-app' },
  '/docs/reference/:name': { authentication: 'nothing', methods: ['GET'], path: '/docs/reference/api' },
  '/docs/decisions/:name': { authentication: 'nothing', methods: ['GET'], path: '/docs/decisions/0006-webhooks' },
  '/docs/sdk/:name': { authentication: 'nothing', methods: ['GET'], path: '/docs/sdk/typescript' },
  '/docs/errors': { authentication: 'nothing', methods: ['GET'] },
  '/docs/errors/:code': { authentication: 'nothing', methods: ['GET'], path: '/docs/errors/invalid_grant' },
  '/openapi.json': { authentication: 'nothing', methods: ['GET', 'OPTIONS'] },
  '/healthz': { authentication: 'nothing', methods: ['GET'] },
  '/readyz': { authentication: 'nothing', methods: ['GET'] },
  '/.well-known/oauth-authorization-server': { authentication: 'nothing', methods: ['GET', 'OPTIONS'] },
  '/.well-known/oauth-protected-resource/api/v1': { authentication: 'nothing', methods: ['GET', 'OPTIONS'] },
  '/.well-known/oauth-protected-resource/mcp': { authentication: 'nothing', methods: ['GET', 'OPTIONS'] },
  '/.well-known/oauth-protected-resource/mcp/:businessId': {
    authentication: 'nothing',
    methods: ['GET', 'OPTIONS'],
    path: '/.well-known/oauth-protected-resource/mcp/0190a6c6-0000-7000-8000-000000000000',
  },
  '/api/v1/oauth/authorize': { authentication: 'nothing', methods: ['GET'], status: 400 },
  '/api/v1/oauth/token': { authentication: 'secret', methods: ['OPTIONS', 'POST'] },
  '/api/v1/oauth/revoke': { authentication: 'secret', methods: ['OPTIONS', 'POST'] },
  '/api/v1/oauth/introspect': { authentication: 'secret', methods: ['POST'] },
  // Without DYNAMIC_REGISTRATION.
  '/api/v1/oauth/register': { authentication: 'nothing', methods: ['OPTIONS', 'POST'], status: 404 },
  '/api/v1/events': { authentication: 'secret', methods: ['GET'] },
  // test/http/mcp tests its tools.
  '/mcp': { authentication: 'token', methods: ['OPTIONS', 'POST'] },
  '/mcp/:businessId': { authentication: 'token', methods: ['OPTIONS', 'POST'] },
  ...Object.fromEntries(
    ENDPOINTS.map(({ path }) => {
      const methods = ENDPOINTS.filter((endpoint) => endpoint.path === path).map(({ method }) => method);
      return [path, { authentication: 'token', methods: [...methods, 'OPTIONS'].sort() }];
    }),
  ),
};

const server = await startTestServer();
const other = await server.addBusiness(`${WORD} Ltd`);
const theirs = await server.addUser(WORD, [[other, 'owner']]);
const apps = {
  own: await server.addApp({ name: 'Books', ownerBusinessId: server.acme.id, scopes: SCOPES }),
  other: await server.addApp({ name: `${WORD} app`, ownerBusinessId: other.id, scopes: SCOPES }),
  platform: await server.addApp({ name: 'Console', scopes: SCOPES }),
};
await server.addInvoice(server.acme, { number: OWN_WORD });
await server.addInvoice(other, { number: WORD });
const acmes = { ...server, user: server.ada, business: server.acme };
const clients = {
  own: createClient({ ...acmes, app: apps.own }),
  other: createClient({ ...server, user: theirs, app: apps.other, business: other }),
  platform: createClient({ ...acmes, app: apps.platform }),
};

interface Caller {
  token: string | undefined;
  scopes: string[];
  business?: string;
}

const mine = async (scope: string, tokens?: Tokens): Promise<Caller> => ({
  token: (tokens ?? (await clients.own.connect({ scope }))).access_token,
  scopes: scope.split(' '),
  business: server.acme.id,
});
const asRole = async (name: string, role: 'admin' | 'member') =>
  mine(
    'read:invoices',
    await clients.own.connect({}, await server.signedIn(await server.addUser(name, [[server.acme, role]]))),
  );

const CALLERS: Record<string, Caller> = {
  'no token': { token: undefined, scopes: [] },
  'what is no token': { token: 'nonsense', scopes: [] },
  'a token of an admin of the business': await asRole('Amy', 'admin'),
  'a token of a member of the business': await asRole('Mia', 'member'),
  'a token of a first-party app': await mine('read:invoices', await clients.platform.connect()),
  'a token of another business': {
    token: (await clients.other.connect({ scope: SCOPES.join(' ') })).access_token,
    scopes: SCOPES,
    business: other.id,
  },
  ...Object.fromEntries(
    await Promise.all(SCOPES.map(async (scope) => [`a token for ${scope} alone`, await mine(scope)])),
  ),
};

const SELECTED: Record<string, string | undefined> = {
  own: server.acme.id,
  other: other.id,
  unknown: newId(server.clock()),
  malformed: 'nonsense',
  none: undefined,
};

interface Request {
  path: string;
  method: string;
  headers?: Record<string, string>;
  body?: object;
}

async function send({ path, method, headers = {}, body }: Request): Promise<{ status: number; content: string }> {
  const isReading = method === 'GET' || method === 'HEAD';
  const type: Record<string, string> = body ? { 'content-type': 'application/json' } : {};
  const response = await sendRequest({
    url: server.api + path,
    method,
    headers: { ...headers, ...type },
    body: isReading || !body ? null : JSON.stringify(body),
  });
  return { status: response.status, content: `${JSON.stringify(response.headers)} ${response.text}` };
}

/** The status of the checks before the handler, or undefined if the request passes them. */
function rejectionOf(scope: string | null, { token, scopes, business }: Caller, selected: string | undefined) {
  if (token === undefined || business === undefined) return 401;
  if (scope === null) return undefined;
  if (!scopes.includes(scope)) return 403;
  if (selected === undefined || selected === 'nonsense') return 400;
  return selected === business ? undefined : 403;
}

/** Records of the other business, one of each resource, by the path of its list. */
const foreignIds = new Map<string, string>();
for (const resource of RESOURCES) {
  const named = Object.keys(resource.fields).find((name) => ['number', 'name', 'title', 'description'].includes(name));
  const values = { ...resource.example, [named ?? '']: `${WORD} ${resource.name}` };
  const add = { businessId: other.id, values };
  const record = await server.storage().transaction((tx) => insertRecord(tx, resource, add, server.clock()));
  foreignIds.set(resource.path, String(record?.values.id));
}

const addressOf = (path: string) => {
  const list = path.split('/:id')[0] ?? '';
  return path.replace(':id', foreignIds.get(list) ?? '');
};

test('every address of the API has a rule, and every rule an address', () => {
  const known = [...server.routes.api].map(([path, methods]) => [
    path,
    [...methods].filter((name) => name !== 'HEAD').sort(),
  ]);
  const ruled = Object.entries(RULES).map(([path, { methods }]) => [path, methods.toSorted()]);
  assert.deepEqual(known.sort(), ruled.sort());
});

test('endpoints without authentication reveal nothing about any business, for every method', async () => {
  const before = await dump(server);
  for (const [route, { authentication, methods, path = route, status = 200 }] of Object.entries(RULES)) {
    if (authentication !== 'nothing') continue;
    for (const method of METHODS) {
      const isTaken = methods.includes(method === 'HEAD' ? 'GET' : method);
      // Paths of the API with a parameter know their methods; pages do not.
      const rejected = /[:*]/.test(route) && !route.startsWith('/.well-known/') ? 404 : 405;
      const response = await send({ path, method, headers: { 'x-business-id': other.id } });
      const expected = isTaken ? (method === 'OPTIONS' ? 204 : status) : rejected;
      assert.equal(response.status, expected, `${method} ${path}`);
      assert.doesNotMatch(response.content, new RegExp(`${WORD}|${OWN_WORD}`, 'i'), `${method} ${path}`);
    }
  }
  assert.deepEqual(await dump(server), before);
});

for (const [who, caller] of Object.entries(CALLERS)) {
  test(`with ${who} the API shows only the business of the token, and writes nothing [P3] [P6] [P7] [P8] [P11]`, async () => {
    const before = await dump(server);
    const notTheirs = new RegExp(caller.business === other.id ? OWN_WORD : WORD, 'i');
    // A business in the body never selects one.
    const body = { businessId: other.id, business_id: other.id };
    for (const { method, path, scope } of ENDPOINTS) {
      for (const [whose, selected] of Object.entries(SELECTED)) {
        const headers = {
          ...(caller.token && { authorization: `Bearer ${caller.token}` }),
          ...(selected && { 'x-business-id': selected }),
        };
        const { status, content } = await send({ path: addressOf(path), method, headers, body });
        const isForeign = path.includes(':id') && caller.business !== other.id;
        const passed = method === 'GET' ? (isForeign ? 404 : 200) : 400;
        const request = `${method} ${path} for ${whose}`;
        assert.equal(status, rejectionOf(scope, caller, selected) ?? passed, `${request}: ${content}`);
        assert.doesNotMatch(content, notTheirs, request);
      }
    }
    assert.deepEqual(await dump(server), before);
  });
}

test('records of another business are not found by any endpoint, and no filter or reference reaches them [P8]', async () => {
  const { token } = await mine(SCOPES.join(' '));
  const headers = { authorization: `Bearer ${token}`, 'x-business-id': server.acme.id };
  const before = await dump(server);
  const bodies: Record<string, object> = { move: { stage: 'PROPOSAL' } };
  for (const { method, path } of ENDPOINTS.filter(({ path }) => path.includes(':id'))) {
    const body = method === 'PATCH' ? { notes: 'Ours now' } : (bodies[path.split('/').at(-1) ?? ''] ?? {});
    const { status, content } = await send({ path: addressOf(path), method, headers, body });
    assert.equal(status, 404, `${method} ${path}: ${content}`);
  }
  for (const { path, filters, fields, scopes } of RESOURCES) {
    const references = Object.entries(fields).filter(([, field]) => field.references);
    for (const [name, { references: target }] of references) {
      const foreign = foreignIds.get(findResource(target ?? '').path);
      const { content } = await send({ path: `${path}?${name}=${foreign}&limit=200`, method: 'GET', headers });
      assert.ok(!content.includes(WORD), `${path} by ${name}`);
      if (filters.includes(name)) assert.match(content, / \[\]$/);
      if (!scopes.write) continue;
      const created = await send({ path, method: 'POST', headers, body: { [name]: foreign } });
      assert.equal(created.status, 400, created.content);
    }
  }
  assert.deepEqual(await dump(server), before);
});

test('another method on a path of the business API is a 405', async () => {
  for (const path of new Set(ENDPOINTS.map((endpoint) => endpoint.path))) {
    const methods = RULES[path]?.methods ?? [];
    for (const method of METHODS.filter((name) => name !== 'HEAD' && !methods.includes(name))) {
      const { status } = await send({ path: addressOf(path), method, body: {} });
      assert.equal(status, 405, `${method} ${path}`);
    }
  }
});

test('credentials and tokens of another app have no effect, and reveal nothing [T7] [T20] [R3] [I3]', async () => {
  const [code, tokens] = [await clients.other.allow(), await clients.other.connect()];
  const texts = [WORD, WORD.toLowerCase(), other.id, apps.other.id];
  const rows = async () => withoutSending(rowsWith(await dump(server), texts));
  const before = await rows();
  const credentials = { client_id: apps.own.id, client_secret: apps.own.secret };
  const exchange = { ...credentials, grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI };
  const requests: [path: string, body: object, status: number][] = [
    ['token', exchange, 400],
    ['token', { ...credentials, grant_type: 'refresh_token', refresh_token: tokens.refresh_token }, 400],
    ['revoke', { ...credentials, token: tokens.access_token }, 200],
    ['revoke', { ...credentials, token: tokens.refresh_token }, 200],
    ['introspect', { ...credentials, token: tokens.access_token }, 200],
    ['introspect', { ...credentials, token: tokens.refresh_token }, 200],
    ['introspect', { ...credentials, token: code }, 200],
    ['introspect', { token: tokens.access_token }, 401],
    ['token', { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }, 401],
  ];

  for (const [path, body, expected] of requests) {
    const { status, content } = await send({ path: `/api/v1/oauth/${path}`, method: 'POST', body });
    assert.equal(status, expected, `${path} ${JSON.stringify(body)}`);
    assert.doesNotMatch(content, new RegExp(WORD, 'i'));
    if (path === 'introspect' && status === 200) assert.match(content, / \{"active":false\}$/);
  }
  assert.deepEqual(await rows(), before);
  assert.equal((await clients.other.refresh(tokens.refresh_token)).status, 200);
  assert.equal((await clients.other.exchange(code)).status, 200);
});

test('an app reads only its own events, from any cursor [P8]', async () => {
  const basic = { authorization: `Basic ${btoa(`${apps.own.id}:${apps.own.secret}`)}` };
  const events = await server.storage().durable.selectFrom('events').select(['id', 'app_id']).orderBy('id').execute();
  const foreign = events.filter(({ app_id }) => app_id === apps.other.id);
  assert.ok(foreign.length > 0);

  for (const cursor of [...foreign.map(({ id }) => id), newId(0), 'nonsense', '']) {
    const path = `/api/v1/events?limit=200&cursor=${cursor}`;
    const { status, content } = await send({ path, method: 'GET', headers: { ...basic, 'x-business-id': other.id } });
    assert.equal(status, cursor === 'nonsense' ? 400 : 200, path);
    for (const text of [WORD, other.id, apps.other.id]) assert.ok(!content.includes(text), path);
  }
});

test('endpoints with client authentication accept no other method and no other credentials', async () => {
  const before = await dump(server);
  const bearer = { authorization: `Bearer ${CALLERS['a token for read:invoices alone']?.token}` };
  for (const [path, { authentication, methods }] of Object.entries(RULES)) {
    if (authentication !== 'secret') continue;
    for (const method of METHODS) {
      const isTaken = methods.includes(method === 'HEAD' ? 'GET' : method);
      const body = { grant_type: 'refresh_token', refresh_token: 'nonsense', token: 'nonsense' };
      const { status } = await send({ path, method, headers: bearer, body });
      const expected = isTaken ? (method === 'OPTIONS' ? 204 : 401) : 405;
      assert.equal(status, expected, `${method} ${path}`);
    }
  }
  assert.deepEqual(await dump(server), before);
});
