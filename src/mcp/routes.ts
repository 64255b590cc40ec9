import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ProtectedEndpoint } from '../business/protected-endpoint.ts';
import { listEndpoints } from '../business/routes.ts';
import { parseJson, RECORD_BODY_LIMIT } from '../http/body-parsers.ts';
import { mountPreflight } from '../http/cors.ts';
import { ApiError } from '../http/errors.ts';
import { documentedBy } from '../http/openapi.ts';
import { isId } from '../lib/ids.ts';
import { VERSION } from '../lib/package.ts';
import { type Access, requireScope } from '../oauth/bearer.ts';
import { mcpResource } from '../oauth/resource-indicators.ts';
import { accessOf, type BearerDeps, checkAccess } from '../oauth/routes.ts';
import { SCOPES } from '../oauth/scopes.ts';
import { type Arguments, callTool, toErrorResult } from './calls.ts';
import { describeMcp } from './operation.ts';
import type { McpRequest, McpResponse } from './protocol.ts';
import { type Tool, toolsOf } from './tools.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** What the token of a request to the MCP server permits. */
    access: Access | undefined;
    /** Whether its body had not arrived when the token was checked. */
    hasSlowBody: boolean;
  }
}

interface McpDeps extends BearerDeps {
  issuer: string;
  consentUrl: string;
  platformName: string;
  servesResources: boolean;
  mcpAllowedOrigins: string[];
}

/** The business API for AI agents, by the Model Context Protocol: the resource `/mcp`, and one for each business. */
export function mountMcp(host: FastifyInstance, deps: McpDeps): void {
  const endpoints = listEndpoints(deps.servesResources);
  const scopes = SCOPES.map(({ name }) => name).filter((name) => endpoints.some(({ scope }) => scope === name));
  const load = loader(deps, endpoints);
  const onOrigin = checkOrigin(new Set([deps.issuer, deps.consentUrl, ...deps.mcpAllowedOrigins]));
  // Before the body is read: a request without a valid token is a 401, whatever its body.
  const authenticate = async (request: FastifyRequest, reply: FastifyReply) => {
    request.access = await accessOf(deps, request, reply, { resource: resourceOf(request), scopes });
    request.hasSlowBody = !request.raw.complete;
  };
  // A slow body may take half a minute, and the token may be revoked meanwhile.
  const checkAgain = async (request: FastifyRequest) => {
    if (!request.hasSlowBody) return;
    request.access = await checkAccess(deps, request, { resource: resourceOf(request), scopes });
  };
  host.register(async (scope) => {
    parseJson(scope);
    scope.decorateRequest('access', undefined);
    scope.decorateRequest('hasSlowBody', false);
    for (const path of ['/mcp', '/mcp/:businessId']) {
      const handler = async (request: FastifyRequest, reply: FastifyReply) => serve(await load(), request, reply);
      const hooks = { onRequest: [onOrigin, authenticate], preHandler: checkAgain };
      scope.post(path, { ...documentedBy(describeMcp(path)), bodyLimit: RECORD_BODY_LIMIT, ...hooks, handler });
      mountPreflight(scope, path, { methods: 'POST', requestHeaders: REQUEST_HEADERS, onRequest: onOrigin });
    }
  });
}

interface Mcp {
  deps: McpDeps;
  tools: Map<string, Tool>;
  respond(request: McpRequest): Promise<McpResponse>;
}

const INSTRUCTIONS =
  'These tools read and change the records of one business. `get_me` says which business, for whom, and with ' +
  'which scopes. Amounts are decimal texts in the currency of the record. Dates are in UTC.';

const REQUEST_HEADERS = 'accept, authorization, content-type, mcp-protocol-version, mcp-method, mcp-name';

/** The package is loaded at the first request: it would make every start longer. */
function loader(deps: McpDeps, endpoints: ProtectedEndpoint[]): () => Promise<Mcp> {
  let loading: Promise<Mcp> | undefined;
  const load = async () => {
    const { createProtocol } = await import('./protocol.ts');
    const tools = toolsOf(endpoints);
    const info = { name: 'gatehouse', title: deps.platformName, version: VERSION };
    return { deps, tools, respond: await createProtocol({ tools, info, instructions: INSTRUCTIONS }) };
  };
  return () => {
    loading ??= load();
    return loading;
  };
}

