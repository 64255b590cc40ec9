import { Server } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import forms from '@fastify/formbody';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import { type Address, SettingRefused, type Settings } from './config.ts';
import { SECOND } from './lib/clock.ts';
import { ApiError } from './lib/errors.ts';
import { errorLocation } from './oauth/callback.ts';
import { answerError } from './oauth/error-answers.ts';
import { CallbackError, UntrustedRequest } from './oauth/errors.ts';
import { mountAssets } from './web/assets.ts';
import { errorPage } from './web/error-page.ts';
import { sendPage } from './web/layout.ts';
import { notFound, PageRefused, SignInNeeded } from './web/refusals.ts';

const BODY_LIMIT = 64 * 1024;
const FINISH_WITHIN = 5 * SECOND;

declare module 'fastify' {
  interface FastifyInstance {
    draining: boolean;
  }
}

/** One listener: what holds for every request on it, whatever it is for. */
export function newHost(settings: Settings, publicUrl: string): FastifyInstance {
  const host = openHost(settings, publicUrl);
  const routes = listRoutes(host);
  host.addHook('onRequest', async (_, reply) => guard(reply, publicUrl));
  // The route, and not the address: that may hold whatever a stranger, or a careless app, put there.
  host.addHook('onResponse', async ({ method, routeOptions, log }, { statusCode, elapsedTime }) => {
    log.info({ method, route: routeOptions.url ?? 'none', status: statusCode, ms: Math.round(elapsedTime) });
  });
  host.decorate('draining', false);
  host.addHook('onSend', async (_, reply) => {
    if (host.draining) reply.header('connection', 'close');
  });
  host.setErrorHandler((error, request, reply) => refuse(settings, error, request, reply));
  host.setNotFoundHandler((request, reply) => refuse(settings, missing(routes, request, reply), request, reply));
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
      logController: new LogController({ disableRequestLogging: true }),
      forceCloseConnections: 'idle',
      return503OnClosing: false,
      ajv: { customOptions: { coerceTypes: false, removeAdditional: false } },
      // What cannot even be routed meets no hook.
      frameworkErrors: (error, request, reply) => {
        guard(reply as FastifyReply, publicUrl);
        refuse(settings, error, request as FastifyRequest, reply as FastifyReply);
      },
    });
  } catch (error) {
    throw new SettingRefused(`TRUST_PROXY must list addresses, like 127.0.0.1,10.0.0.0/8: ${error}.`);
  }
}

function guard(reply: FastifyReply, publicUrl: string): void {
  reply.header('x-content-type-options', 'nosniff');
  if (publicUrl.startsWith('https:')) {
    reply.header('strict-transport-security', 'max-age=63072000; includeSubDomains');
  }
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

/** JSON as the contract has it, and forms as RFC 6749 has them; nothing else. */
export function readJsonAndForms(host: FastifyInstance): void {
  const parseJson = host.getDefaultJsonParser('error', 'error');
  readForms(host);
  host.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, text, done) => {
    parseJson(request, text, (error, body) => done(error ?? findRepeated(text, body), body));
  });
}

export function readForms(host: FastifyInstance): void {
  host.removeAllContentTypeParsers();
  host.register(forms, { bodyLimit: BODY_LIMIT });
}

/** JSON lets the last of two equal names win. In an object of texts, every name and every value is one quoted text. */
function findRepeated(text: string, body: unknown): Error | null {
  const entries = Object.entries(body ?? {});
  const quoted = text.match(/"(?:[^"\\]|\\.)*"/g)?.length ?? 0;
  const isPlain = entries.every(([, value]) => typeof value === 'string');
  return isPlain && quoted > 2 * entries.length
    ? new ApiError(400, 'invalid_request', 'A field was sent twice.')
    : null;
}

/** The edge: every refusal that reaches it goes to a program or to a person, each in its own way. */
function refuse(settings: Settings, error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { baseUrl, platformName } = settings;
  if (error instanceof CallbackError) return reply.redirect(errorLocation(error, baseUrl), 303);
  if (error instanceof SignInNeeded) {
    return reply.redirect(`/sign-in?${new URLSearchParams({ return_to: error.returnTo })}`, 303);
  }
  if (isForPrograms(request) && !(error instanceof UntrustedRequest)) {
    const { status, headers, body } = answerError(error, baseUrl);
    if (status >= 500) request.log.error(error);
    return reply.code(status).headers(headers).send(body);
  }
  const { status, headers, page } = errorPage(error, platformName);
  if (status >= 500) request.log.error(error);
  return sendPage(reply.headers(headers), page, { status });
}

/** A known address asked in the wrong way says which ways it has. */
function missing(routes: Routes, request: FastifyRequest, reply: FastifyReply): Error {
  const path = pathOf(request);
  const isApi = isForPrograms(request);
  const methods = [...(routes.get(path) ?? [])];
  // To most people the platform's pages do not exist, whatever the method.
  if (methods.length === 0 || path.startsWith('/platform/')) {
    return isApi ? new ApiError(404, 'not_found', 'There is nothing at this address.') : notFound();
  }
  reply.header('allow', methods.join(', '));
  const sentence = `Use ${methods.join(' or ')} here.`;
  return isApi ? new ApiError(405, 'invalid_request', sentence) : new PageRefused(405, 'Not possible', sentence);
}

/** Which methods each fixed address has. */
type Routes = Map<string, Set<string>>;

function listRoutes(host: FastifyInstance): Routes {
  const routes: Routes = new Map();
  host.addHook('onRoute', ({ url, method }) => {
    const methods = routes.get(url) ?? new Set();
    for (const name of [method].flat()) methods.add(name);
    routes.set(url, methods);
  });
  return routes;
}

function isForPrograms(request: FastifyRequest): boolean {
  return /^\/(api|\.well-known|healthz|readyz)(\/|$)/.test(pathOf(request));
}

/** A request may name its target with scheme and host (RFC 9112 §3.2.2); only the path is looked at. */
function pathOf({ url }: FastifyRequest): string {
  return url.replace(/^[a-z]+:\/\/[^/?]*/i, '').replace(/\?.*$/s, '');
}
