import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify';
import { Overloaded, TooManyRequests } from '../lib/errors.ts';
import { newRandomId } from '../lib/ids.ts';
import { StorageUnavailable } from '../storage/storage.ts';
import { BODY_TOO_LARGE } from './body-parsers.ts';
import {
  ApiError,
  apiElsewhere,
  type ErrorCode,
  errorUri,
  nothingAtAddress,
  type ReasonOf,
  toErrorCharacters,
} from './errors.ts';

export interface ErrorOptions {
  /** The API's public URL, which documents the errors. */
  issuer: string;
  /** Otherwise the host serves only the pages. */
  servesApi: boolean;
  /** Errors on these paths are sent as JSON, others as a page. */
  isApiPath(path: string): boolean;
  /** Paths that respond 404 rather than 405, whatever the method. */
  isHiddenPath(path: string): boolean;
  sendErrorPage: SendErrorPage;
}

export type SendErrorPage = (
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
) => FastifyReply | Promise<FastifyReply>;

/** Every error that a hook or a handler throws ends here. */
export async function sendError(
  { issuer, isApiPath, sendErrorPage }: ErrorOptions,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  if (isApiPath(pathOf(request))) {
    const { status, headers, body } = jsonResponse(error, issuer);
    reply.reason = body.reason;
    reply.code(status).headers(headers).send(body);
  } else await sendErrorPage(error, request, reply);
  // An overloaded server has no time to log a stack per rejected request.
  if (reply.statusCode >= 500 && !(error instanceof Overloaded)) {
    request.log.error({ requestId: request.id, err: error });
  }
  return reply;
}

/** 404, or 405 if the path has other methods. */
export function routeError(options: ErrorOptions, request: FastifyRequest, reply: FastifyReply): ApiError {
  const { isApiPath, isHiddenPath, servesApi, issuer } = options;
  const path = pathOf(request);
  const { methodsByPath } = request.server;
  const template = isApiPath(path) ? findByTemplate(methodsByPath, path) : undefined;
  const methods = [...(methodsByPath.get(path) ?? template ?? [])].join(', ');
  if (methods === '' && isApiPath(path) && !servesApi) return apiElsewhere(issuer);
  if (methods === '' || isHiddenPath(path)) return nothingAtAddress();
  reply.header('allow', methods);
  const description = `This path supports ${methods}.`;
  return new ApiError({ status: 405, code: 'invalid_request', reason: 'method_not_allowed', description });
}

/** `/contacts/:id` for the path of one contact. */
function findByTemplate(methodsByPath: Map<string, Set<string>>, path: string): Set<string> | undefined {
  const segments = path.split('/');
  const matches = (template: string) => {
    const pattern = template.split('/');
    return (
      pattern.length === segments.length &&
      pattern.every((segment, index) => segment.startsWith(':') || segment === segments[index])
    );
  };
  return [...methodsByPath].find(([template]) => matches(template))?.[1];
}

/** The target of a request may include scheme and host (RFC 9112 §3.2.2). */
function pathOf({ url }: FastifyRequest): string {
  return url.replace(/^[a-z]+:\/\/[^/?]*/i, '').replace(/\?.*$/s, '');
}

const UNPARSABLE: Record<string, number> = { ERR_HTTP_REQUEST_TIMEOUT: 408, HPE_HEADER_OVERFLOW: 431 };

