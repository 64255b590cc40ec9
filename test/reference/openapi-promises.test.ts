import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listOperations, type Schema } from '../../src/web/reference/document.ts';
import { redirectParams } from '../support/raw-http.ts';
import { SCOPES } from '../support/scopes.ts';
import { startTestServer } from '../support/test-server.ts';
import { fetchDocument } from './document.ts';

const server = await startTestServer();
const document = await fetchDocument(server.api);
const operations = new Map(listOperations(document).map((operation) => [operation.operationId, operation]));

function operation(name: string) {
  const found = operations.get(name);
  assert.ok(found, name);
  return found;
}

/** Field, type, and whether it is required. */
type Fields = [name: string, type: string, isRequired: boolean][];

function assertFields({ properties = {}, required = [] }: Schema, fields: Fields): void {
  const actual = fields.map(([name]) => [name, properties[name]?.type, required.includes(name)]);

  assert.deepEqual(actual, fields);
}

function bodyOf(name: string): Schema {
  const schema = operation(name).requestBody?.content['application/json']?.schema;
  assert.ok(schema);
  return schema;
}

function shape(name: string): Schema {
  const schema = document.components.schemas[name];
  assert.ok(schema);
  return schema;
}

test('the four promised operations are at their paths', () => {
  const addresses = ['authorize', 'token', 'revoke', 'listInvoices'].map((name) => {
    const { method, path } = operation(name);
    return `${method} ${path}`;
  });

  assert.deepEqual(addresses, [
    'GET /api/v1/oauth/authorize',
    'POST /api/v1/oauth/token',
    'POST /api/v1/oauth/revoke',
    'GET /api/v1/accounting/invoices',
  ]);
});

const AUTHORIZE: Fields = [
  ['response_type', 'string', true],
  ['client_id', 'string', true],
  ['redirect_uri', 'string', false],
  ['scope', 'string', false],
  ['state', 'string', true],
  ['prompt', 'string', false],
];

test('authorize takes the promised query parameters, and responds with a 303', () => {
  const { parameters = [], responses } = operation('authorize');

  const actual = AUTHORIZE.map(([name]) => {
    const found = parameters.find((each) => each.name === name && each.in === 'query');
    return [name, found?.schema.type, found?.required === true];
  });

  assert.deepEqual(actual, AUTHORIZE);
  assert.equal(responses['303']?.headers?.location?.schema.type, 'string');
  assert.deepEqual(parameters.find(({ name }) => name === 'prompt')?.schema.enum, ['none', 'login']);
  assert.deepEqual(parameters.find(({ name }) => name === 'response_type')?.schema.enum, ['code']);
  assert.equal(parameters.find(({ name }) => name === 'redirect_uri')?.schema.format, 'uri');
});

test('a parameter of authorize is required exactly where the document says so', async () => {
  for (const [name, , isRequired] of AUTHORIZE) {
    const { status, headers } = await fetch(server.authorizeUrl({ [name]: undefined }), { redirect: 'manual' });
    const isRefused = status !== 303 || redirectParams(headers.get('location')).error !== undefined;

    assert.equal(isRefused, isRequired, name);
  }
});

test('the token endpoint takes the fields of both grant types', () => {
  assertFields(bodyOf('token'), [
    ['grant_type', 'string', true],
    ['code', 'string', false],
    ['client_id', 'string', false],
    ['client_secret', 'string', false],
    ['redirect_uri', 'string', false],
    ['refresh_token', 'string', false],
  ]);
});

test('the token endpoint always returns exactly the five promised fields', async () => {
  const fields: Fields = [
    ['access_token', 'string', true],
    ['token_type', 'string', true],
    ['expires_in', 'integer', true],
    ['refresh_token', 'string', true],
    ['scope', 'string', true],
  ];
  const { content } = operation('token').responses['200'] ?? {};
  const issued = await server.connect();

  assert.equal(content?.['application/json']?.schema.$ref, '#/components/schemas/Tokens');
  assertFields(shape('Tokens'), fields);
  assert.deepEqual(
    Object.keys(shape('Tokens').properties ?? {}),
    fields.map(([name]) => name),
  );
  assert.deepEqual(shape('Tokens').properties?.token_type?.enum, ['bearer']);
  assert.deepEqual(Object.keys(issued).sort(), fields.map(([name]) => name).sort());
});

