import type { Socket } from 'node:net';
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify';
import type { Settings } from './config.ts';
import { answerError } from './http/error-responses.ts';
import { ApiError } from './http/errors.ts';
import { Overloaded } from './lib/errors.ts';
import { STATUS_CODES } from './lib/http.ts';
import { newRandomId } from './lib/ids.ts';
import { errorLocation } from './oauth/authorize/callback.ts';
import { CallbackError, UntrustedRequest } from './oauth/errors.ts';
import { type ErrorNavigation, errorPage, hasNavigation, notFound, PageError, SignInRequired } from './web/errors.ts';
import { redirectWithFlash } from './web/flash.ts';
import { sendPage } from './web/layout.ts';

/** The edge: every refusal that reaches it goes to a program or to a person, each in its own way. */
export function refuse(
  settings: Settings,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  wayOn?: ErrorNavigation,
): FastifyReply {
  const { baseUrl, platformName } = settings;
  if (error instanceof CallbackError) {
    reply.reason = error.refusal.reason;
    return reply.redirect(errorLocation(error, baseUrl), 303);
  }
  if (error instanceof SignInRequired) {
    const address = `/sign-in?${new URLSearchParams({ return_to: error.returnTo })}`;
    return error.flash ? redirectWithFlash(reply, address, error.flash) : reply.redirect(address, 303);
  }
  if (isForPrograms(request) && !(error instanceof UntrustedRequest)) {
    const { status, headers, body } = answerError(error, baseUrl);
    reply.reason = body.reason;
    if (isTrouble(status, error)) request.log.error({ requestId: request.id, err: error });
    return reply.code(status).headers(headers).send(body);
  }
  const { status, headers, page } = errorPage(error, { platformName, requestId: request.id, navigation: wayOn });
  if (isTrouble(status, error)) request.log.error({ requestId: request.id, err: error });
  return sendPage(reply.headers(headers), page, { status });
}

/** When there is too much to do, there is no time to write a page about each who was turned away. */
function isTrouble(status: number, error: unknown): boolean {
  return status >= 500 && !(error instanceof Overloaded);
}

/** A database that fails meanwhile must not turn a refusal into something worse. */
export async function wayOnFrom(error: unknown, request: FastifyRequest): Promise<ErrorNavigation | undefined> {
  const isPage = !isForPrograms(request) && !(error instanceof CallbackError) && !(error instanceof SignInRequired);
  if (!isPage || !hasNavigation(error)) return undefined;
  return request.server.findWayOn?.(request).catch(() => undefined);
}

const UNREADABLE: Record<string, number> = { ERR_HTTP_REQUEST_TIMEOUT: 408, HPE_HEADER_OVERFLOW: 431 };

/** What is not even HTTP meets no route and no hook: it is answered by hand, like anything else. */
export function refuseUnreadable(
  { baseUrl }: Settings,
  { code }: { code: string },
  socket: Socket,
  log: FastifyBaseLogger,
): { status: number; reason: string } | undefined {
  if (code === 'ECONNRESET' || socket.destroyed) return undefined;
  const [requestId, statusCode] = [newRandomId(), UNREADABLE[code] ?? 400];
  const { status, headers, body } = answerError({ statusCode }, baseUrl);
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

/** To most people these pages do not exist, whatever the method. */
const HIDDEN = /^\/(?:platform(?:\/|$)|settings\/(?:audit-log|members\/|developer\/))/;

/** A known address asked in the wrong way says which ways it has. */
export function findWrong(request: FastifyRequest, reply: FastifyReply): Error {
  const path = pathOf(request);
  const isApi = isForPrograms(request);
  const methods = [...(request.server.routes.get(path) ?? [])];
  if (methods.length === 0 || HIDDEN.test(path)) {
    const description = 'There is nothing at this address.';
    return isApi ? new ApiError({ status: 404, code: 'not_found', reason: 'not_found', description }) : notFound();
  }
  reply.header('allow', methods.join(', '));
  const description = `This address takes ${methods.join(', ')}.`;
  return isApi
    ? new ApiError({ status: 405, code: 'invalid_request', reason: 'method_not_allowed', description })
    : new PageError(405, 'Not possible', description);
}

/** At the authorize endpoint stands a person with a browser. */
function isForPrograms(request: FastifyRequest): boolean {
  if (pathOf(request) === '/api/v1/oauth/authorize') return false;
  return /^\/(api|\.well-known|healthz|readyz|openapi\.json)(\/|$)/.test(pathOf(request));
}

/** A request may name its target with scheme and host (RFC 9112 §3.2.2); only the path is looked at. */
function pathOf({ url }: FastifyRequest): string {
  return url.replace(/^[a-z]+:\/\/[^/?]*/i, '').replace(/\?.*$/s, '');
}
