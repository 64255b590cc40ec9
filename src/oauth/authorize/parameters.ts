import { OAuthError, ParameterError } from '../errors.ts';
import type { AuthorizeQuery } from '../schemas.ts';

/** One value of a parameter. */
interface Value {
  text: string;
  /** As the app sent it. */
  raw: string;
}

export type Parameters = Map<string, Value[]>;

/** Keeps each value both encoded and decoded, and repeated names. An empty value counts as absent. */
export function parseQuery(query: string): Parameters {
  const parameters: Parameters = new Map();
  const pairs = query.split('&').filter((pair) => pair !== '');
  // The ampersand keeps a leading question mark, which URLSearchParams would drop.
  for (const [index, [name, text]] of [...new URLSearchParams(`&${query}`)].entries()) {
    if (text === '') continue;
    const pair = pairs[index] ?? '';
    const raw = pair.slice(pair.indexOf('=') + 1);
    const values = parameters.get(name) ?? [];
    values.push({ text, raw });
    parameters.set(name, values);
  }
  return parameters;
}

/** RFC 6749 §3.1: a parameter must not be sent more than once. */
export function readOnce(parameters: Parameters, name: string): string | undefined {
  const [value, ...more] = parameters.get(name) ?? [];
  if (more.length > 0) {
    throw new OAuthError('invalid_request', 'field_repeated', `${name} was sent more than once.`);
  }
  return value?.text;
}

/** Its errors name the parameter. */
export function inParameter<Value>(name: keyof AuthorizeQuery, read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    throw error instanceof OAuthError ? new ParameterError(name, error) : error;
  }
}

export function valuesOf(parameters: Parameters, name: keyof AuthorizeQuery): string[] {
  return (parameters.get(name) ?? []).map(({ text }) => text);
}

const MAX_ENCODED_QUERY = 8000;

/**
 * The address of the sign-in page contains the query, encoded again. Node accepts 16 KiB of headers, of which a browser needs
 * up to 4 KiB for the referrer, and more for cookies.
 */
export function rejectTooLong(query: string): void {
  const { length } = `${new URLSearchParams({ query })}`;
  if (length <= 'query='.length + MAX_ENCODED_QUERY) return;
  const description = `The query is too long: encoded once more, it has at most ${MAX_ENCODED_QUERY} characters. Send a shorter state.`;
  throw new OAuthError('invalid_request', 'value_not_allowed', description);
}
