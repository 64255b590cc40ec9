import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createKeyring } from '../../src/lib/keyring.ts';
import { openBareDatabase } from './bare-database.ts';
import {
  allow,
  authorize,
  type Bare,
  exchange,
  type Fields,
  introspect,
  listInvoices,
  Rejected,
  refresh,
  revoke,
} from './bare-work.ts';

interface BareOptions {
  file: string;
  port: number;
  secretKey: string;
}

/**
 * The upper limit: Node's HTTP server, the statements that Gatehouse executes and the MACs that it checks, and nothing
 * else. No framework, schemas, rate limits, request log or request ids.
 */
export function startBare({ file, port, secretKey }: BareOptions): Promise<{ close(): Promise<void> }> {
  const bare: Bare = { db: openBareDatabase(file), keys: createKeyring([secretKey]) };
  const issuer = `http://127.0.0.1:${port}`;
  const server = createServer((request, response) => {
    if (request.method === 'GET') {
      respondToGet(bare, request, response, issuer);
      return;
    }
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => reply(bare, response, () => respondToPost(bare, request, JSON.parse(body), issuer)));
  });
  const close = () => {
    server.close();
    server.closeAllConnections();
    return bare.db.close();
  };
  return new Promise((resolve) => server.listen(port, '127.0.0.1', () => resolve({ close })));
}

function respondToGet(bare: Bare, request: IncomingMessage, response: ServerResponse, issuer: string): void {
  const { url = '', headers } = request;
  const query = url.slice(url.indexOf('?') + 1);
  const address = request.socket.remoteAddress ?? '';
  if (url.startsWith('/api/v1/accounting/invoices')) {
    reply(bare, response, () => listInvoices(bare, headers.authorization ?? '', Date.now()));
  } else if (url.startsWith('/api/v1/oauth/authorize')) {
    redirect(bare, response, authorize(bare, query, Date.now()));
  } else if (url.startsWith('/consent')) {
    redirect(bare, response, allow(bare, query, readCookies(headers.cookie ?? ''), { address, issuer }, Date.now()));
  } else reply(bare, response, () => ({ status: 'ok' }));
}

function respondToPost(bare: Bare, { url, socket }: IncomingMessage, fields: Fields, issuer: string): object {
  const now = Date.now();
  if (url === '/api/v1/oauth/introspect') return introspect(bare, fields, issuer, now);
  if (url === '/api/v1/oauth/revoke') return revoke(bare, fields, socket.remoteAddress ?? '', now);
  return fields.grant_type === 'refresh_token' ? refresh(bare, fields, now) : exchange(bare, fields, now);
}

function readCookies(header: string): Fields {
  return Object.fromEntries(header.split('; ').map((pair) => pair.split('=', 2)));
}

function redirect({ db }: Bare, response: ServerResponse, location: string): void {
  db.onceCommitted(() => response.writeHead(303, { location, 'content-length': 0 }).end());
}

function reply({ db }: Bare, response: ServerResponse, work: () => object): void {
  let [status, text] = [200, ''];
  try {
    text = JSON.stringify(work());
  } catch (error) {
    if (!(error instanceof Rejected)) throw error;
    status = 400;
  }
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
  db.onceCommitted(() => response.writeHead(status, headers).end(text));
}

if (import.meta.main) {
  const { BARE_FILE: file = '', BARE_PORT: port = '', BARE_KEY: secretKey = '' } = process.env;
  await startBare({ file, port: Number(port), secretKey });
}
