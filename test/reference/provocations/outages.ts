import { Agent, get, type IncomingMessage } from 'node:http';
import { DatabaseSync } from 'node:sqlite';
import { json } from 'node:stream/consumers';
import { sql } from 'kysely';
import { startServer } from '../../../src/server.ts';
import type { Answer } from '../../support/client.ts';
import { freePort } from '../../support/ports.ts';
import type { World } from '../../support/world.ts';
import { askEvents } from './events.ts';
import { once, type Provocation, provocationsOf, send } from './provocation.ts';

/** Under these an app has used up its share once it is connected, and a grant after one call. */
export const SCARCE = { LIMIT_PER_APP: '1', LIMIT_PER_GRANT: '1' };

type Ask = () => Promise<Answer>;

/** Every operation that asks the database, asked rightly, in a world that is scarce. */
function rightRequests(world: World) {
  const tokens = once(async () => {
    const connected = await world.connect();
    await world.listInvoices(connected.access_token);
    return connected;
  });
  const counted: Record<string, Ask> = {
    token: async () => world.refresh((await tokens()).refresh_token),
    revoke: async () => world.revoke((await tokens()).access_token),
    introspect: async () => world.introspect((await tokens()).access_token),
    me: async () => world.get('/api/v1/me', { authorization: `Bearer ${(await tokens()).access_token}` }),
    listBusinesses: async () =>
      world.get('/api/v1/businesses', { authorization: `Bearer ${(await tokens()).access_token}` }),
    listInvoices: async () => world.listInvoices((await tokens()).access_token),
    listEvents: async () => {
      await tokens();
      return askEvents(world);
    },
  };
  return {
    tokens,
    counted,
    stored: { ...counted, authorize: () => send(world.authorizeUrl()) } as Record<string, Ask>,
  };
}

/** Of a world whose limits are used up at once. */
export function limitProvocations(world: World): Provocation[] {
  return each(rightRequests(world).counted, 429, 'too_many_requests', 'one request too many', (ask) => ask);
}

function each(asks: Record<string, Ask>, status: number, reason: string, to: string, around: (ask: Ask) => Ask) {
  return Object.entries(asks).flatMap(([name, ask]) =>
    // The authorize endpoint is opened by a person, and shows a page.
    provocationsOf(name, [[status, name === 'authorize' ? 'page' : reason, to, around(ask)]]),
  );
}

/** In this order: the last ones close the database for good. */
export function outageProvocations(world: World): Provocation[] {
  const { tokens, stored } = rightRequests(world);
  const checked = { ...stored, readyz: () => world.get('/readyz') };
  const lock = (ask: Ask) => async () => {
    await tokens();
    // A server that has just started: after 128 commits a second connection checkpoints the database.
    await world.restart();
    return whileLocked(world, ask);
  };
  const close = (ask: Ask) => async () => {
    await world.storage().close();
    return ask();
  };
  return [
    ...each(checked, 503, 'temporarily_unavailable', 'a request while the database is locked', lock),
    ...each(checked, 500, 'server_error', 'a request when the database has been closed', close),
  ];
}

/** Another process has locked the file. It cannot in WAL mode, nor can the mode be changed while another connection is open. */
async function whileLocked(world: World, ask: Ask): Promise<Answer> {
  const { durable } = world.storage();
  await sql`pragma busy_timeout = 0`.execute(durable);
  await sql`pragma journal_mode = delete`.execute(durable);
  const file = new DatabaseSync(world.settings.databaseUrl.slice('sqlite:'.length));
  file.exec('begin exclusive');
  try {
    return await ask();
  } finally {
    file.exec('rollback');
    file.close();
  }
}

/** A node that is about to stop answers on connections that it has, and sends whoever asks elsewhere. */
export function drainingProvocations(world: World): Provocation[] {
  const provoke = async () => {
    const [port, webPort] = [await freePort(), await freePort()];
    const at = (free: number) => ({ host: '127.0.0.1', port: free });
    const own = { databaseUrl: 'sqlite::memory:', listen: at(port), consentListen: at(webPort) };
    const node = await startServer({ ...world.settings, ...own }, world.clock);
    const kept = new Agent({ keepAlive: true, maxSockets: 1 });
    await askOver(kept, `http://127.0.0.1:${port}/readyz`);
    const closing = node.close(5000);
    const answer = await askOver(kept, `http://127.0.0.1:${port}/readyz`);
    await closing;
    return answer;
  };
  return provocationsOf('readyz', [
    [503, 'temporarily_unavailable', 'a question while the node is about to stop', provoke],
  ]);
}

/** `fetch` would not say which of its connections it takes. */
async function askOver(agent: Agent, url: string): Promise<Answer> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(url, { agent }, resolve).on('error', reject);
  });
  const headers = new Headers(response.headers as Record<string, string>);
  return { status: response.statusCode ?? 0, headers, body: await json(response) };
}
