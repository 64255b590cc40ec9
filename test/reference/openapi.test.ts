import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { listOperations, type Media } from '../../src/web/reference/document.ts';
import { freePort } from '../support/ports.ts';
import { startTestServer } from '../support/test-server.ts';
import { assertNone, fetchDocument, listObjects, nameOf } from './document.ts';
import { isBusinessApi } from './provocations/business.ts';

const server = await startTestServer();
const document = await fetchDocument(server.api);
const operations = listOperations(document);
const objects = listObjects(document);

/** Paths of the API host with pages for people, and the assets of these pages. */
const PAGES = ['/', '/assets/*', '/assets/gatehouse.css', '/assets/scalar.js'];
/** Responds why it is off. */
const OFF = '/api/v1/oauth/register';
/** HEAD, which exists for every GET, and the preflight request of browsers. */
const IMPLIED = ['HEAD', 'OPTIONS'];

test('the document is valid OpenAPI 3.1', async () => {
  const validator = new Validator();

  const { valid, errors } = await validator.validate(structuredClone({ ...document }));

  assert.equal(valid, true, JSON.stringify(errors, null, 2));
  assert.equal(validator.version, '3.1');
});

test('it is written once in a process, and not sent again to a client that has it', async () => {
  const stringify = mock.method(JSON, 'stringify');
  const path = `${server.api}/openapi.json`;

  const [first, second] = [await fetch(path), await fetch(path)];
  const etag = first.headers.get('etag') ?? '';
  const known = await fetch(path, { headers: { 'if-none-match': `"other", ${etag}` } });
  const changed = await fetch(path, { headers: { 'if-none-match': '"other"' } });
  const written = stringify.mock.calls.filter(({ arguments: [value] }) => value?.openapi === '3.1.0');
  stringify.mock.restore();

  assert.equal(written.length, 0, 'it was written for the first request of this file');
  assert.match(etag, /^"[\w-]{43}"$/);
  assert.equal(first.headers.get('cache-control'), 'no-cache');
  assert.equal(first.headers.get('content-type'), 'application/json; charset=utf-8');
  assert.equal(await second.text(), await first.text());
  assert.deepEqual([known.status, await known.text(), known.headers.get('etag')], [304, '', etag]);
  assert.equal(changed.status, 200);
});

test('every schema in it is valid JSON Schema', () => {
  const ajv = new Ajv2020({ strict: false });
  const schemas = objects.filter(({ path }) => path.at(-1) === 'schema' || path.at(-2) === 'schemas');

  assert.ok(schemas.length > 20);
  assertNone(
    schemas.filter(({ value }) => !ajv.validateSchema(value)).map(({ path }) => nameOf(path)),
    'These are none',
  );
  assert.equal(ajv.validateSchema({ type: 'text' }), false);
});

