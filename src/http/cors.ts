import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify';

/**
 * CORS for any origin, on routes that a page can use: with a bearer token, as a public client, or without authentication.
 * The API host reads no cookie that such a request could carry.
 */
export function allowAnyOrigin(_: FastifyRequest, reply: FastifyReply, done: () => void): void {
  addCorsHeaders(reply);
  done();
}

export function addCorsHeaders(reply: FastifyReply): void {
  reply
    .header('access-control-allow-origin', '*')
    .header(
      'access-control-expose-headers',
      'etag, idempotency-replayed, link, location, retry-after, www-authenticate, x-request-id',
    );
}

/** Only browsers send `Origin`. The responses must not be cached, so they need no `Vary`. */
export function allowBrowsers(request: FastifyRequest, reply: FastifyReply, done: () => void): void {
  if (request.headers.origin === undefined) done();
  else allowAnyOrigin(request, reply, done);
}

interface Preflight {
  methods: string;
  requestHeaders: string;
  onRequest: onRequestHookHandler;
}

const ANY_ORIGIN: Preflight = {
  methods: 'GET, POST, PATCH',
  requestHeaders: 'authorization, content-type, idempotency-key, if-match, x-business-id',
  onRequest: allowAnyOrigin,
};

/** The preflight request. */
export function mountPreflight(host: FastifyInstance, path: string, preflight = ANY_ORIGIN): void {
  const { methods, requestHeaders, onRequest } = preflight;
  host.options(path, { schema: { hide: true }, onRequest }, async (_, reply) =>
    reply
      .code(204)
      .header('access-control-allow-methods', methods)
      .header('access-control-allow-headers', requestHeaders)
      .header('access-control-max-age', '7200')
      .send(),
  );
}
