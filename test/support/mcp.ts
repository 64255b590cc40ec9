import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { Business } from '../../src/accounts/businesses.ts';
import type { User } from '../../src/accounts/users.ts';
import { SCOPES } from './scopes.ts';
import { scanResponse } from './secret-scanner.ts';
import type { TestServer } from './test-server.ts';

export type Revision = '2026-07-28' | '2025-11-25';
export const REVISIONS: Revision[] = ['2026-07-28', '2025-11-25'];

/** The official client, connected with a token. */
export async function connectAgent(
  url: string,
  token: string,
  revision: Revision = '2026-07-28',
  fetcher: typeof fetch = fetch,
): Promise<Client> {
  const versionNegotiation = { mode: revision === '2026-07-28' ? 'auto' : 'legacy' } as const;
  const client = new Client({ name: 'agent', version: '1.0.0' }, { versionNegotiation });
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
    fetch: fetcher,
  });
  await client.connect(transport);
  return client;
}

/** The HTTP headers and JSON-RPC body of a message in one revision of the specification. */
export function messageOf(
  revision: Revision,
  method: string,
  params: Record<string, unknown> = {},
): { headers: Record<string, string>; body: object } {
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': revision,
  };
  if (revision === '2025-11-25') return { headers, body: { jsonrpc: '2.0', id: 1, method, params } };
  if (typeof params.name === 'string') headers['mcp-name'] = params.name;
  const meta = {
    'io.modelcontextprotocol/protocolVersion': revision,
    'io.modelcontextprotocol/clientInfo': { name: 'agent', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const body = { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } };
  return { headers: { ...headers, 'mcp-method': method }, body };
}

interface OutgoingMessage {
  url: string;
  token?: string | undefined;
  headers?: Record<string, string>;
  body: unknown;
}

export async function postMessage({ url, token, headers = {}, body }: OutgoingMessage) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { ...headers, ...(token !== undefined && { authorization: `Bearer ${token}` }) },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const text = await response.text();
  scanResponse({ method: 'POST', url, status: response.status, headers: response.headers, text });
  const isJson = response.headers.get('content-type')?.includes('json');
  return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined };
}

/** Calls a tool with one HTTP request. */
export async function callTool(
  { url, token, revision = '2026-07-28' }: { url: string; token?: string | undefined; revision?: Revision },
  name: string,
  args: Record<string, unknown> = {},
) {
  const response = await postMessage({ url, token, ...messageOf(revision, 'tools/call', { name, arguments: args }) });
  return { ...response, result: response.body?.result, error: response.body?.error };
}

/** An access token of a new app for a resource: `/mcp` or a path below it. */
export async function connectTo(
  server: TestServer,
  resource: string,
  { user, business, scopes = SCOPES }: { user?: User; business?: Business; scopes?: string[] } = {},
): Promise<string> {
  const app = await server.addApp({ name: 'Agent', ownerBusinessId: (business ?? server.acme).id, scopes: SCOPES });
  const request = { client_id: app.id, scope: scopes.join(' '), resource: server.api + resource };
  const code = await server.allow(request, await server.signedIn(user ?? server.ada));
  const { body } = await server.exchange(code, { client_id: app.id, client_secret: app.secret });
  return body.access_token;
}
