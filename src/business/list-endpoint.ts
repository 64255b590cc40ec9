import { type TSchema, Type } from 'typebox';
import { LIMIT_PARAMETER, type RawQuery, readLimit, readText, valueNotAllowed } from '../http/paging.ts';
import { isDay } from '../lib/clock.ts';
import { firstIdAt, isId } from '../lib/ids.ts';
import type { Resource, Values } from '../resources/resource.ts';
import { listRecords, type Page } from './pages.ts';
import type { ProtectedEndpoint } from './protected-endpoint.ts';
import { exampleOf, operationName, recordSchema } from './resource-schemas.ts';

export function listEndpoint(resource: Resource): ProtectedEndpoint {
  const { plural, path, scopes, title } = resource;
  return {
    method: 'GET',
    path,
    scope: scopes.read,
    operationId: `list${operationName(plural)}`,
    summary: `List ${plural}`,
    description: `The ${plural} of one business, newest first, a page at a time.`,
    query: querySchema(resource),
    response: {
      description: `A page of ${plural}.`,
      name: title,
      schema: recordSchema(resource, false),
      isList: true,
      headers: {
        link: Type.String({
          description: 'If there is more: the next page, as `<…>; rel="next"` (RFC 8288).',
          examples: [`<https://api.example.com${path}?limit=50&cursor=…>; rel="next"`],
        }),
      },
      example: [exampleOf(resource, false)],
    },
    async handle({ db, access, query }) {
      const { limit, ...page } = readPage(resource, query);
      const records = await listRecords(db, resource, { ...page, businessId: access.businessId, limit: limit + 1 });
      const body = records.slice(0, limit);
      const last = records.length > limit ? body.at(-1) : undefined;
      const next = last && { ...readTexts(query), limit: String(limit), cursor: cursorAfter(last, page.sort) };
      return { body, ...(next && { next }) };
    },
  };
}

const sortsOf = ({ sorts }: Resource) => ['createdAt', 'updatedAt', ...sorts];

function querySchema(resource: Resource): object {
  const { filters, fields } = resource;
  const orders = sortsOf(resource).flatMap((name) => [name, `-${name}`]);
  return Type.Object({
    ...Object.fromEntries(filters.map((name) => [name, Type.Optional(filterSchema(fields[name]?.schema ?? {}))])),
    sort: Type.Optional(
      Type.Unsafe<string>({
        type: 'string',
        enum: orders,
        default: '-createdAt',
        description: 'The order; `-` is descending.',
      }),
    ),
    since: boundSchema('Only from here on: a date or time of the field that `sort` names.'),
    until: boundSchema('Only before this.'),
    limit: LIMIT_PARAMETER,
    cursor: Type.Optional(
      Type.String({ description: 'Where the next page starts: from the `Link` header of this one.' }),
    ),
  });
}

/** A day, or a time with its zone (RFC 3339). */
const BOUND = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2}))?$/;

function boundSchema(description: string) {
  return Type.Optional(Type.String({ pattern: BOUND.source, description, examples: ['2026-07-01T00:00:00Z'] }));
}

/** Equality with one value; there is no filter for `null`. */
function filterSchema(schema: object): TSchema {
  const { description, enum: values, 'x-extensible-enum': known, format } = schema as Record<string, unknown>;
  const allowed = values ?? known;
  return Type.Unsafe({ type: 'string', description, ...(allowed ? { enum: allowed } : format ? { format } : {}) });
}

function readTexts(query: RawQuery<Record<string, unknown>>): Record<string, string | undefined> {
  return Object.fromEntries(Object.keys(query).map((name) => [name, readText(query, name)]));
}

/** An empty parameter counts as absent. */
function readPage(resource: Resource, query: RawQuery<Record<string, unknown>>): Omit<Page, 'businessId'> {
  const text = (name: string) => readText(query, name);
  const order = text('sort') ?? '-createdAt';
  const [isDescending, sort] = order.startsWith('-') ? [true, order.slice(1)] : [false, order];
  if (!sortsOf(resource).includes(sort)) {
    throw valueNotAllowed(`sort must be one of ${sortsOf(resource).join(', ')}, with - in front for descending order.`);
  }
  const limit = readLimit(text('limit'));
  const [since, until] = [readBound('since', text('since'), sort), readBound('until', text('until'), sort)];
  return {
    filters: readFilters(resource, text),
    sort,
    isDescending,
    since,
    until,
    after: readCursor(text('cursor'), sort),
    limit,
  };
}

function readFilters({ filters, fields }: Resource, text: (name: string) => string | undefined) {
  const values: Record<string, string> = {};
  for (const name of filters) {
    const value = text(name);
    if (value === undefined) continue;
    const {
      enum: allowed,
      'x-extensible-enum': known,
      format,
    } = (fields[name]?.schema ?? {}) as Record<string, string[]>;
    const choices = allowed ?? known;
    if (choices && !choices.includes(value)) throw valueNotAllowed(`${name} must be one of ${choices.join(', ')}.`);
    const isUuid = String(format) === 'uuid';
    if (isUuid && !isId(value.toLowerCase())) throw valueNotAllowed(`${name} must be a UUID.`);
    if (value.includes('\u0000')) throw valueNotAllowed(`${name} contains a character that is not text.`);
    values[name] = isUuid ? value.toLowerCase() : value;
  }
  return values;
}

/** As stored in the column of the sort field: an id, a time, or a date. */
function readBound(name: string, text: string | undefined, sort: string): string | number | undefined {
  if (text === undefined) return undefined;
  if (!BOUND.test(text)) throw valueNotAllowed(describeBound(name, text));
  const time = Date.parse(text);
  if (!isDay(text.slice(0, 10)) || Number.isNaN(time)) throw valueNotAllowed(`${name} does not exist: ${text}.`);
  if (sort === 'createdAt') return firstIdAt(time);
  if (sort === 'updatedAt') return time;
  if (!isDay(text)) throw valueNotAllowed(`${name} must be a date, such as 2026-07-31, for this order.`);
  return text;
}

function describeBound(name: string, text: string): string {
  const form = `${name} must be a date, such as 2026-07-31, or a time with its zone, such as 2026-07-31T12:00:00Z.`;
  // In a query, a plus sign is a space.
  return BOUND.test(text.replace(' ', '+')) ? `${form} Encode the + of the zone as %2B.` : form;
}

/** The id of the last record; in other orders than that of creation, after the value that it is sorted by. */
function cursorAfter(record: Values, sort: string): string {
  if (sort === 'createdAt') return String(record.id);
  return `${Buffer.from(String(record[sort])).toString('base64url')}.${record.id}`;
}

function readCursor(text: string | undefined, sort: string): Page['after'] {
  if (text === undefined) return undefined;
  const [encoded = '', id = ''] = sort === 'createdAt' ? ['', text] : text.split('.');
  const value = Buffer.from(encoded, 'base64url').toString();
  const bound = sort === 'updatedAt' ? Date.parse(value) : value;
  const isRight = sort === 'createdAt' || (sort === 'updatedAt' ? Number.isFinite(bound) : isDay(value));
  if (!isId(id) || !isRight) throw valueNotAllowed('Send the cursor that the previous page returned.');
  return { value: bound, id };
}
