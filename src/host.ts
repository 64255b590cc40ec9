import { STATUS_CODES } from 'node:http';
import { Server, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import { BODY_LIMIT } from './bodies.ts';
import { type Address, SettingRefused, type Settings } from './config.ts';
import { SECOND } from './lib/clock.ts';
import { newRandomId } from './lib/ids.ts';
import { errorLocation } from './oauth/callback.ts';
import { answerError } from './oauth/error-answers.ts';
import { ApiError, CallbackError, UntrustedRequest } from './oauth/errors.ts';
import { mountAssets } from './web/assets.ts';
import { redirectDone } from './web/done.ts';
import { errorPage, leadsOn, type WayOn } from './web/error-page.ts';
import { sendPage } from './web/layout.ts';
import { notFound, PageRefused, SignInNeeded } from './web/refusals.ts';

const FINISH_WITHIN = 5 * SECOND;
const UNREADABLE: Record<string, number> = { ERR_HTTP_REQUEST_TIMEOUT: 408, HPE_HEADER_OVERFLOW: 431 };

declare module 'fastify' {
  interface FastifyInstance {
    draining: boolean;
    /** Every address of this host, and the methods it has. */
    routes: Routes;
    /** How someone who was refused goes on; set where there are pages for people. */
    findWayOn: ((request: FastifyRequest) => Promise<WayOn>) | undefined;
  }
  interface FastifyReply {
    /** Why a program was refused; it also stands in the log. */
    reason: string | undefined;
  }
}

/** One listener: what holds for every request on it, whatever it is for. */
export function newHost(settings: Settings, publicUrl: string): FastifyInstance {
  const host = openHost(settings, publicUrl);
  host.decorate('routes', listRoutes(host));
  host.decorateReply('reason', undefined);
  host.addHook('onRequest', async (request, reply) => {
    addUsualHeaders(request, reply, publicUrl);
    requireHost(request);
  });
  host.addHook('onResponse', async (request, reply) => logAnswer(request, reply));
  // RFC 9110 §10.1.1 lets a server overlook an expectation that it does not know.
  host.server.on('checkExpectation', (request, response) => host.server.emit('request', request, response));
  host.decorate('draining', false);
  host.decorate('findWayOn', undefined);
  host.addHook('onSend', async (_, reply) => {
    if (host.draining) reply.header('connection', 'close');
  });
  const refuseKindly = async (error: unknown, request: FastifyRequest, reply: FastifyReply) =>
    refuse(settings, error, request, reply, await wayOnFrom(error, request));
  host.setErrorHandler(refuseKindly);
  host.setNotFoundHandler((request, reply) => refuseKindly(findWrong(request, reply), request, reply));
  host.register(mountAssets);
  return host;
}

function openHost(settings: Settings, publicUrl: string): FastifyInstance {
  try {
    return fastify({
      bodyLimit: BODY_LIMIT,
      requestTimeout: 30 * SECOND,
      trustProxy: settings.trustProxy,
      logger: { level: settings.logLevel },
      logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
      genReqId: newRandomId,
      clientErrorHandler(this: FastifyInstance, error, socket) {
        refuseUnreadable(settings, error, socket, this.log);
      },
      // Node would refuse by itself, without a word; `requireHost` says what is wrong.
      http: { requireHostHeader: false },
      forceCloseConnections: 'idle',
      return503OnClosing: false,
      ajv: { customOptions: { coerceTypes: false, removeAdditional: false } },
      // What cannot even be routed meets no hook.
      frameworkErrors: (error, request, reply) => {
        addUsualHeaders(request as FastifyRequest, reply as FastifyReply, publicUrl);
        refuse(settings, error, request as FastifyRequest, reply as FastifyReply);
        logAnswer(request as FastifyRequest, reply as FastifyReply);
      },
    });
  } catch (error) {
    throw new SettingRefused(`TRUST_PROXY must list addresses, like 127.0.0.1,10.0.0.0/8: ${error}.`);
  }
}

/** What every answer carries. The request's id also stands in every line that is logged about it. */
function addUsualHeaders(request: FastifyRequest, reply: FastifyReply, publicUrl: string): void {
  reply.header('x-request-id', request.id);
  reply.header('x-content-type-options', 'nosniff');
  if (publicUrl.startsWith('https:')) {
    reply.header('strict-transport-security', 'max-age=63072000; includeSubDomains');
  }
}

/** RFC 9112 §3.2. */
function requireHost({ headers, raw }: FastifyRequest): void {
  if (headers.host !== undefined || raw.httpVersion === '1.0') return;
  const description = 'Send the header Host.';
  throw new ApiError({ status: 400, code: 'invalid_request', reason: 'request_unreadable', description });
}

/** The route, and not the address: that may hold whatever a stranger, or a careless app, put there. */
function logAnswer({ method, routeOptions, log }: FastifyRequest, { statusCode, reason, elapsedTime }: FastifyReply) {
  log.info({ method, route: routeOptions.url ?? 'none', status: statusCode, reason, ms: Math.round(elapsedTime) });
}

/**
 * Lets a node go without dropping a request: it takes no new connections, answers what comes on the old ones and asks
 * each to be closed. It waits until all are, or until it has been patient enough with those on which nothing comes.
 */
export async function drain(hosts: FastifyInstance[], patience: number): Promise<void> {
  const gone = hosts.map((host) => {
    host.draining = true;
    // Not `server.close()`: that would also cut connections on which a request may just be arriving.
    return new Promise((resolve) => Server.prototype.close.call(host.server, resolve));
  });
  await Promise.race([Promise.all(gone), setTimeout(patience, undefined, { ref: false })]);
}

/** Requests that have begun are finished, but no client can keep a node from ending by never sending the rest of one. */
export async function finish(hosts: FastifyInstance[]): Promise<void> {
  const closed = Promise.all(hosts.map((host) => host.close()));
  await Promise.race([closed, setTimeout(FINISH_WITHIN, undefined, { ref: false })]);
  for (const host of hosts) host.server.closeAllConnections();
  await closed;
}

export async function listen(host: FastifyInstance, { host: name, port }: Address, setting: string): Promise<void> {
  try {
    await host.listen({ host: name, port });
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? error.code : error;
    throw new SettingRefused(`Cannot listen on ${name}:${port} (${reason}). Set ${setting} to another address.`);
  }
}

/** The edge: every refusal that reaches it goes to a program or to a person, each in its own way. */
function refuse(
  settings: Settings,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  wayOn?: WayOn,
): FastifyReply {
  const { baseUrl, platformName } = settings;
  if (error instanceof CallbackError) {
    reply.reason = error.refusal.reason;
    return reply.redirect(errorLocation(error, baseUrl), 303);
  }
  if (error instanceof SignInNeeded) {
    const address = `/sign-in?${new URLSearchParams({ return_to: error.returnTo })}`;
    return error.done ? redirectDone(reply, address, error.done) : reply.redirect(address, 303);
  }
  if (isForPrograms(request) && !(error instanceof UntrustedRequest)) {
    const { status, headers, body } = answerError(error, baseUrl);
    reply.reason = body.reason;
    if (status >= 500) request.log.error(error);
    return reply.code(status).headers(headers).send(body);
  }
  const { status, headers, page } = errorPage(error, { platformName, requestId: request.id, wayOn });
  if (status >= 500) request.log.error(error);
  return sendPage(reply.headers(headers), page, { status });
}

/** A database that fails meanwhile must not turn a refusal into something worse. */
async function wayOnFrom(error: unknown, request: FastifyRequest): Promise<WayOn | undefined> {
  const isPage = !isForPrograms(request) && !(error instanceof CallbackError) && !(error instanceof SignInNeeded);
  if (!isPage || !leadsOn(error)) return undefined;
  return request.server.findWayOn?.(request).catch(() => undefined);
}

/** What is not even HTTP meets no route and no hook: it is answered by hand, like anything else. */
function refuseUnreadable(
  { baseUrl }: Settings,
  { code }: { code: string },
  socket: Socket,
  log: FastifyBaseLogger,
): void {
  if (code === 'ECONNRESET' || socket.destroyed) return;
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
}

/** To most people these pages do not exist, whatever the method. */
const HIDDEN = /^\/(?:platform(?:\/|$)|settings\/(?:audit-log|members\/|developer\/))/;

/** A known address asked in the wrong way says which ways it has. */
function findWrong(request: FastifyRequest, reply: FastifyReply): Error {
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
    : new PageRefused(405, 'Not possible', description);
}

/** Which methods each fixed address has. */
export type Routes = Map<string, Set<string>>;

function listRoutes(host: FastifyInstance): Routes {
  const routes: Routes = new Map();
  host.addHook('onRoute', ({ url, method }) => {
    const methods = routes.get(url) ?? new Set();
    for (const name of [method].flat()) methods.add(name);
    routes.set(url, methods);
  });
  return routes;
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
