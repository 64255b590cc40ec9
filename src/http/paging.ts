import { Type } from 'typebox';
import { ApiError } from './errors.ts';

const MOST = 200;
const USUAL = 50;

/** How every list describes its `limit`. */
export const LIMIT = Type.Optional(
  Type.Integer({ minimum: 1, maximum: MOST, default: USUAL, description: 'How many to a page.' }),
);

/** What came in an address, under the names that are documented: of any type until it has been looked at. */
export type Sent<Query> = { [name in keyof Query]?: unknown };

/** A parameter that comes twice arrives as a list. */
export function textOf<Query>(query: Sent<Query>, name: keyof Query & string): string | undefined {
  const value = query[name];
  if (value === undefined || value === '') return undefined;
  if (typeof value === 'string') return value;
  const description = `${name} was sent more than once.`;
  throw new ApiError({ status: 400, code: 'invalid_request', reason: 'field_repeated', description });
}

export function readLimit(text: string | undefined): number {
  if (text === undefined) return USUAL;
  if (/^\d{1,3}$/.test(text) && Number(text) >= 1 && Number(text) <= MOST) return Number(text);
  throw notAllowed(`limit is 1 to ${MOST}.`);
}

export function notAllowed(description: string): ApiError {
  return new ApiError({ status: 400, code: 'invalid_request', reason: 'value_not_allowed', description });
}

/** RFC 8288. Undefined values are left out. */
export function linkToNext(address: string, query: Record<string, string | undefined>): string {
  const given = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return `<${address}?${new URLSearchParams(given)}>; rel="next"`;
}
