import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/**
 * CORS for any origin, on routes that take a bearer token or nothing: the API host reads no cookie that such a request
 * could carry. Routes that take a client secret are excluded, because a secret does not belong in a browser.
 */
export function allowAnyOrigin(_: FastifyRequest, reply: FastifyReply, done: () => void): void {
  reply
    .header('access-control-allow-origin', '*')
    .header(
      'access-control-expose-headers',
      'etag, idempotency-replayed, link, location, retry-after, www-authenticate, x-request-id',
    );
  done();
}

/** The preflight request. */
export function mountPreflight(host: FastifyInstance, path: string): void {
  host.options(path, { schema: { hide: true }, onRequest: allowAnyOrigin }, async (_, reply) =>
    reply
      .code(204)
      .header('access-control-allow-methods', 'GET, POST, PATCH')
      .header('access-control-allow-headers', 'authorization, content-type, idempotency-key, if-match, x-business-id')
      .header('access-control-max-age', '7200')
      .send(),
  );
}
