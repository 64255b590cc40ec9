import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { listOperations } from '../../src/web/reference/document.ts';
import { FORMATS } from '../support/response-validator.ts';
import { startTestServer } from '../support/test-server.ts';
import { assertNone, fetchDocument, listObjects, nameOf } from './document.ts';

const server = await startTestServer();
const document = await fetchDocument(server.api);

const ajv = new Ajv2020({ strict: false, allErrors: true, formats: FORMATS });
ajv.addSchema({ $id: 'reference', ...document });

interface Shown {
  /** The pointer to the schema of the example. */
  schema: string[];
  example: unknown;
}

function listExamples(): Shown[] {
  return listObjects(document).flatMap(({ path, value }) => {
    const { example, examples, schema } = value as Record<string, object | undefined>;
    if (Array.isArray(examples)) return examples.map((each) => ({ schema: path, example: each }));
    if (schema === undefined) return [];
    const named = Object.values(examples ?? {}).map((each) => ({ schema: [...path, 'schema'], example: each.value }));
    return example === undefined ? named : [...named, { schema: [...path, 'schema'], example }];
  });
}

function violationsOf({ schema, example }: Shown): string | undefined {
  const pointer = schema.map((name) => name.replaceAll('~', '~0').replaceAll('/', '~1')).join('/');
  const validate = ajv.compile({ $ref: `reference#/${encodeURI(pointer)}` });
  return validate(example) ? undefined : `${nameOf(schema)}: ${ajv.errorsText(validate.errors)}`;
}

test('every example is an example of its own schema', () => {
  const examples = listExamples();

  assert.ok(examples.length > 60, `${examples.length}`);
  assertNone(
    examples.map(violationsOf).filter((violation) => violation !== undefined),
    'These examples are wrong',
  );
});

const errors = listOperations(document).flatMap(({ operationId, requestBody, responses }) =>
  Object.entries(responses).flatMap(([status, { content }]) => {
    const { example, 'x-reasons': reasons } = content?.['application/json'] ?? {};
    if (!reasons) return [];
    const fields = Object.keys(requestBody?.content['application/json']?.schema.properties ?? {});
    return [{ name: `${operationId} ${status}`, fields, reasons, example: example as Record<string, string> }];
  }),
);

test('an example of an error has a reason of its code, a description, and an error_uri that opens its section', () => {
  assert.ok(errors.length > 30);
  for (const { name, reasons, example } of errors) {
    const { error = '', reason = '', error_description: sentence = '', error_uri: address = '' } = example;
    assert.ok(reasons[error]?.includes(reason), `${name}: ${error} ${reason}`);
    assert.match(sentence, /^[A-Z\w].*\.$/, name);
    assert.ok(address.endsWith(`/docs/errors/${error}#${reason}`), `${name}: ${address}`);
  }
});

test('an example of a missing field names a field of its own operation', () => {
  const foreign = errors.flatMap(({ name, fields, example }) => {
    const [, field] = /^(\w+) is missing/.exec(example.error_description ?? '') ?? [];
    return field === undefined || fields.includes(field) ? [] : [`${name}: ${field}`];
  });

  assertNone(foreign, 'These fields are of other operations');
});

test('the document names no host but its own and those reserved for examples', () => {
  const hosts = [...JSON.stringify(document).matchAll(/https?:\/\/([^/"'`<>\s\\]+)/g)].map(([, host = '']) => host);
  const own = new URL(server.api).host;

  assert.ok(hosts.includes(own));
  assertNone(
    hosts.filter((host) => host !== own && !/^(?:(?:\w+\.)?example\.com|app\.example)$/.test(host)),
    'These hosts are neither ours nor examples',
  );
});
