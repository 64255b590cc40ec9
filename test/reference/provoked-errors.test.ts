import assert from 'node:assert/strict';
import { test } from 'node:test';
import { REASONS } from '../../src/http/errors.ts';
import { type OperationResponse as DescribedAnswer, listOperations } from '../../src/web/reference/document.ts';
import type { ApiResponse } from '../support/client.ts';
import { createResponseValidator } from '../support/response-validator.ts';
import { startTestServer } from '../support/test-server.ts';
import { fetchDocument } from './document.ts';
import { bearerProvocations, expiredBearerProvocations } from './provocations/bearers.ts';
import { bodyProvocations } from './provocations/bodies.ts';
import { businessProvocations, isProvoked } from './provocations/business.ts';
import { callbackProvocations } from './provocations/callbacks.ts';
import { eventProvocations } from './provocations/events.ts';
import { createConnections, createInactiveGrants } from './provocations/inactive-grants.ts';
import { mcpProvocations } from './provocations/mcp.ts';
import { drainingProvocations, limitProvocations, outageProvocations, SCARCE } from './provocations/outages.ts';
import { type Provocation, provocationsOf, reasonOf, send } from './provocations/provocation.ts';
import { registrationLimitProvocations, registrationProvocations } from './provocations/registration.ts';
import { expiredTokenProvocations, tokenProvocations } from './provocations/tokens.ts';

const server = await startTestServer({ LIMIT_CHANGES_PER_USER: '150', DYNAMIC_REGISTRATION: 'on' });
const document = await fetchDocument(server.api);
const operations = listOperations(document);
const assertDescribed = createResponseValidator(document);
const connections = createConnections(server);
const inactiveGrants = createInactiveGrants(connections);

/** Every response so far, as operation, status and reason, and as operation, status and error. */
const provoked = { reasons: new Set<string>(), errors: new Set<string>() };
/** Every error that a client has received so far, with its reason. */
const receivedErrors = new Set<string>();
/** Every error description so far, without its numbers. */
const sentences = new Set<string>();
const withoutNumbers = (text: string) => text.replace(/\d+/g, '#');

function successes(): Provocation[] {
  const get = (path: string) => () => server.get(path);
  const right = 'a request that is right';
  const of = (operation: string, status: number, provoke: () => Promise<ApiResponse>) =>
    provocationsOf(operation, [[status, 'none', right, provoke]]);
  const access = async () => (await connections.connect()).tokens.access_token;
  return [
    ...of('authorize', 303, () => send(server.authorizeUrl())),
    ...provocationsOf('authorize', [
      [400, 'page', 'an unknown app', () => send(server.authorizeUrl({ client_id: 'x' }))],
    ]),
    ...of('token', 200, async () => server.exchange(await connections.allow({}))),
    ...of('revoke', 200, async () => server.revoke(await access())),
    ...of('introspect', 200, async () => server.introspect(await access())),
    ...of('listInvoices', 200, async () => server.listInvoices(await access())),
    ...of('listBusinesses', 200, async () =>
      server.get('/api/v1/businesses', { authorization: `Bearer ${await access()}` }),
    ),
    ...of('me', 200, async () => server.get('/api/v1/me', { authorization: `Bearer ${await access()}` })),
    ...of('metadata', 200, get('/.well-known/oauth-authorization-server')),
    ...of('apiResource', 200, get('/.well-known/oauth-protected-resource/api/v1')),
    ...of('mcpResource', 200, get('/.well-known/oauth-protected-resource/mcp')),
    ...of('businessMcpResource', 200, get(`/.well-known/oauth-protected-resource/mcp/${server.acme.id}`)),
    ...provocationsOf('businessMcpResource', [
      [404, 'not_found', 'an id that is none', get('/.well-known/oauth-protected-resource/mcp/acme')],
    ]),
    ...of('openapi', 200, get('/openapi.json')),
    ...of('healthz', 200, get('/healthz')),
    ...of('readyz', 200, get('/readyz')),
  ];
}

/** Provocations that advance the clock or delete something run last. */
const provocations = [
  ...successes(),
  ...bodyProvocations(server),
  ...eventProvocations(server),
  ...tokenProvocations(connections, inactiveGrants),
  ...bearerProvocations(connections, inactiveGrants),
  ...businessProvocations(server),
  ...mcpProvocations(server),
  ...expiredBearerProvocations(connections),
  ...expiredTokenProvocations(connections),
  ...drainingProvocations(server),
  ...limitProvocations(await startTestServer(SCARCE)),
  ...registrationProvocations(server),
  ...registrationLimitProvocations(await startTestServer({ ...SCARCE, DYNAMIC_REGISTRATION: 'on' })),
  ...outageProvocations(await startTestServer()),
];

