import { createCache, hashKey, type Loaded } from './cache.ts';
import { type Access, type RequestHeaders, readToken, requireBusiness, requireScope } from './checks.ts';
import { GuardError, misconfigured, type Rejection, rejectionFor } from './errors.ts';
import { introspect, type Verdict } from './introspection.ts';
import { type GuardOptions, readOptions, readScope } from './options.ts';
import { createScopeCheck } from './scopes.ts';

export interface Guard {
  /** For `preHandler` or `onRequest`. The handler reads the access with `accessOf(request)`. */
  fastify(scope: string): (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;
  /** The next handler reads the access with `accessOf(request)`. */
  express(scope: string): (request: ExpressRequest, response: ExpressResponse, next: Next) => void;
  /** Without a framework. Throws `GuardError`. With the URL, a token in its query is rejected. */
  check(headers: RequestHeaders, scope: string, url?: string): Promise<Access>;
  /**
   * To call before the server listens. Rejects if Gatehouse does not have one of these scopes, or one that `fastify` or `express` was called
   * with. If Gatehouse cannot be reached, it resolves: the API can start without it.
   */
  checkScopes(scopes?: readonly string[]): Promise<void>;
  /** The access of a request that the guard let through. Throws for any other: its route is not protected. */
  accessOf(request: object): Access;
}

interface FastifyRequest {
  headers: { readonly [name: string]: string | string[] | undefined };
  url: string;
}
interface FastifyReply {
  code(status: number): unknown;
  headers(headers: Record<string, string>): unknown;
  send(body: unknown): unknown;
}
interface ExpressRequest {
  headers: { readonly [name: string]: string | string[] | undefined };
  originalUrl: string;
}
interface ExpressResponse {
  status(status: number): unknown;
  set(headers: Record<string, string>): unknown;
  json(body: unknown): unknown;
}
type Next = (error?: unknown) => void;

/** A paused app can be resumed, so that an inactive token becomes active again. */
const MAX_INACTIVE_TIME = 5000;

export function createGuard(options: GuardOptions): Guard {
  const { cacheTime, maxEntries, clock, ...connection } = readOptions(options);
  const cache = createCache<Verdict>(maxEntries, clock);
  const accesses = new WeakMap<object, Access>();
  const findUnknown = createScopeCheck(connection, clock);
  const required = new Set<string>();

  async function load(token: string, rejection: Rejection): Promise<Loaded<Verdict>> {
    const sentAt = clock();
    const value = await introspect(connection, token, rejection);
    const until =
      'access' in value
        ? Math.min(sentAt + cacheTime, value.exp * 1000)
        : sentAt + Math.min(cacheTime, MAX_INACTIVE_TIME);
    return { value, until };
  }

  async function readAccess(rejection: Rejection, headers: RequestHeaders, url: string): Promise<Access> {
    const token = readToken(rejection, headers, url);
    // By scope, so that Gatehouse counts the use of each.
    const key = await hashKey(token, rejection.target.scope);
    const verdict = await cache.get(key, () => load(token, rejection));
    if ('error' in verdict) throw verdict.error;
    requireScope(rejection, verdict.access);
    requireBusiness(rejection, verdict.access, headers);
    return verdict.access;
  }

  const check: Guard['check'] = async (headers, scope, url = '') => {
    const rejection = rejectionFor(connection.issuer, readScope(scope));
    try {
      return await readAccess(rejection, headers, url);
    } catch (error) {
      // The challenge would tell the caller to request a scope that does not exist.
      const isChallenge = error instanceof GuardError && 'www-authenticate' in error.headers;
      const unknown = isChallenge && (await findUnknown([scope]));
      if (!unknown) throw error;
      connection.onError(new Error(unknown));
      throw misconfigured(rejection);
    }
  };

  return {
    check,
    async checkScopes(scopes = []) {
      const unknown = await findUnknown([...required, ...scopes.map(readScope)]);
      if (unknown) throw new Error(unknown);
    },
    fastify(scope) {
      required.add(readScope(scope));
      return async (request, reply) => {
        try {
          accesses.set(request, await check(request.headers, scope, request.url));
        } catch (error) {
          if (!(error instanceof GuardError)) throw error;
          reply.code(error.status);
          reply.headers(error.headers);
          return reply.send(error.body);
        }
      };
    },
    express(scope) {
      required.add(readScope(scope));
      return (request, response, next) => {
        const pass = (access: Access) => {
          accesses.set(request, access);
          next();
        };
        const stop = (error: unknown) => {
          if (!(error instanceof GuardError)) return next(error);
          response.status(error.status);
          response.set(error.headers);
          response.json(error.body);
        };
        check(request.headers, scope, request.originalUrl).then(pass, stop);
      };
    },
    accessOf(request) {
      const access = accesses.get(request);
      if (!access) throw new Error('This request has not passed the guard.');
      return access;
    },
  };
}
