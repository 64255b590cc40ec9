import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after } from 'node:test';
import type { TestServer } from './test-server.ts';

type Responder = (request: IncomingMessage, response: ServerResponse) => unknown;

/** The verifier and challenge of RFC 7636 appendix B. */
export const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
export const PKCE = {
  code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
  code_challenge_method: 'S256',
};

export const CALLBACK = 'https://assistant.example/callback';

/** Serves client metadata documents on this machine, and counts the requests. */
export async function startDocumentHost() {
  const host = { paths: [] as string[], responder: undefined as Responder | undefined };
  const server = createServer((request, response) => {
    host.paths.push(request.url ?? '');
    if (host.responder) host.responder(request, response);
    else sendDocument(response, describe(`${url}${request.url}`));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  let documents = 0;
  return {
    url,
    paths: host.paths,
    /** A client_id that is in no cache. */
    newClientId: () => `${url}/client-${++documents}.json`,
    /** With undefined, it serves valid documents again. */
    respondWith(next: Responder | undefined) {
      host.responder = next;
    },
    /** Serves the valid document with these fields changed. */
    change(fields: Record<string, unknown>, headers: Record<string, string> = {}) {
      host.responder = ({ url: path }, response) =>
        sendDocument(response, { ...describe(`${url}${path}`), ...fields }, headers);
    },
  };
}

export function describe(clientId: string) {
  return {
    client_id: clientId,
    client_name: 'Assistant',
    redirect_uris: [CALLBACK, 'http://127.0.0.1/callback', 'http://localhost/callback'],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  };
}

export function sendDocument(response: ServerResponse, fields: object, headers: Record<string, string> = {}): void {
  response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(fields));
}

/** The parameters of an authorize request for the MCP server, by a client that is not registered. */
export function externalRequest({ api }: TestServer, clientId: string) {
  return { client_id: clientId, redirect_uri: CALLBACK, resource: `${api}/mcp`, ...PKCE };
}

/** Counts the rows that an external client can cause. */
export async function countStored(server: TestServer): Promise<number> {
  const db = server.storage().durable;
  const apps = await db.selectFrom('apps').select('id').where('owner_scope', '=', 'external').execute();
  const grants = await db.selectFrom('grants').select('id').execute();
  const consents = await db.selectFrom('consents').select('app_id').execute();
  return apps.length + grants.length + consents.length;
}
