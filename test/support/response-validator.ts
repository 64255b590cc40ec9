import assert from 'node:assert/strict';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { Document } from '../../src/web/reference/document.ts';
import type { ApiResponse } from './client.ts';

export interface ApiRequest {
  method: string;
  path: string;
}

/** Headers that any response may have. The OpenAPI document must describe all others. */
const COMMON_HEADERS = [
  'access-control-allow-origin',
  'access-control-expose-headers',
  'cache-control',
  'connection',
  'content-length',
  'content-type',
  'date',
  'keep-alive',
  'pragma',
  'transfer-encoding',
  'x-content-type-options',
];

export const FORMATS = {
  uuid: /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
  date: /^\d{4}-\d\d-\d\d$/,
  email: /^[^@\s]+@[^@\s]+$/,
  uri: (text: string) => URL.canParse(text),
};

/** Disallows undocumented fields, unless the schema allows others. */
function disallowUnknownFields(document: Document): Document {
  const isOpen = (schema: { properties?: object; additionalProperties?: unknown } | null) =>
    schema?.properties !== undefined && schema.additionalProperties === undefined;
  return JSON.parse(JSON.stringify(document), (_, value) =>
    isOpen(value) ? { ...value, additionalProperties: false } : value,
  );
}

/** `/contacts/{id}` for the path of one contact. */
function templateOf(document: Document, path: string): string {
  if (document.paths[path]) return path;
  const isLike = (template: string) => new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`).test(path);
  return Object.keys(document.paths).find(isLike) ?? path;
}

const byContent = new Map<string, ResponseValidator>();

/**
 * Fetches the OpenAPI document of a server and compiles it. That takes longer than most tests, so equal documents share a validator.
 * Servers of this process with the same variables have equal documents, so only the first one is fetched.
 */
export async function fetchResponseValidator(api: string, variables?: string): Promise<ResponseValidator> {
  if (variables === undefined) return readResponseValidator(api);
  const validator = byVariables.get(variables) ?? (await readResponseValidator(api));
  byVariables.set(variables, validator);
  return validator;
}

const byVariables = new Map<string, ResponseValidator>();

async function readResponseValidator(api: string): Promise<ResponseValidator> {
  const text = await (await fetch(`${api}/openapi.json`)).text();
  const content = text.replaceAll(api, 'http://127.0.0.1');
  const validator = byContent.get(content) ?? createResponseValidator(JSON.parse(text));
  byContent.set(content, validator);
  return validator;
}

type ResponseValidator = ReturnType<typeof createResponseValidator>;

/** Validates responses against the server's own OpenAPI document. */
export function createResponseValidator(document: Document) {
  // Other tests validate the document itself.
  const ajv = new Ajv2020({ strict: false, validateSchema: false, meta: false, formats: FORMATS });
  ajv.addSchema({ $id: 'reference', ...disallowUnknownFields(document) });
  const validators = new Map<string, ValidateFunction>();

  function validatorAt(path: string[]): ValidateFunction {
    const pointer = path.map((name) => name.replaceAll('~', '~0').replaceAll('/', '~1')).join('/');
    const compiled = validators.get(pointer) ?? ajv.compile({ $ref: `reference#/${encodeURI(pointer)}` });
    validators.set(pointer, compiled);
    return compiled;
  }

  return function assertDescribed({ method, path }: ApiRequest, { status, headers, body }: ApiResponse): void {
    const { error, reason } = body;
    const name = templateOf(document, path.split('?')[0] ?? '');
    const operation = document.paths[name]?.[method.toLowerCase()];
    if (!operation) {
      assert.ok([404, 405].includes(status), `${method} ${name} is not in the reference`);
      return;
    }
    const summary = `${method} ${name} → ${status} ${JSON.stringify(body)}`;
    const described = operation.responses[status];
    assert.ok(described, `not in the reference: ${summary}`);
    const unknown = [...headers.keys()].filter(
      (header) => !COMMON_HEADERS.includes(header) && described.headers?.[header] === undefined,
    );
    assert.deepEqual(unknown, [], `headers that are not in the reference: ${summary}`);
    const [type] = Object.keys(described.content ?? {});
    assert.equal(headers.get('content-type')?.split(';')[0], type, summary);
    if (type !== 'application/json') return;
    const validate = validatorAt([
      'paths',
      name,
      method.toLowerCase(),
      'responses',
      `${status}`,
      'content',
      type,
      'schema',
    ]);
    assert.ok(validate(body), `${ajv.errorsText(validate.errors)}: ${summary}`);
    const reasons = described.content?.[type]?.['x-reasons'];
    if (reasons)
      assert.ok(reasons[error]?.includes(reason), `an error reason that is not in the reference: ${summary}`);
  };
}
