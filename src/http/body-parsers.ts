import forms from '@fastify/formbody';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ApiError } from './errors.ts';

export const BODY_LIMIT = 64 * 1024;
/** Of a record with a list: enough for 200 lines with texts of 500 characters, four bytes each. */
export const RECORD_BODY_LIMIT = 512 * 1024;

const KIB = 1024;
export const BODY_TOO_LARGE = `The body is too large: at most ${BODY_LIMIT / KIB} KiB, or ${RECORD_BODY_LIMIT / KIB} KiB for a record with a list.`;

/**
 * JSON as in the API reference, and forms as in RFC 6749; no other content type. A field of the route's schema, and each
 * name in its value, must not come twice (RFC 6749 §3.2), except that a form repeats a field whose schema allows a list.
 * Unknown fields are ignored, however often they come.
 */
export function parseJsonAndForms(host: FastifyInstance): void {
  const parseJson = host.getDefaultJsonParser('error', 'error');
  const asText = { parseAs: 'string' } as const;
  host.removeAllContentTypeParsers();
  host.addContentTypeParser<string>('application/json', asText, (request, text, done) => {
    parseJson(request, text, (error, body) => {
      if (error) done(isJson(text) ? forbiddenName() : error, body);
      else if (isCompact(text, body)) done(null, body);
      else done(repeatedField(findRepeatedName(text, propertiesOf(request))), body);
    });
  });
  host.addContentTypeParser<string>('application/x-www-form-urlencoded', asText, (request, text, done) => {
    const fields = [...new URLSearchParams(text)];
    const names = fields.map(([name]) => name);
    const repeated = findRepeated(request, names);
    const lists = repeated.map((name) => [name, fields.filter(([each]) => each === name).map(([, value]) => value)]);
    const error = repeatedField(repeated.find((name) => !allowsList(request, name)));
    done(error, { ...Object.fromEntries(fields), ...Object.fromEntries(lists) });
  });
}

/** Whether the parser rejected a name, not the syntax. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function forbiddenName(): ApiError {
  const description = 'A field has a name that is not allowed: __proto__, or prototype within constructor.';
  return new ApiError({ status: 400, code: 'invalid_request', reason: 'body_malformed', description });
}

/** Nothing but JSON, without a check for repeated fields. */
export function parseJson(host: FastifyInstance): void {
  const parse = host.getDefaultJsonParser('error', 'error');
  host.removeAllContentTypeParsers();
  host.addContentTypeParser<string>('application/json', { parseAs: 'string' }, parse);
}

/** For pages: a name may be repeated, because forms have lists. */
export function parseForms(host: FastifyInstance): void {
  host.removeAllContentTypeParsers();
  host.register(forms, { bodyLimit: BODY_LIMIT });
}

/** The fields of the route's schema that are repeated. */
function findRepeated(request: FastifyRequest, names: string[]): string[] {
  const properties = propertiesOf(request);
  const seen = new Set<string>();
  const repeated = new Set<string>();
  for (const name of names) {
    if (seen.has(name) && Object.hasOwn(properties, name)) repeated.add(name);
    seen.add(name);
  }
  return [...repeated];
}

function propertiesOf({ routeOptions }: FastifyRequest): Record<string, { anyOf?: unknown }> {
  return (routeOptions.schema?.body as { properties?: Record<string, object> } | undefined)?.properties ?? {};
}

/** Whether the schema of the field is `textOrTexts` of openapi.ts. */
function allowsList(request: FastifyRequest, name: string): boolean {
  return propertiesOf(request)[name]?.anyOf !== undefined;
}

/** Whether the text is the shortest JSON of this object, as most clients send it. Then no name was repeated. */
function isCompact(text: string, body: unknown): boolean {
  if (typeof body !== 'object' || body === null) return true;
  const entries = Object.entries(body);
  if (!entries.every(([, value]) => typeof value === 'string')) return false;
  const around = '"":"",'.length;
  const length = entries.reduce((sum, [name, value]) => sum + name.length + value.length + around, '{}'.length);
  return text.length === length - ','.length;
}

const JSON_TOKENS = /"(?:[^"\\]|\\.)*"|[{}[\]:,]/g;

/** An object or list that is being read. */
interface Container {
  /** Undefined in a list. */
  names: Set<string> | undefined;
  /** The name or index of the value that comes next. */
  step: string | number;
}

/** The first known field, or path in one, that is repeated, like `lines[0].quantity`: `JSON.parse` keeps only its last value. */
function findRepeatedName(text: string, known: object): string | undefined {
  const open: Container[] = [];
  let previous = '';
  for (const [token] of text.matchAll(JSON_TOKENS)) {
    const current = open.at(-1);
    if (token === '{') open.push({ names: new Set(), step: '' });
    else if (token === '[') open.push({ names: undefined, step: 0 });
    else if (token === '}' || token === ']') open.pop();
    else if (token === ',' && typeof current?.step === 'number') current.step += 1;
    else if (token === ':' && current?.names) {
      current.step = JSON.parse(previous) as string;
      if (current.names.has(current.step) && Object.hasOwn(known, open[0]?.step ?? '')) return pathOf(open);
      current.names.add(current.step);
    }
    previous = token;
  }
  return undefined;
}

function pathOf(open: Container[]): string {
  return open.reduce((path, { step }) => {
    if (typeof step === 'number') return `${path}[${step}]`;
    return path === '' ? step : `${path}.${step}`;
  }, '');
}

function repeatedField(name: string | undefined): ApiError | null {
  if (name === undefined) return null;
  const description = `${name} was sent more than once.`;
  return new ApiError({ status: 400, code: 'invalid_request', reason: 'field_repeated', description });
}
