import type { FastifyInstance } from 'fastify';
import { allowBrowsers, mountPreflight } from '../http/cors.ts';
import { nothingAtAddress } from '../http/errors.ts';
import { documentedBy } from '../http/openapi.ts';
import { nextLink } from '../http/paging.ts';
import { requireBusiness, requireScope } from '../oauth/bearer.ts';
import { accessOf, type BearerDeps } from '../oauth/routes.ts';
import { RESOURCES } from '../resources/all.ts';
import { businessesEndpoint } from './businesses.ts';
import { meEndpoint } from './me.ts';
import { assertScopeDeclared, describeEndpoint, type ProtectedEndpoint } from './protected-endpoint.ts';
import { reportEndpoints } from './reports/endpoints.ts';
import { pipelineEndpoint } from './reports/pipeline.ts';
import { endpointsOf } from './resource-endpoints.ts';

const RESOURCE_ENDPOINTS = [...RESOURCES.flatMap(endpointsOf), pipelineEndpoint, ...reportEndpoints];

/** Leaves out the resources if the platform serves its own API. */
export function listEndpoints(servesResources: boolean): ProtectedEndpoint[] {
  return [meEndpoint, businessesEndpoint, ...(servesResources ? RESOURCE_ENDPOINTS : [])];
}

/** The protected API: what access tokens are for. */
export function mountBusinessApi(host: FastifyInstance, deps: BearerDeps & { servesResources: boolean }): void {
  for (const endpoint of listEndpoints(deps.servesResources)) mountProtectedEndpoint(host, deps, endpoint);
}

export function mountProtectedEndpoint(host: FastifyInstance, deps: BearerDeps, endpoint: ProtectedEndpoint): void {
  assertScopeDeclared(endpoint);
  const { method, path, response, bodyLimit } = endpoint;
  const target = { resource: null, scopes: endpoint.scope === null ? [] : [endpoint.scope] };
  if (!host.getSchema(response.name)) host.addSchema({ $id: response.name, ...response.schema });
  host.route<{ Querystring: Record<string, unknown>; Params: { id: string } }>({
    method,
    url: path,
    ...documentedBy(describeEndpoint(endpoint)),
    ...(bodyLimit !== undefined && { bodyLimit }),
    onRequest: allowBrowsers,
    handler: async (request, reply) => {
      // `/invoices/` has an empty id.
      if (request.params.id === '') throw nothingAtAddress();
      const access = await accessOf(deps, request, reply, target);
      if (endpoint.scope !== null) {
        requireScope(deps.issuer, access, endpoint.scope);
        request.requestContext.scope = endpoint.scope;
        requireBusiness(access, joinRepeated(request.headers['x-business-id']));
      }
      const { query, body, url } = request;
      const params = { id: request.params.id?.toLowerCase() };
      const headers = request.headers as Record<string, string | undefined>;
      const given = { db: deps.storage.durable, access, method, url, query, params, body, headers, now: deps.clock() };
      const result = await endpoint.handle(given);
      if (result.status) reply.code(result.status);
      if (result.headers) reply.headers(result.headers);
      if (result.next) reply.header('link', nextLink(deps.issuer + path, result.next));
      return result.body;
    },
  });
  if (!host.hasRoute({ method: 'OPTIONS', url: path })) mountPreflight(host, path);
}

/** Node joins a repeated header with a comma, which no UUID has. */
function joinRepeated(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(',') : header;
}
