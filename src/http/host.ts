import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import { InvalidSetting } from '../lib/errors.ts';
import { newRandomId } from '../lib/ids.ts';
import { LOG_SERIALIZERS, type LogOutput } from '../lib/log-output.ts';
import type { Storage } from '../storage/storage.ts';
import { BODY_LIMIT } from './body-parsers.ts';
import { type ErrorOptions, respondToUnparsable, routeError, sendError } from './error-handler.ts';
import { ApiError } from './errors.ts';
import { LIVENESS, READINESS } from './health-paths.ts';
import { shedLoad } from './load-shedding.ts';
import type { OverloadLimit, ServerTimeouts } from './timeouts.ts';
import { readTraceparent } from './traceparent.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** Set during shutdown: every response then asks the client to close the connection. */
    draining: boolean;
    /** The methods of every path. */
    methodsByPath: MethodsByPath;
    responseListeners: ResponseListener[];
  }
  interface FastifyRequest {
    /** Set while requests are traced. */
    traceId: string | undefined;
    /** What the request is about, once that is known. The log names it. */
    subject: { appId?: string | undefined; businessId?: string | undefined } | undefined;
  }
  interface FastifyReply {
    /** The reason of an API error, for the log and the metrics. */
    reason: string | undefined;
    /** What ran, on a route that has several operations. Its status is logged if it is not that of the response. */
    operation: { name: string; status?: number } | undefined;
  }
}

export type MethodsByPath = Map<string, Set<string>>;

/** A response that was sent. */
export interface ResponseSummary {
  method: string;
  /** The route's pattern, never the URL: that can contain secrets. `none` without a route. With the operation, if there are several. */
  route: string;
  status: number;
  reason: string | undefined;
  /** In milliseconds; undefined if the request could not be parsed. */
  took: number | undefined;
}

/** There is no request if it could not be parsed. */
type ResponseListener = (response: ResponseSummary, request: FastifyRequest | undefined) => void;

/** Two years, in seconds. */
const HSTS = 'max-age=63072000';

interface HostOptions {
  publicUrl: string;
  hstsIncludesSubdomains: boolean;
  timeouts: ServerTimeouts;
  overload: OverloadLimit;
  /** Proxies whose X-Forwarded-For is trusted: addresses and ranges, separated by commas. */
  trustProxy: string | false;
  logLevel: string;
  log: LogOutput;
  errors: ErrorOptions;
}

/** One listener, with what applies to every request on it. */
export function createHost(options: HostOptions): FastifyInstance {
  const host = createFastify(options);
  host.decorate('draining', false);
  host.decorate('methodsByPath', collectMethods(host));
  host.decorate('responseListeners', []);
  host.decorateRequest('traceId', undefined);
  host.decorateRequest('subject', undefined);
  host.decorateReply('reason', undefined);
  host.decorateReply('operation', undefined);
  // A child logger per request costs time even if it is never used; log lines name the request themselves.
  host.setChildLoggerFactory((log) => log);
  host.setReplySerializer((payload) => JSON.stringify(payload));
  addHooks(host, options);
  shedLoad(host, options.overload);
  handleErrors(host, options);
  configureServer(host, options.timeouts);
  return host;
}

function createFastify(options: HostOptions): FastifyInstance {
  const { timeouts, trustProxy, logLevel, log, errors } = options;
  const { requestTimeout, connectionTimeout, keepAliveTimeout, headersTimeout, connectionsCheckingInterval } = timeouts;
  try {
    return fastify({
      bodyLimit: BODY_LIMIT,
      requestTimeout,
      connectionTimeout,
      keepAliveTimeout,
      // Node's own response to a missing Host header has no body; `missingHost` has one.
      http: { headersTimeout, connectionsCheckingInterval, requireHostHeader: false },
      forceCloseConnections: 'idle',
      // An id that is too long is an unknown one: 404, as the API documents. Node limits all headers to this.
      routerOptions: { maxParamLength: 16 * 1024 },
      return503OnClosing: false,
      trustProxy,
      logger: { level: logLevel, stream: log, serializers: LOG_SERIALIZERS },
      logController: new LogController({ disableRequestLogging: true }),
      genReqId: newRandomId,
      // JSON.stringify needs no compiled serializer.
      schemaController: { compilersFactory: { buildSerializer: () => () => JSON.stringify } },
      // A test validates the schemas, not each start.
      ajv: { customOptions: { coerceTypes: false, removeAdditional: false, meta: false, validateSchema: false } },
      clientErrorHandler(this: FastifyInstance, error, socket) {
        const sent = respondToUnparsable(errors.issuer, error, socket, this.log);
        const response = sent && { method: 'none', route: 'none', took: undefined, ...sent };
        if (response) for (const listener of this.responseListeners) listener(response, undefined);
      },
      // Errors of the router: no hook runs for them.
      frameworkErrors: (error, request, reply) =>
        sendRouterError(options, error, request as FastifyRequest, reply as FastifyReply),
    });
  } catch (error) {
    if (!isProxyListError(error)) throw error;
    throw new InvalidSetting(`TRUST_PROXY must list addresses, like 127.0.0.1,10.0.0.0/8: ${error.message}.`);
  }
}