/** Writes to the socket: Node could not parse the request, so there is no route, no hook and no reply. */
export function respondToUnparsable(
  issuer: string,
  { code }: { code: string },
  socket: Socket,
  log: FastifyBaseLogger,
): { status: number; reason: string } | undefined {
  if (code === 'ECONNRESET' || socket.destroyed) return undefined;
  const requestId = newRandomId();
  const { status, headers, body } = jsonResponse({ statusCode: UNPARSABLE[code] ?? 400 }, issuer);
  const text = JSON.stringify(body);
  const lines = {
    ...headers,
    'x-request-id': requestId,
    'x-content-type-options': 'nosniff',
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    connection: 'close',
  };
  log.info({ requestId, route: 'none', status, reason: body.reason });
  const head = Object.entries(lines).map(([name, value]) => `${name}: ${value}\r\n`);
  if (socket.writable) socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head.join('')}\r\n${text}`);
  socket.destroy();
  return { status, reason: body.reason };
}

interface ErrorResponse {
  status: number;
  headers: Record<string, string>;
  body: { error: string; error_description: string; error_uri: string; reason: string; [detail: string]: unknown };
}

/** Errors of an unknown class are bugs: their messages are not sent. */
export function jsonResponse(error: unknown, issuer: string): ErrorResponse {
  const { status, code, reason, description, headers = {}, details } = describe(error);
  return {
    status,
    headers: { 'cache-control': 'no-store', pragma: 'no-cache', ...headers },
    body: {
      error: code,
      error_description: toErrorCharacters(description),
      error_uri: errorUri(issuer, code, reason),
      reason,
      ...details,
    },
  };
}

interface Description {
  status: number;
  code: ErrorCode;
  reason: ReasonOf<ErrorCode>;
  description: string;
  headers?: Record<string, string>;
  details?: Record<string, unknown>;
}

function describe(error: unknown): Description {
  if (error instanceof ApiError) {
    const { status, code, reason, message: description, headers, details } = error;
    return { status, code, reason, description, headers, details };
  }
  if (error instanceof TooManyRequests) {
    const code = 'too_many_requests';
    const headers = { 'retry-after': String(error.retryAfter) };
    return { status: 429, code, reason: code, description: error.message, headers };
  }
  if (error instanceof StorageUnavailable || error instanceof Overloaded) {
    const code = 'temporarily_unavailable';
    const description =
      error instanceof Overloaded ? error.message : 'The database is not available. Try again in a moment.';
    return { status: 503, code, reason: code, description, headers: { 'retry-after': '1' } };
  }
  return describeFrameworkError(error);
}

/** An error of Ajv. */
interface Violation {
  instancePath: string;
  keyword?: string;
  params?: { missingProperty?: string };
}

/** Errors of Fastify, from before the handler, and bugs. */
function describeFrameworkError(error: unknown): Description {
  const { statusCode = 500, validation } = error as { statusCode?: number; validation?: Violation[] };
  if (statusCode >= 500 && !validation) {
    const description = 'The server failed to handle the request. The error is in its log, under the x-request-id.';
    return { status: 500, code: 'server_error', reason: 'server_error', description };
  }
  return { code: 'invalid_request', ...describeBadRequest(error, statusCode, validation) };
}

function describeBadRequest(error: unknown, status: number, validation?: Violation[]) {
  if (validation) return { status: 400, ...describeViolation(validation[0]) };
  if (status === 413) return { status, reason: 'body_too_large', description: BODY_TOO_LARGE } as const;
  if (status === 415) {
    const description = 'Send application/json or application/x-www-form-urlencoded.';
    return { status, reason: 'content_type_unsupported', description } as const;
  }
  if (isBodyError(error)) {
    return { status: 400, reason: 'body_malformed', description: 'The body is not valid JSON.' } as const;
  }
  return { status, reason: 'request_unreadable', description: describeUnreadable(error, status) } as const;
}

function describeUnreadable(error: unknown, status: number): string {
  if (status === 408) return 'The request did not arrive in time. Send it again.';
  if (status === 431) return 'The address and the headers of the request are larger than 16 KiB.';
  if (error instanceof Error && 'code' in error && error.code === 'FST_ERR_BAD_URL')
    return 'The address is not valid percent-encoding.';
  return 'The request cannot be read.';
}

function describeViolation({ keyword, params, instancePath = '' }: Partial<Violation> = {}) {
  if (keyword === 'required') {
    return { reason: 'field_missing', description: `${params?.missingProperty} is missing.` } as const;
  }
  const field = instancePath.slice(1).replaceAll('/', '.').slice(0, 64);
  if (keyword === 'minLength') return { reason: 'field_missing', description: `${field} is missing.` } as const;
  if (field) return { reason: 'field_not_text', description: `${field} must be text, sent once.` } as const;
  return { reason: 'body_malformed', description: 'Send the fields, as one JSON object or as a form.' } as const;
}

/** Fastify's error codes of body parsing. */
function isBodyError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('FST_ERR_CTP_');
}
