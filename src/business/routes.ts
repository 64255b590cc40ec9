import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { allowAnyOrigin, mountPreflight } from '../http/cors.ts';
import { documentedBy } from '../http/openapi.ts';
import { nextLink } from '../http/paging.ts';
import { requireBusiness, requireScope } from '../oauth/bearer.ts';
import { accessOf, type BearerDeps } from '../oauth/routes.ts';
import { businessesEndpoint } from './businesses.ts';
import { invoicesEndpoint } from './invoices.ts';
import { meEndpoint } from './me.ts';
import { assertScopeDeclared, describeEndpoint, type ProtectedEndpoint } from './protected-endpoint.ts';

type BusinessDeps = BearerDeps & { issuer: string };

const ENDPOINTS = [meEndpoint, businessesEndpoint, invoicesEndpoint];

/** The protected API: what access tokens are for. */
export function mountBusinessApi(host: FastifyInstance, deps: BusinessDeps): void {
  for (const endpoint of ENDPOINTS) mountProtectedEndpoint(host, deps, endpoint);
}

export function mountProtectedEndpoint(host: FastifyInstance, deps: BusinessDeps, endpoint: ProtectedEndpoint): void {
  assertScopeDeclared(endpoint);
  const { method, path, response } = endpoint;
  host.addSchema({ $id: response.name, ...response.schema });
  host.route<{ Querystring: Record<string, unknown> }>({
    method,
    url: path,
    ...documentedBy(describeEndpoint(endpoint)),
    onRequest: allowBrowsers,
    handler: async (request, reply) => {
      const access = await accessOf(deps, request, reply);
      if (endpoint.scope !== null) {
        requireScope(access, endpoint.scope);
        request.requestContext.scope = endpoint.scope;
        requireBusiness(access, joinRepeated(request.headers['x-business-id']));
      }
      const { body, next } = await endpoint.handle(deps.storage.durable, access, request.query);
      if (next) reply.header('link', nextLink(deps.issuer + path, next));
      return body;
    },
  });
  mountPreflight(host, path);
}

/** Only browsers send `Origin`. These responses are not cached, so they need no `Vary`. */
function allowBrowsers(request: FastifyRequest, reply: FastifyReply, done: () => void): void {
  if (request.headers.origin === undefined) done();
  else allowAnyOrigin(request, reply, done);
}

/** Node joins a repeated header with a comma, which no UUID has. */
function joinRepeated(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(',') : header;
}