/** `/mcp`, or `/mcp/` and the id of a business. */
function resourceOf({ params }: FastifyRequest): string {
  const { businessId } = params as { businessId?: string };
  if (businessId === undefined || isId(businessId.toLowerCase())) return mcpResource(businessId?.toLowerCase());
  const description = 'There is nothing at this address.';
  throw new ApiError({ status: 404, code: 'not_found', reason: 'not_found', description });
}

async function serve(mcp: Mcp, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { body, headers } = request;
  const tool = calledTool(mcp.tools, body);
  reply.operation = operationOf(tool, body);
  if (tool) requireToolScope(mcp.deps, tool, request);
  let failure: { error: unknown } | undefined;
  const call = (sent: Arguments) =>
    runTool(mcp.deps, { tool, sent, request, reply }).catch((error) => {
      failure = { error };
      throw error;
    });
  const response = await mcp.respond({ body, headers, call });
  // A bug, or a database that is not available: the error handler responds.
  if (failure) throw failure.error;
  if (response.status >= 500) throw new Error(`The MCP package responded ${response.status}: ${response.body}`);
  return reply.code(response.status).headers(response.headers).send(response.body);
}

function calledTool(tools: Map<string, Tool>, body: unknown): Tool | undefined {
  const { method, params } = (body ?? {}) as { method?: unknown; params?: { name?: unknown } };
  return method === 'tools/call' ? tools.get(String(params?.name)) : undefined;
}

const METHODS = ['initialize', 'notifications/initialized', 'ping', 'server/discover', 'subscriptions/listen'];
const LOGGED = [...METHODS, 'tools/call', 'tools/list'];

/** The name of the tool or of the method, for the log and the metrics. */
function operationOf(tool: Tool | undefined, body: unknown): { name: string } | undefined {
  const { method } = (body ?? {}) as { method?: unknown };
  const name = tool?.name ?? LOGGED.find((known) => known === method);
  return name === undefined ? undefined : { name };
}

/** 403 before the call, with the scopes that it needs: clients then ask the user for more (RFC 9470 calls it step-up). */
function requireToolScope({ issuer }: McpDeps, { endpoint }: Tool, request: FastifyRequest): void {
  if (endpoint.scope === null) return;
  requireScope(issuer, request.access as Access, endpoint.scope);
  request.requestContext.scope = endpoint.scope;
}

interface ToolCall {
  tool: Tool | undefined;
  sent: Arguments;
  request: FastifyRequest;
  reply: FastifyReply;
}

async function runTool({ storage, clock, issuer }: McpDeps, { tool, sent, request, reply }: ToolCall) {
  if (!tool) throw new Error('A tool was called that the request does not name.');
  try {
    const context = { db: storage.durable, access: request.access as Access, now: clock() };
    return await callTool(tool, sent, context);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    reply.reason = error.reason;
    reply.operation = { name: tool.name, status: error.status };
    return toErrorResult(error, issuer);
  }
}

/** The specification wants it against DNS rebinding. Only browsers send `Origin`. */
function checkOrigin(allowed: Set<string>) {
  return async ({ headers: { origin } }: FastifyRequest, reply: FastifyReply) => {
    if (origin === undefined) return;
    if (!allowed.has(origin)) throw originNotAllowed();
    reply
      .header('access-control-allow-origin', origin)
      .header('access-control-expose-headers', 'retry-after, www-authenticate, x-request-id')
      .header('vary', 'origin');
  };
}

function originNotAllowed(): ApiError {
  const description = 'Pages of this origin may not call the MCP server. MCP_ALLOWED_ORIGINS lists those that may.';
  return new ApiError({ status: 403, code: 'invalid_request', reason: 'origin_not_allowed', description });
}