test('a field or parameter that must not be empty says so, and an empty optional parameter counts as absent', async () => {
  for (const [name, field] of [
    ['token', 'grant_type'],
    ['revoke', 'token'],
    ['introspect', 'token'],
  ] as const) {
    const { status, body } = await server.post(name, { ...server.credentials, [field]: '' });

    assert.equal(bodyOf(name).properties?.[field]?.minLength, 1, name);
    assert.deepEqual([status, body.reason, body.error_description], [400, 'field_missing', `${field} is missing.`]);
  }
  for (const name of ['access_token', 'refresh_token']) {
    assert.equal(shape('Tokens').properties?.[name]?.minLength, 1);
  }
  const queries = [...operations.values()].flatMap(({ parameters = [] }) =>
    parameters.filter((each) => each.in === 'query'),
  );
  for (const { name, required, allowEmptyValue, schema } of queries) {
    assert.equal(allowEmptyValue === true, !required, name);
    if (required && !schema.enum) assert.equal(schema.minLength, 1, name);
  }
  const { access_token } = await server.connect();
  assert.equal((await server.listInvoices(access_token, {}, '?status=&limit=&cursor=')).status, 200);
});

test('extensible values are not a closed enum: a generated client accepts new ones', () => {
  const open = [
    shape('Invoice').properties?.status,
    shape('Event').properties?.type,
    shape('Introspection').properties?.token_type,
  ];

  for (const schema of open) {
    assert.ok((schema?.['x-extensible-enum']?.length ?? 0) > 1);
    assert.equal(schema?.enum, undefined);
  }
  assert.match(document.info.description ?? '', /x-extensible-enum/);
});

test('revoke has a token field', () => {
  assertFields(bodyOf('revoke'), [['token', 'string', true]]);
});

test('the invoice list takes a bearer token and x-business-id, and gives a list of invoices', () => {
  const { parameters = [], responses, security } = operation('listInvoices');
  const business = parameters.find(({ name }) => name === 'x-business-id');
  const list = responses['200']?.content?.['application/json']?.schema;

  assert.deepEqual(
    [business?.in, business?.required, business?.schema.type, business?.schema.format],
    ['header', true, 'string', 'uuid'],
  );
  assert.deepEqual(security, [{ oauth2: ['read:invoices'] }]);
  assert.deepEqual([list?.type, list?.items?.$ref], ['array', '#/components/schemas/Invoice']);
});

test('an invoice has the six promised fields, all of them text', () => {
  assertFields(shape('Invoice'), [
    ['id', 'string', true],
    ['number', 'string', true],
    ['status', 'string', true],
    ['total', 'string', true],
    ['currency', 'string', true],
    ['customerId', 'string', true],
  ]);
  assert.ok(shape('Invoice').properties?.status?.['x-extensible-enum']?.includes('SENT'));
});

test('every list of scopes has the ten promised scopes and no other', async () => {
  const { scopes, ...addresses } = document.components.securitySchemes.oauth2.flows.authorizationCode;
  const { description = '' } = operation('authorize').parameters?.find(({ name }) => name === 'scope') ?? {};
  const metadata = await server.get('/.well-known/oauth-authorization-server');

  assert.deepEqual(Object.keys(scopes), SCOPES);
  assert.deepEqual(
    [...description.matchAll(/`([^`]+)`/g)].map(([, name]) => name),
    SCOPES,
  );
  assert.deepEqual(metadata.body.scopes_supported, SCOPES);
  assert.deepEqual(addresses, {
    authorizationUrl: metadata.body.authorization_endpoint,
    tokenUrl: metadata.body.token_endpoint,
    refreshUrl: metadata.body.token_endpoint,
  });
});
