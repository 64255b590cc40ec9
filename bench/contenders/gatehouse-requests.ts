import { CHALLENGE, followToCode, getPage, nextState, VERIFIER } from '../browse.ts';
import { type RunningServer, readJson, type Tokens, UnexpectedResponse, type Visitor } from '../contender.ts';
import { get, type HttpClient, type HttpRequest, type HttpResponse, postJson } from '../http-client.ts';
import { REDIRECT_URI, SCOPE, type Seed } from '../seed.ts';

type ServerRequests = Omit<RunningServer, 'pid' | 'stop'>;

/** The requests to Gatehouse, and to the bare server, which has the same endpoints. */
export function gatehouseRequests(
  { app, users }: Seed,
  origins: readonly [api: string, ...others: string[]],
  resource?: string,
): ServerRequests {
  const [api] = origins;
  const credentials = { client_id: app.id, client_secret: app.secret };
  const post = (path: string, fields: object) => postJson(api, `/api/v1/oauth/${path}`, { ...fields, ...credentials });
  const userAt = (index: number) => users[index % users.length] ?? users[0];

  return {
    introspects: true,
    revokes: true,
    async signIn(_, index) {
      // The cookies of a known browser.
      const cookie = `__Host-session=${userAt(index)?.session}; __Host-visitor=visitor-${index}`;
      return { index, cookie };
    },
    async authorize(client: HttpClient, visitor: Visitor) {
      const state = nextState();
      const first = getPage(
        { ...visitor, cookie: '' },
        authorizeUrl(api, { client_id: app.id, state, ...(resource && { resource }) }),
      );
      return followToCode(client, visitor, first, { origins, redirectUri: REDIRECT_URI, state });
    },
    exchange: (code) =>
      post('token', { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI, code_verifier: VERIFIER }),
    refresh: (token) => post('token', { grant_type: 'refresh_token', refresh_token: token }),
    readTokens,
    call: (visitor, token) =>
      get(api, '/api/v1/accounting/invoices', {
        authorization: `Bearer ${token}`,
        'x-business-id': userAt(visitor.index)?.businessId ?? '',
      }),
    checkCall: (request, response, visitor) =>
      checkInvoices(request, response, readJson(request, response), userAt(visitor.index)?.invoiceIds ?? []),
    introspect: (token) => post('introspect', { token }),
    checkIntrospection: (request, response, isActive) => checkIntrospection(app.id, request, response, isActive),
    revoke: (token) => post('revoke', { token }),
    checkRevocation(request, response) {
      if (Object.keys(readJson(request, response)).length > 0) {
        throw new UnexpectedResponse('The body should be an empty object.', request, response);
      }
    },
  };
}

function authorizeUrl(api: string, request: Record<string, string>): URL {
  const query = {
    response_type: 'code',
    redirect_uri: REDIRECT_URI,
    scope: SCOPE,
    ...request,
    code_challenge: CHALLENGE,
    code_challenge_method: 'S256',
  };
  return new URL(`${api}/api/v1/oauth/authorize?${new URLSearchParams(query)}`);
}

function checkIntrospection(appId: string, request: HttpRequest, response: HttpResponse, isActive: boolean): void {
  const { active, scope, client_id } = readJson(request, response);
  const isExpected = active === isActive && (!isActive || (scope === SCOPE && client_id === appId));
  if (!isExpected) throw new UnexpectedResponse(`active should be ${isActive}.`, request, response);
}

function readTokens(request: HttpRequest, response: HttpResponse): Tokens {
  const { access_token, refresh_token, token_type, expires_in, scope } = readJson(request, response);
  const isExpected =
    access_token?.startsWith('gat_') &&
    refresh_token?.startsWith('grt_') &&
    token_type === 'bearer' &&
    expires_in === 3600 &&
    scope === SCOPE;
  if (!isExpected)
    throw new UnexpectedResponse('The body should be a pair of tokens with their scope.', request, response);
  return { access: access_token, refresh: refresh_token };
}

function checkInvoices(
  request: HttpRequest,
  response: HttpResponse,
  invoices: { id: string }[] | undefined,
  ids: string[],
): void {
  const isExpected =
    Array.isArray(invoices) && invoices.length === ids.length && ids.every((id, n) => invoices[n]?.id === id);
  if (!isExpected)
    throw new UnexpectedResponse(`The body should be the ${ids.length} invoices of the business.`, request, response);
}

/** The revisions of the Model Context Protocol that are measured. */
export type Revision = '2026-07-28' | '2025-11-25';

/** The same requests, with the same list of invoices read by a tool of the MCP server. */
export function mcpRequests(seed: Seed, origins: readonly [string, ...string[]], revision: Revision): ServerRequests {
  const [api] = origins;
  const message = toolCall(revision);
  return {
    ...gatehouseRequests(seed, origins, `${api}/mcp`),
    call: (_, token) => postJson(api, '/mcp', message.body, { ...message.headers, authorization: `Bearer ${token}` }),
    checkCall(request, response, { index }) {
      const { structuredContent } = readJson(request, response).result ?? {};
      const { invoiceIds = [] } = seed.users[index % seed.users.length] ?? {};
      checkInvoices(request, response, structuredContent?.items, invoiceIds);
    },
  };
}

function toolCall(revision: Revision) {
  const accept = 'application/json, text/event-stream';
  const headers: Record<string, string> = { accept, 'mcp-protocol-version': revision };
  const params = { name: 'list_invoices', arguments: {} };
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/call' };
  if (revision === '2025-11-25') return { headers, body: { ...body, params } };
  const meta = {
    'io.modelcontextprotocol/protocolVersion': revision,
    'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const named = { ...headers, 'mcp-method': body.method, 'mcp-name': params.name };
  return { headers: named, body: { ...body, params: { ...params, _meta: meta } } };
}
