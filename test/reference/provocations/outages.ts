import { Agent, get, type IncomingMessage } from 'node:http';
import { DatabaseSync } from 'node:sqlite';
import { json } from 'node:stream/consumers';
import { sql } from 'kysely';
import { startServer } from '../../../src/server.ts';
import type { ApiResponse } from '../../support/client.ts';
import { once } from '../../support/once.ts';
import { freePort } from '../../support/ports.ts';
import type { TestServer } from '../../support/test-server.ts';
import { askEvents } from './events.ts';
import { type Provocation, provocationsOf, send } from './provocation.ts';

/** With these limits an app reaches its limit once it is connected, and a grant after one call. */
export const SCARCE = { LIMIT_PER_APP: '1', LIMIT_PER_GRANT: '1', LIMIT_EXTERNAL_CLIENTS: '1' };

type Send = () => Promise<ApiResponse>;

/** A valid request to every operation that queries the database, on a server started with `SCARCE`. */
function rightRequests(server: TestServer) {
  const credentials = { client_id: server.ledger.id, client_secret: server.ledger.secret };
  const tokens = once(async () => {
    const connected = await server.connect();
    await server.listInvoices(connected.access_token);
    return connected;
  });
  const counted: Record<string, Send> = {
    token: async () => server.refresh((await tokens()).refresh_token),
    // Requests without the secret have their own counter.
    revoke: async () => server.revoke((await tokens()).access_token, credentials),
    introspect: async () => server.introspect((await tokens()).access_token),
    me: async () => server.get('/api/v1/me', { authorization: `Bearer ${(await tokens()).access_token}` }),
    listBusinesses: async () =>
      server.get('/api/v1/businesses', { authorization: `Bearer ${(await tokens()).access_token}` }),
    listInvoices: async () => server.listInvoices((await tokens()).access_token),
    listEvents: async () => {
      await tokens();
      return askEvents(server);
    },
  };
  return {
    tokens,
    counted,
    stored: { ...counted, authorize: () => send(server.authorizeUrl()) } as Record<string, Send>,
  };
}

/** For a server started with `SCARCE`. */
export function limitProvocations(server: TestServer): Provocation[] {
  const fetchDocument = () => send(server.authorizeUrl({ client_id: 'https://127.0.0.1/client.json' }));
  const requests = {
    ...rightRequests(server).counted,
    async authorize() {
      await fetchDocument();
      return fetchDocument();
    },
  };
  return each(requests, 429, 'too_many_requests', 'one request too many', (send) => send);
}

function each(
  requests: Record<string, Send>,
  status: number,
  reason: string,
  to: string,
  around: (send: Send) => Send,
) {
  return Object.entries(requests).flatMap(([name, send]) =>
    // The authorize endpoint is opened by a person, and shows a page.
    provocationsOf(name, [[status, name === 'authorize' ? 'page' : reason, to, around(send)]]),
  );
}

/** In this order: the last ones close the database. */
export function outageProvocations(server: TestServer): Provocation[] {
  const { tokens, stored } = rightRequests(server);
  const checked = { ...stored, readyz: () => server.get('/readyz') };
  const lock = (send: Send) => async () => {
    await tokens();
    // A server that has just started: after 128 commits a second connection checkpoints the database.
    await server.restart();
    return whileLocked(server, send);
  };
  const close = (send: Send) => async () => {
    await server.storage().close();
    return send();
  };
  return [
    ...each(checked, 503, 'temporarily_unavailable', 'a request while the database is locked', lock),
    ...each(checked, 500, 'server_error', 'a request when the database has been closed', close),
  ];
}

/** Another process has locked the file. It cannot in WAL mode, nor can the mode be changed while another connection is open. */
async function whileLocked(server: TestServer, send: Send): Promise<ApiResponse> {
  const { durable } = server.storage();
  await sql`pragma busy_timeout = 0`.execute(durable);
  await sql`pragma journal_mode = delete`.execute(durable);
  const file = new DatabaseSync(server.settings.databaseUrl.slice('sqlite:'.length));
  file.exec('begin exclusive');
  try {
    return await send();
  } finally {
    file.exec('rollback');
    file.close();
  }
}

/** A node that is shutting down still responds on open connections, with 503. */
export function drainingProvocations(server: TestServer): Provocation[] {
  const provoke = async () => {
    const [port, webPort] = [await freePort(), await freePort()];
    const at = (free: number) => ({ host: '127.0.0.1', port: free });
    const own = { databaseUrl: 'sqlite::memory:', listen: at(port), consentListen: at(webPort) };
    const node = await startServer({ ...server.settings, ...own }, server.clock);
    const kept = new Agent({ keepAlive: true, maxSockets: 1 });
    await sendOver(kept, `http://127.0.0.1:${port}/readyz`);
    const closing = node.close(5000);
    const response = await sendOver(kept, `http://127.0.0.1:${port}/readyz`);
    await closing;
    return response;
  };
  return provocationsOf('readyz', [
    [503, 'temporarily_unavailable', 'a question while the node is about to stop', provoke],
  ]);
}

/** `fetch` does not let a test choose the connection. */
async function sendOver(agent: Agent, url: string): Promise<ApiResponse> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(url, { agent }, resolve).on('error', reject);
  });
  const headers = new Headers(response.headers as Record<string, string>);
  return { status: response.statusCode ?? 0, headers, body: await json(response) };
}