/** Errors of `@fastify/proxy-addr`, which compiles the list. */
function isProxyListError(error: unknown): error is TypeError {
  return error instanceof TypeError && /^invalid (IP address|range on address)/.test(error.message);
}

async function sendRouterError(
  options: HostOptions,
  error: Error,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  addCommonHeaders(request, reply, options);
  await sendError(options.errors, error, request, reply);
  reportResponse(request, reply);
}

function addHooks(host: FastifyInstance, options: HostOptions): void {
  host.addHook('onRequest', (request, reply, done) => {
    addCommonHeaders(request, reply, options);
    // RFC 9112 §3.2.
    const hasHost = request.headers.host !== undefined || request.raw.httpVersion === '1.0';
    if (!hasHost) return done(missingHost());
    // Before the body is read: its content type does not matter if there is no route.
    done(request.is404 ? routeError(options.errors, request, reply) : undefined);
  });
  host.addHook('onSend', (_, reply, payload, done) => {
    if (host.draining) reply.header('connection', 'close');
    done(null, payload);
  });
  host.addHook('onResponse', (request, reply, done) => {
    reportResponse(request, reply);
    done();
  });
}

function handleErrors(host: FastifyInstance, options: HostOptions): void {
  const send = async (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    // Again, because no hook runs for a request with an unknown method.
    addCommonHeaders(request, reply, options);
    return sendError(options.errors, error, request, reply);
  };
  host.setErrorHandler(send);
  host.setNotFoundHandler((request, reply) => send(routeError(options.errors, request, reply), request, reply));
}

function configureServer({ server }: FastifyInstance, { maxConnections }: ServerTimeouts): void {
  server.maxConnections = maxConnections;
  // RFC 9110 §10.1.1: a server may ignore an expectation that it does not know.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  server.on('connection', (socket) => {
    // Node caches the address at the first read, so it is still known if the client disconnects before the response.
    if (socket.remoteAddress === undefined) socket.destroy();
  });
}

function addCommonHeaders(
  request: FastifyRequest,
  reply: FastifyReply,
  { publicUrl, hstsIncludesSubdomains }: HostOptions,
): void {
  reply.header('x-request-id', request.id);
  reply.header('x-content-type-options', 'nosniff');
  if (publicUrl.startsWith('https:')) {
    const hsts = hstsIncludesSubdomains ? `${HSTS}; includeSubDomains` : HSTS;
    reply.header('strict-transport-security', hsts);
  }
}

function missingHost(): ApiError {
  const description = 'Send the header Host.';
  return new ApiError({ status: 400, code: 'invalid_request', reason: 'request_unreadable', description });
}

function reportResponse(request: FastifyRequest, reply: FastifyReply): void {
  const { id: requestId, method, log, routeOptions, server, headers } = request;
  const { statusCode, reason, operation, elapsedTime: took } = reply;
  const { url = 'none' } = routeOptions;
  const route = operation ? `${url} ${operation.name}` : url;
  const status = operation?.status ?? statusCode;
  const sent = headers.traceparent === undefined ? undefined : readTraceparent(headers.traceparent);
  const traceId = request.traceId ?? sent?.traceId;
  const { appId: app, businessId: business } = request.subject ?? {};
  // Load balancers send several probes a second.
  const level = status === 200 && (route === LIVENESS || route === READINESS) ? 'debug' : 'info';
  log[level]({ requestId, method, route, status, reason, app, business, traceId, ms: Math.round(took) });
  const response = { method, route, status, reason, took };
  for (const listener of server.responseListeners) listener(response, request);
}

function collectMethods(host: FastifyInstance): MethodsByPath {
  const paths: MethodsByPath = new Map();
  host.addHook('onRoute', ({ url, method }) => {
    const methods = paths.get(url) ?? new Set();
    for (const name of [method].flat()) methods.add(name);
    paths.set(url, methods);
  });
  return paths;
}

interface FlushDeps {
  storage: Storage;
  errors: ErrorOptions;
}

/**
 * A response may report commits that a power cut could still undo: it is sent once they are on disk, and replaced by a
 * 503 if the disk takes too long. A 503 reports no commit.
 */
export function delayUntilFlushed(host: FastifyInstance, { storage, errors }: FlushDeps): void {
  const { flushed } = storage;
  if (!flushed) return;
  host.addHook('onSend', (request, reply, payload, done) => {
    const pending = flushed();
    // The liveness check depends on no database.
    const isExempt = () => reply.statusCode === 503 || request.routeOptions.url === LIVENESS;
    if (!pending || isExempt()) return done(null, payload);
    const send = () => done(null, payload);
    pending.then(send, (error) => {
      for (const name of Object.keys(reply.getHeaders())) if (!ON_EVERY_RESPONSE.test(name)) reply.removeHeader(name);
      sendError(errors, error, request, reply).catch(done);
    });
  });
}

/** The other headers belong to the response that is not sent. */
const ON_EVERY_RESPONSE = /^(?:x-|access-control-|strict-transport-security$)/;
