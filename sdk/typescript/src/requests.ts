import { type FieldError, GatehouseError, toLine } from './errors.ts';
import { firstOf } from './signals.ts';
import { VERSION } from './version.ts';

/** The address of Gatehouse, and how requests are sent. */
export interface Connection {
  /** An origin, without a slash at its end. */
  baseUrl: string;
  /** The timeout of one attempt in milliseconds, until its response is read. */
  timeout: number;
  fetch: typeof fetch;
}

export interface Request {
  path: string;
  headers?: Record<string, string>;
  /** By default POST with a body, and GET without one. */
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Sent as JSON. */
  body?: object;
  signal?: AbortSignal | undefined;
}

/** A successful response, whose body is not validated yet. */
export interface ApiResponse {
  status: number;
  headers: Headers;
  json: unknown;
}

const MAX_RESPONSE_BYTES = 4 * 1024 * 1024;
const MAX_CAUSE_DEPTH = 10;
/** Not in browsers: a custom User-Agent would need the server's permission (CORS). */
const IS_BROWSER = 'Window' in globalThis || 'importScripts' in globalThis;
const USER_AGENT = IS_BROWSER ? undefined : { 'user-agent': `gatehouse-client-js/${VERSION}` };
/** The form of Gatehouse's error codes. Other servers have an `error` too, such as `Not Found`. */
const ERROR_CODE = /^[a-z_]+$/;

/** One attempt. Throws unless the response is successful. */
export async function sendOnce({ baseUrl, timeout, fetch }: Connection, request: Request): Promise<ApiResponse> {
  const { signal: given } = request;
  given?.throwIfAborted();
  const { signal, release } = firstOf(AbortSignal.timeout(Math.ceil(timeout)), given);
  try {
    const response = await fetch(`${baseUrl}${request.path}`, { ...toInit(request), signal });
    return toApiResponse(response, await readText(response, signal));
  } catch (error) {
    if (error instanceof GatehouseError) throw error;
    if (given?.aborted) throw given.reason;
    const cause = innermostCause(error);
    if (signal.aborted) throw tookTooLong(timeout, cause);
    const why = cause.code || cause.message || 'for no known reason';
    const description = `There was no response from ${baseUrl} (${why}).`;
    throw new GatehouseError({ code: 'network_error', description, cause });
  } finally {
    release();
  }
}

function toInit({ headers = {}, body, method }: Request): RequestInit {
  const common = { accept: 'application/json', ...USER_AGENT, ...headers };
  // Secrets are sent only to baseUrl. Not 'error', which Cloudflare Workers reject, and which hides the status.
  if (!body) return { method: method ?? 'GET', redirect: 'manual', headers: common };
  return {
    method: method ?? 'POST',
    redirect: 'manual',
    headers: { ...common, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  };
}

async function readText(response: Response, signal: AbortSignal): Promise<string> {
  if (!response.body) return '';
  const reader = response.body.getReader();
  // Not every fetch aborts the body with the signal.
  const stop = () => void reader.cancel().catch(() => {});
  signal.addEventListener('abort', stop);
  try {
    const decoder = new TextDecoder();
    let text = '';
    for (let size = 0; ; ) {
      const { done, value } = await reader.read();
      signal.throwIfAborted();
      if (done) return text + decoder.decode();
      size += value.byteLength;
      if (size > MAX_RESPONSE_BYTES) throw tooLarge(response);
      text += decoder.decode(value, { stream: true });
    }
  } finally {
    signal.removeEventListener('abort', stop);
    stop();
  }
}

function toApiResponse(response: Response, text: string): ApiResponse {
  const { status, headers, ok } = response;
  const json = parse(text);
  if (ok && json !== undefined) return { status, headers, json };
  throw toError(response, json);
}

function toError(response: Response, json: unknown): GatehouseError {
  const { error, error_description, error_uri, reason, errors, state, allowed } = fieldsOf(json);
  const isGatehouseError = typeof error === 'string' && ERROR_CODE.test(error) && typeof error_description === 'string';
  if (response.ok || !isGatehouseError) return invalidResponse(response);
  return new GatehouseError({
    ...traceOf(response),
    code: error,
    description: error_description,
    uri: textOf(error_uri),
    reason: textOf(reason),
    errors: listOf(errors).flatMap(readFieldError),
    state: textOf(state),
    allowed: Array.isArray(allowed) ? allowed.flatMap((name) => textOf(name) ?? []) : undefined,
  });
}

function readFieldError(value: unknown): FieldError[] {
  const { field, message } = fieldsOf(value);
  return typeof field === 'string' && typeof message === 'string' ? [{ field, message }] : [];
}

/** For a response that is not from Gatehouse: a proxy's page, a redirect, or JSON of another shape. */
export function invalidResponse(response: Pick<Response, 'status' | 'headers'>): GatehouseError {
  // Browsers hide the status of a redirect, and report 0.
  const isRedirect = response.status === 0 || (response.status >= 300 && response.status < 400);
  const description = isRedirect
    ? 'The response was a redirect, and redirects are never followed. Is baseUrl right?'
    : `The response with status ${response.status} is not from Gatehouse. Is baseUrl right?`;
  return new GatehouseError({ ...traceOf(response), code: 'invalid_response', description });
}

function tooLarge(response: Response): GatehouseError {
  const description = 'The response is over 4 MiB.';
  return new GatehouseError({ ...traceOf(response), code: 'response_too_large', description });
}

function tookTooLong(timeout: number, cause: unknown): GatehouseError {
  const description = `There was no complete response within ${timeout / 1000} s.`;
  return new GatehouseError({ code: 'timeout', description, cause });
}

function traceOf({ status, headers }: Pick<Response, 'status' | 'headers'>) {
  return {
    status: status || undefined,
    requestId: headers.get('x-request-id') ?? undefined,
    retryAfter: readRetryAfter(headers.get('retry-after') ?? ''),
  };
}

/** Seconds, or a date (RFC 9110 §10.2.3). */
function readRetryAfter(header: string): number | undefined {
  if (/^\d+$/.test(header)) return Number(header);
  const date = header.endsWith('GMT') ? Date.parse(header) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, Math.ceil((date - Date.now()) / 1000));
}

/** The cause says more than "fetch failed". A copy, since the error itself may contain bytes of the response: tokens. */
function innermostCause(error: unknown): Error & { code?: string } {
  let innermost = fieldsOf(error);
  // Causes may be circular.
  for (let depth = 0; depth < MAX_CAUSE_DEPTH && isObject(innermost.cause); depth += 1) innermost = innermost.cause;
  const [name = 'Error', message = '', code] = [innermost.name, innermost.message, innermost.code].map(textOf);
  return Object.assign(new Error(toLine(message)), { name: toLine(name) }, code && { code: toLine(code) });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The fields of a value; empty if it is not an object. */
export function fieldsOf(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {};
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