for (const { operation, status, reason, to, provoke } of provocations) {
  test(`${operation} responds to ${to} with ${status}, reason ${reason}`, async () => {
    const described = operations.find(({ operationId }) => operationId === operation);
    assert.ok(described);

    const response = await provoke();

    const { error, error_uri } = response.body;
    assert.deepEqual([response.status, reasonOf(response)], [status, reason], JSON.stringify(response.body));
    provoked.reasons.add(`${operation} ${status} ${reason}`);
    if (reason === 'page') return;
    assertDescribed(described, response);
    if (reason === 'none') return;
    assert.ok(error_uri.endsWith(`/docs/errors/${error}#${reason}`), error_uri);
    provoked.errors.add(`${operation} ${status} ${error}`);
    receivedErrors.add(`${error} ${reason}`);
    sentences.add(withoutNumbers(`${reason}: ${response.body.error_description}`));
  });
}

/** The errors that the document lists under one status, each with a reason. */
function refusalsIn({ content }: DescribedAnswer, status: string): { error?: string; reason: string }[] {
  const reasons = content?.['application/json']?.['x-reasons'];
  if (Number(status) < 400) return [{ reason: 'none' }];
  if (!reasons) return [{ reason: 'page' }];
  return Object.entries(reasons).flatMap(([error, names]) => names.map((reason) => ({ error, reason })));
}

/** An error counts if one of its reasons is provoked. */
function listDescribed(field: 'error' | 'reason'): string[] {
  const described = operations.flatMap((operation) =>
    Object.entries(operation.responses).flatMap(([status, response]) =>
      refusalsIn(response, status)
        .filter(({ reason }) => isProvoked(operation, `${status} ${reason}`))
        .flatMap(({ [field]: name }) => (name === undefined ? [] : [`${operation.operationId} ${status} ${name}`])),
    ),
  );
  return [...new Set(described)];
}

test('every documented response of an operation can be provoked, reason by reason', () => {
  assert.deepEqual([...provoked.reasons].sort(), listDescribed('reason').sort());
});

test('every documented error code of an operation can be provoked under its status', () => {
  assert.deepEqual([...provoked.errors].sort(), listDescribed('error').sort());
});

test('the error examples of the document are those of the server', () => {
  const examples = operations.flatMap(({ responses }) =>
    Object.values(responses).flatMap(({ content }) => {
      const { example, 'x-reasons': reasons } = content?.['application/json'] ?? {};
      const { reason, error_description } = (example ?? {}) as Record<string, string>;
      return reasons ? [withoutNumbers(`${reason}: ${error_description}`)] : [];
    }),
  );

  assert.deepEqual(
    [...new Set(examples)].filter((sentence) => !sentences.has(sentence)),
    [],
  );
});

const callbackErrors = new Set<string>();

for (const [error, reason, to, provoke] of callbackProvocations(server)) {
  test(`the app receives ${error}, reason ${reason}, for ${to}, with an error_uri`, async () => {
    const left = await provoke();
    assert.ok(left);
    const { searchParams: sent } = left;

    const page = await fetch(sent.get('error_uri') ?? '');

    assert.equal(sent.get('error'), error);
    assert.equal(sent.get('error_uri'), `${server.api}/docs/errors/${error}#${reason}`);
    assert.match(sent.get('error_description') ?? '', /\S/);
    assert.equal(sent.get('iss'), server.api);
    assert.equal(page.status, 200);
    assert.match(await page.text(), new RegExp(` id="${reason}"`));
    callbackErrors.add(error);
    receivedErrors.add(`${error} ${reason}`);
  });
}

test('the document lists exactly the errors that an app can receive at its redirect URI', () => {
  const described = operations.find(({ operationId }) => operationId === 'authorize')?.['x-callback-errors'] ?? [];

  assert.deepEqual([...callbackErrors].sort(), described.toSorted());
});

const ANYWHERE: [status: number, error: string, reason: string, path: string, method: string][] = [
  [404, 'not_found', 'not_found', '/api/v1/nowhere', 'GET'],
  [405, 'invalid_request', 'method_not_allowed', '/api/v1/oauth/token', 'PUT'],
  [400, 'invalid_request', 'request_unreadable', '/api/v1/%zz', 'GET'],
];

for (const [status, error, reason, path, method] of ANYWHERE) {
  test(`an unknown path can get ${status}, reason ${reason}`, async () => {
    const response = await send(server.api + path, { method });

    assert.deepEqual([response.status, response.body.error, response.body.reason], [status, error, reason]);
    receivedErrors.add(`${error} ${reason}`);
  });
}

test('every reason of every error can be provoked', () => {
  const all = Object.entries(REASONS).flatMap(([error, reasons]) => reasons.map((reason) => `${error} ${reason}`));

  assert.deepEqual([...receivedErrors].sort(), all.sort());
});
