import { Type } from 'typebox';
import { ApiError } from './errors.ts';

const MAX_LIMIT = 200;
const DEFAULT_LIMIT = 50;

/** The `limit` parameter of every list. */
export const LIMIT_PARAMETER = Type.Optional(
  Type.Integer({ minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT, description: 'Items per page.' }),
);

/** Query parameters before validation. */
export type RawQuery<Query> = { [name in keyof Query]?: unknown };

/** Fastify parses a repeated parameter as a list. */
export function readText<Query>(query: RawQuery<Query>, name: keyof Query & string): string | undefined {
  const value = query[name];
  if (value === undefined || value === '') return undefined;
  if (typeof value === 'string') return value;
  const description = `${name} was sent more than once.`;
  throw new ApiError({ status: 400, code: 'invalid_request', reason: 'field_repeated', description });
}

export function readLimit(text: string | undefined): number {
  if (text === undefined) return DEFAULT_LIMIT;
  if (/^\d{1,3}$/.test(text) && Number(text) >= 1 && Number(text) <= MAX_LIMIT) return Number(text);
  throw valueNotAllowed(`limit must be 1 to ${MAX_LIMIT}.`);
}

export function valueNotAllowed(description: string): ApiError {
  return new ApiError({ status: 400, code: 'invalid_request', reason: 'value_not_allowed', description });
}

/** RFC 8288. Undefined values are left out. */
export function nextLink(address: string, query: Record<string, string | undefined>): string {
  const given = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return `<${address}?${new URLSearchParams(given)}>; rel="next"`;
}
