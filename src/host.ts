import { Server } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import { type Address, SettingRefused, type Settings } from './config.ts';
import { BODY_LIMIT } from './http/body-parsers.ts';
import { ApiError } from './http/errors.ts';
import { boundConnections, newDoor, serverOptions } from './http/overload.ts';
import { SECOND } from './lib/clock.ts';
import { newRandomId } from './lib/ids.ts';
import type { LogOutput } from './lib/log-output.ts';
import { plainJson } from './oauth/routes.ts';
import { findWrong, refuse, refuseUnreadable, wayOnFrom } from './refusing.ts';
import type { CountAnswer } from './telemetry/requests.ts';
import { readTraceparent, type TraceContext } from './telemetry/trace-context.ts';
import type { Tracing } from './telemetry/tracing.ts';
import { mountAssets } from './web/assets.ts';
import type { ErrorNavigation } from './web/errors.ts';

const FINISH_WITHIN = 5 * SECOND;

declare module 'fastify' {
  interface FastifyInstance {
    draining: boolean;
    /** Every address of this host, and the methods it has. */
    routes: Routes;
    /** Who hears of every answer. */
    watchers: Watcher[];
    /** How someone who was refused goes on; set where there are pages for people. */
    findWayOn: ((request: FastifyRequest) => Promise<ErrorNavigation>) | undefined;
  }
  interface FastifyRequest {
    /** Where it belongs, while requests are traced. */
    trace: TraceContext | undefined;
  }
  interface FastifyReply {
    /** Why a program was refused; it also stands in the log. */
    reason: string | undefined;
  }
}

/** One listener: what holds for every request on it, whatever it is for. */
export function newHost(
  settings: Settings,
  publicUrl: string,
  { countAnswer, tracing, log }: Watching,
): FastifyInstance {
  const noteAnswer = (request: FastifyRequest, reply: FastifyReply) => {
    const answered = answeredBy(request, reply);
    logAnswer(request, answered);
    countAnswer(answered);
    for (const watch of host.watchers) watch(request, answered);
    if (request.trace) tracing?.end(request.trace, request.headers.traceparent, answered);
  };
  const host = openHost(settings, publicUrl, { countAnswer, noteAnswer, log });
  host.decorate('routes', listRoutes(host));
  host.decorate('watchers', []);
  host.decorateReply('reason', undefined);
  host.decorateRequest('trace', undefined);
  // To make one for each request takes time, whether or not it is used. So whoever logs says whose line it is.
  host.setChildLoggerFactory((log) => log);
  if (tracing) followRequests(host, tracing);
  const turnAway = newDoor(settings.patience);
  host.addHook('onRequest', (request, reply, done) => {
    addUsualHeaders(request, reply, publicUrl);
    const refusal = refuseWithoutHost(request) ?? turnAway(request.url);
    // Before the body is read: without a route there is no way to read one, and its type does not matter.
    done(refusal ?? (request.is404 ? findWrong(request, reply) : undefined));
  });
  host.addHook('onResponse', (request, reply, done) => {
    noteAnswer(request, reply);
    done();
  });
  // RFC 9110 §10.1.1 lets a server overlook an expectation that it does not know.
  host.server.on('checkExpectation', (request, response) => host.server.emit('request', request, response));
  boundConnections(host.server, settings.patience);
  host.decorate('draining', false);
  host.decorate('findWayOn', undefined);
  host.addHook('onSend', (_, reply, payload, done) => {
    if (host.draining) reply.header('connection', 'close');
    done(null, payload);
  });
  const refuseKindly = async (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    // What has a method that nobody knows meets no hook either.
    addUsualHeaders(request, reply, publicUrl);
    return refuse(settings, error, request, reply, await wayOnFrom(error, request));
  };
  // How it is written no schema decides, so none is looked up for it.
  host.setReplySerializer((payload) => JSON.stringify(payload));
  host.setErrorHandler(refuseKindly);
  host.setNotFoundHandler((request, reply) => refuseKindly(findWrong(request, reply), request, reply));
  mountAssets(host);
  return host;
}

/** What sees every request. */
interface Watching {
  countAnswer: CountAnswer;
  tracing: Tracing | undefined;
  log: LogOutput;
}

/** Twice, since reading a body begins anew where nothing is known of it. */
function followRequests(host: FastifyInstance, tracing: Tracing): void {
  host.addHook('onRequest', (request, _, done) => {
    request.trace = tracing.begin(request.headers.traceparent);
    tracing.within(request.trace, done);
  });
  host.addHook('preValidation', (request, _, done) => (request.trace ? tracing.within(request.trace, done) : done()));
}

interface Noting {
  countAnswer: CountAnswer;
  log: LogOutput;
  noteAnswer(request: FastifyRequest, reply: FastifyReply): void;
}

function openHost(settings: Settings, publicUrl: string, { countAnswer, noteAnswer, log }: Noting): FastifyInstance {
  const { http, ...timeouts } = serverOptions(settings.patience);
  try {
    return fastify({
      bodyLimit: BODY_LIMIT,
      ...timeouts,
      trustProxy: settings.trustProxy,
      logger: { level: settings.logLevel, stream: log },
      logController: new LogController({ disableRequestLogging: true }),
      genReqId: newRandomId,
      clientErrorHandler(this: FastifyInstance, error, socket) {
        const refused = refuseUnreadable(settings, error, socket, this.log);
        if (refused) countAnswer({ method: 'none', route: 'none', took: undefined, ...refused });
      },
      // Node would refuse by itself, without a word; `refuseWithoutHost` says what is wrong.
      http: { ...http, requireHostHeader: false },
      forceCloseConnections: 'idle',
      return503OnClosing: false,
      schemaController: plainJson,
      // The schemas are ours alone, and a test holds them against their standard.
      ajv: { customOptions: { coerceTypes: false, removeAdditional: false, meta: false, validateSchema: false } },
      // What cannot even be routed meets no hook.
      frameworkErrors: (error, request, reply) => {
        addUsualHeaders(request as FastifyRequest, reply as FastifyReply, publicUrl);
        refuse(settings, error, request as FastifyRequest, reply as FastifyReply);
        noteAnswer(request as FastifyRequest, reply as FastifyReply);
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
function refuseWithoutHost({ headers, raw }: FastifyRequest): ApiError | undefined {
  if (headers.host !== undefined || raw.httpVersion === '1.0') return undefined;
  const description = 'Send the header Host.';
  return new ApiError({ status: 400, code: 'invalid_request', reason: 'request_unreadable', description });
}

/** The route, and not the address: that may hold whatever a stranger, or a careless app, put there. */
function logAnswer(request: FastifyRequest, { method, route, status, reason, took }: AnsweredInTime) {
  const { id: requestId, log, trace, headers } = request;
  const traceId = (trace ?? readTraceparent(headers.traceparent))?.traceId;
  log.info({ requestId, method, route, status, reason, traceId, ms: Math.round(took) });
}

type AnsweredInTime = ReturnType<typeof answeredBy>;

type Watcher = (request: FastifyRequest, answered: AnsweredInTime) => void;

function answeredBy({ method, routeOptions }: FastifyRequest, { statusCode, reason, elapsedTime }: FastifyReply) {
  return { method, route: routeOptions.url ?? 'none', status: statusCode, reason, took: elapsedTime };
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
    throw cannotListen({ host: name, port }, error, setting);
  }
}

export function cannotListen({ host, port }: Address, error: unknown, setting: string): SettingRefused {
  const reason = error instanceof Error && 'code' in error ? error.code : error;
  return new SettingRefused(`Cannot listen on ${host}:${port} (${reason}). Set ${setting} to another address.`);
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
