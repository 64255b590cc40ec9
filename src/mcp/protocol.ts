import {
  type AuthInfo,
  CLIENT_CAPABILITIES_META_KEY,
  createMcpHandler,
  isJSONRPCRequest,
  isLegacyRequest,
  type JSONRPCRequest,
  PROTOCOL_VERSION_META_KEY,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { MINUTE } from '../lib/clock.ts';
import type { Arguments, ToolResult } from './calls.ts';
import { connectLegacy, connectModern } from './shared-transport.ts';
import type { Tool } from './tools.ts';

/** The stateless revision, and those with an `initialize` handshake, newest first. */
const MODERN = '2026-07-28';
const LEGACY = ['2025-11-25', '2025-06-18'];

/** How long clients may keep the list of tools: it is the same for every caller. */
const LIST_LIFETIME = 5 * MINUTE;

export interface McpRequest {
  /** The parsed body. */
  body: unknown;
  headers: Record<string, string | string[] | undefined>;
  /** Runs the tool that the body names, if there is such a tool. */
  call: (sent: Arguments) => Promise<ToolResult>;
}

export interface McpResponse {
  status: number;
  headers: Record<string, string>;
  body: string;
}

interface ProtocolOptions {
  tools: Map<string, Tool>;
  info: { name: string; title: string; version: string };
  instructions: string;
}

/**
 * Responds to clients of both kinds of revisions, by the official package. A tool call with valid headers is served by
 * a server that is connected once: a server and a transport for each call take longer than most calls. All other
 * requests, and with them every error of the protocol, go to the handlers of the package.
 */
export async function createProtocol(options: ProtocolOptions): Promise<(request: McpRequest) => Promise<McpResponse>> {
  const handler = createMcpHandler(() => createServer(options, [MODERN]), { legacy: 'reject' });
  const callModern = await connectModern(createCallServer(options, [MODERN]), MODERN);
  const callLegacy = await connectLegacy(createCallServer(options, LEGACY));
  return async (request) => {
    const { body } = request;
    const authInfo = authInfoOf(request);
    if (isCall(body) && isModernCall(request, body)) return toJson(await callModern(body, authInfo));
    if (isCall(body) && isLegacyCall(request, body)) return toJson(await callLegacy(body, authInfo));
    const webRequest = toWebRequest(request);
    const passed = { authInfo, parsedBody: body ?? null };
    // Revisions since 2025-06-18 have no batches. The strict handler rejects them, and responses, since this server
    // sends no requests.
    const isMessage = typeof body === 'object' && body !== null && 'method' in body;
    if (!isMessage || !(await isLegacyRequest(webRequest, body)))
      return toResponse(await handler.fetch(webRequest, passed));
    // The handler’s own fallback would respond with a stream of events.
    const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
    await createServer(options, LEGACY).connect(transport);
    return toResponse(await transport.handleRequest(webRequest, passed));
  };
}

function createServer({ tools, info, instructions }: ProtocolOptions, supportedProtocolVersions: string[]): Server {
  const hint = { ttlMs: LIST_LIFETIME, cacheScope: 'public' } as const;
  const server = new Server(info, {
    capabilities: { tools: {} },
    instructions,
    supportedProtocolVersions,
    cacheHints: { 'tools/list': hint, 'server/discover': hint },
  });
  const listed = { tools: [...tools.values()].map(({ definition }) => definition) };
  server.setRequestHandler('tools/list', () => listed);
  server.setRequestHandler('tools/call', ({ params }, { http }) => call(tools, params, http?.authInfo));
  return server;
}

/**
 * For calls alone. A fallback handler gets them without the package’s validation of the result and, twice, of the request: the
 * arguments are validated by the endpoint, and the result is ours.
 */
function createCallServer({ tools, info }: ProtocolOptions, supportedProtocolVersions: string[]): Server {
  const server = new Server(info, { capabilities: { tools: {} }, supportedProtocolVersions });
  server.fallbackRequestHandler = async ({ params = {} }, { http }) => call(tools, params, http?.authInfo);
  return server;
}

function call(tools: Map<string, Tool>, params: Record<string, unknown>, authInfo?: AuthInfo): Promise<ToolResult> {
  const { name, arguments: sent = {} } = params;
  if (typeof name !== 'string' || !tools.has(name))
    throw invalidParams(`There is no tool ${String(name).slice(0, 100)}.`);
  if (typeof sent !== 'object' || sent === null || Array.isArray(sent))
    throw invalidParams('arguments must be an object.');
  const request = authInfo?.extra as Pick<McpRequest, 'call'> | undefined;
  if (!request) throw new Error('A call without a caller.');
  return request.call(sent as Arguments);
}

function invalidParams(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message);
}

function isCall(body: unknown): body is JSONRPCRequest {
  return (body as JSONRPCRequest | null)?.method === 'tools/call' && isJSONRPCRequest(body);
}

function isModernCall({ headers }: McpRequest, { method, params = {} }: JSONRPCRequest): boolean {
  const { _meta: meta = {}, name } = params;
  return (
    headers['mcp-protocol-version'] === MODERN &&
    headers['mcp-method'] === method &&
    headers['mcp-name'] === name &&
    meta[PROTOCOL_VERSION_META_KEY] === MODERN &&
    typeof meta[CLIENT_CAPABILITIES_META_KEY] === 'object'
  );
}

function isLegacyCall({ headers }: McpRequest, { params = {} }: JSONRPCRequest): boolean {
  const { accept = '', 'mcp-protocol-version': version } = headers;
  return (
    LEGACY.includes(String(version)) &&
    accept.includes('application/json') &&
    accept.includes('text/event-stream') &&
    !(PROTOCOL_VERSION_META_KEY in (params._meta ?? {}))
  );
}

/** The access token has been checked, and is not passed on. */
function authInfoOf({ call }: McpRequest): AuthInfo {
  return { token: '', clientId: '', scopes: [], extra: { call } };
}

function toJson(message: string): McpResponse {
  return { status: 200, headers: { 'content-type': 'application/json' }, body: message };
}

function toWebRequest({ headers }: McpRequest): Request {
  const names = ['accept', 'content-type', 'mcp-protocol-version', 'mcp-method', 'mcp-name'];
  const sent = names.flatMap((name) => (headers[name] === undefined ? [] : [[name, String(headers[name])]]));
  return new Request('http://localhost/mcp', { method: 'POST', headers: Object.fromEntries(sent) });
}

async function toResponse(response: Response): Promise<McpResponse> {
  return { status: response.status, headers: Object.fromEntries(response.headers), body: await response.text() };
}