test('every address and method of the API host is in the document, except for pages for people, and nothing else is', () => {
  const mounted = [...server.routes.api]
    .filter(([path]) => path !== OFF && !PAGES.includes(path) && !/^\/docs(?:\/|$)/.test(path))
    .flatMap(([path, methods]) => [...methods].map((method) => ({ path, method })))
    .filter(({ method }) => !IMPLIED.includes(method))
    .map(({ path, method }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`);

  const described = operations.map(({ method, path }) => `${method} ${path}`);

  assert.deepEqual(described.sort(), mounted.sort());
});

test('every page that is not in the document exists', () => {
  assert.deepEqual([...server.routes.api.keys()].filter((path) => PAGES.includes(path)).sort(), PAGES.toSorted());
  assert.ok(server.routes.api.has(OFF));
});

test('where both hosts are one, the document describes the API alone', async () => {
  const origin = `http://localhost:${await freePort()}`;
  const single = await startTestServer({ BASE_URL: origin, CONSENT_URL: origin });

  const { paths, components, servers } = await fetchDocument(single.api);

  assert.deepEqual(servers, [{ url: origin }]);
  assert.deepEqual(paths, document.paths);
  assert.deepEqual(components.schemas, document.components.schemas);
});

test('limits, mail, proxies and the targets of webhooks change nothing in the document', async () => {
  const mail = { SMTP_URL: 'smtp://127.0.0.1:25', MAIL_FROM: 'no-reply@gatehouse.example' };
  const limits = { LIMIT_PER_APP: '7', LIMIT_PER_GRANT: '7', LIMIT_SIGN_IN_PER_ACCOUNT: '7', LIMIT_WRONG_SECRETS: '7' };
  const limited = await startTestServer({ ...limits, ...mail, TRUST_PROXY: '127.0.0.1', WEBHOOKS_TO_LOOPBACK: 'yes' });

  const text = JSON.stringify(await fetchDocument(limited.api));

  assert.equal(text.replaceAll(limited.api, server.api), JSON.stringify(document));
});

test('every operation has a name of its own, a summary and a tag that is described', () => {
  const names = operations.map(({ operationId }) => operationId);
  const tags = document.tags.map(({ name }) => name);

  assert.equal(new Set(names).size, names.length, names.join(' '));
  for (const { operationId, summary, tags: own, path } of operations) {
    assert.match(operationId ?? '', /^[a-z]\w*$/, path);
    assert.match(summary ?? '', /\S/, path);
    assert.equal(own.length, 1, path);
  }
  assert.deepEqual([...new Set(operations.flatMap((operation) => operation.tags))].sort(), tags.toSorted());
  assertNone(
    document.tags.filter(({ description }) => !description).map(({ name }) => name),
    'These tags say nothing',
  );
});

test('every operation has a description beside its summary', () => {
  assertNone(
    operations.filter(({ description }) => !description).map(({ operationId }) => operationId),
    'These operations have no description',
  );
});

test('every response has a description', () => {
  const silent = operations.flatMap(({ operationId, responses }) =>
    Object.entries(responses)
      .filter(([, { description }]) => !description || description === 'Default Response')
      .map(([status]) => `${operationId} ${status}`),
  );

  assertNone(silent, 'These responses have no description');
});

const isShown = ({ example, examples }: Media) => example !== undefined || Object.keys(examples ?? {}).length > 0;

test('every JSON response has an example', () => {
  const unshown = operations.flatMap(({ operationId, responses }) =>
    Object.entries(responses)
      .filter(([, { content }]) => content?.['application/json'] && !isShown(content['application/json']))
      .map(([status]) => `${operationId} ${status}`),
  );

  assertNone(unshown, 'These responses have no example');
});

test('every body can be sent as JSON, and to the OAuth endpoints as a form, and each has an example', () => {
  for (const operation of operations) {
    const { operationId, requestBody } = operation;
    if (!requestBody) continue;
    const types = isBusinessApi(operation) ? [] : ['application/x-www-form-urlencoded'];
    assert.deepEqual(Object.keys(requestBody.content), ['application/json', ...types], operationId);
    for (const media of Object.values(requestBody.content)) assert.ok(isShown(media), operationId);
  }
});

for (const [what, container] of [
  ['field', 'properties'],
  ['parameter', 'parameters'],
  ['header', 'headers'],
] as const) {
  test(`every ${what} is described`, () => {
    const all = objects.filter(({ path }) => path.at(-2) === container);

    assert.ok(all.length > 0);
    assertNone(
      all
        .filter(({ value }) => !value.description)
        .map(({ path, value }) => nameOf([...path, String(value.name ?? '')])),
      `Each ${what} here has no description`,
    );
  });
}

test('every named schema has a description', () => {
  assertNone(
    Object.entries(document.components.schemas)
      .filter(([, { description }]) => !description)
      .map(([name]) => name),
    'These shapes have no description',
  );
});

test('every enum has the type string, for client generators', () => {
  const words = objects.filter(({ value }) => Array.isArray(value.enum) || typeof value.const === 'string');

  assert.ok(words.length > 0);
  assertNone(
    [...new Set(words.filter(({ value }) => value.type !== 'string').map(({ path }) => path.slice(-2).join(' › ')))],
    'These have no type',
  );
});

test('every response of every operation has x-request-id', () => {
  const without = operations.flatMap(({ operationId, responses }) =>
    Object.entries(responses)
      .filter(([, { headers }]) => headers?.['x-request-id'] === undefined)
      .map(([status]) => `${operationId} ${status}`),
  );

  assertNone(without, 'These responses have no x-request-id');
});

test('every way to authenticate that an operation names is declared, with its scopes, and every operation says which', () => {
  const schemes: Record<string, unknown> = document.components.securitySchemes;
  const { scopes } = document.components.securitySchemes.oauth2.flows.authorizationCode;

  for (const { operationId, security } of operations) {
    assert.ok(security, `${operationId} does not say whether it needs a token`);
    for (const [scheme, needed] of security.flatMap((each) => Object.entries(each))) {
      assert.ok(Object.hasOwn(schemes, scheme), `${operationId} ${scheme}`);
      for (const scope of needed) assert.ok(Object.hasOwn(scopes, scope), `${operationId} ${scope}`);
    }
  }
});
