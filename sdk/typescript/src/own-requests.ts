import { requireMethod, requireObject, requirePath, requireUuid } from './arguments.ts';
import { type ChangeOptions, toWrite } from './records.ts';
import type { Request } from './requests.ts';
import { optionalSignal } from './signals.ts';

/** A request that the library has no function for. */
export interface RequestOptions extends ChangeOptions {
  /** GET if left out. */
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | undefined;
  /** Sent as `x-business-id`: the business API needs it. */
  businessId?: string | undefined;
  query?: Readonly<Record<string, string | number | boolean | undefined>> | undefined;
  /** Sent as JSON. */
  body?: object | undefined;
}

export function toOwnRequest(path: string, options: RequestOptions): Request {
  const given = requireObject(options, 'The second argument of request');
  const { method = 'GET', businessId, query = {}, body, signal } = given;
  const request: Request = {
    method: requireMethod(method),
    path: withQuery(requirePath(path), requireObject(query, 'query')),
    ...(body !== undefined && { body: requireObject(body, 'body') }),
    signal: optionalSignal(signal),
  };
  const { headers } = method === 'GET' ? request : toWrite(request, given);
  const business = businessId !== undefined && { 'x-business-id': requireUuid(businessId, 'businessId') };
  return { ...request, headers: { ...headers, ...business } };
}

function withQuery(path: string, query: NonNullable<RequestOptions['query']>): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value));
  const text = String(parameters);
  return text ? `${path}${path.includes('?') ? '&' : '?'}${text}` : path;
}
