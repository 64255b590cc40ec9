import assert from 'node:assert/strict';
import { Agent, request } from 'node:https';
import type { PostgresServer } from '../../test/support/postgres-server.ts';
import type { Running } from './processes.ts';

export const API_HOST = 'api.example.com';
export const ACCOUNTS_HOST = 'accounts.example.com';
const CLIENTS = 4;
const TIMEOUT = 20_000;

interface Proxied {
  client: HttpsClient;
  nodes: Record<string, Running>;
  /** Starts a node again, and resolves when it is ready. */
  restart(name: string): Promise<unknown>;
  postgres: PostgresServer;
}

/** Checks nodes behind a proxy: both hosts, a restart of each node under load, and an outage of the database. */
export async function checkProxy({ client, nodes, restart, postgres }: Proxied): Promise<string> {
  const metadata = await client.get(API_HOST, '/.well-known/oauth-authorization-server');
  const page = await client.get(ACCOUNTS_HOST, '/sign-in');
  assert.equal(JSON.parse(metadata.body).issuer, `https://${API_HOST}`);
  assert.match(page.body, /<form/);
  const count = await restartUnderLoad(client, nodes, restart);
  await postgres.stop();
  await checkOutage(client);
  return `serve both hosts; both nodes were restarted during ${count} requests, of which none failed; without a database, apps get the 503 of a node`;
}

/** Stops and starts one node after the other while clients send requests. Returns the number of requests. */
async function restartUnderLoad(
  client: HttpsClient,
  nodes: Record<string, Running>,
  restart: (name: string) => Promise<unknown>,
): Promise<number> {
  let count = 0;
  let isDone = false;
  const send = async () => {
    for (; !isDone; count++) await client.requestToken();
  };
  const clients = Promise.all(Array.from({ length: CLIENTS }, send));
  const restarts = async () => {
    for (const [name, node] of Object.entries(nodes)) {
      assert.deepEqual(await node.stop(), [0, null]);
      await restart(name);
    }
  };
  try {
    // The first request that fails ends the check.
    await Promise.race([restarts(), clients]);
  } finally {
    isDone = true;
  }
  await clients;
  return count;
}

/** Long enough for the health checks of the proxy to notice. */
const CHECKS = 12_000;

async function checkOutage(client: HttpsClient): Promise<void> {
  const until = Date.now() + CHECKS;
  while (Date.now() < until) {
    const { status, body } = await client.sendToken();
    assert.equal(status, 503, body);
    assert.equal(JSON.parse(body).error, 'temporarily_unavailable', body);
  }
}

/** Requests to a proxy on this machine. */
export class HttpsClient {
  readonly #address: object;

  constructor({ port, ca }: { port: number; ca: Buffer }) {
    this.#address = { host: '127.0.0.1', port, ca, agent: new Agent({ keepAlive: true }) };
  }

  get(host: string, path: string) {
    return this.#send(host, { path });
  }

  /** Reads the database. Fails unless the response is the one to a client that does not exist. */
  async requestToken(): Promise<void> {
    const { status } = await this.sendToken();
    assert.equal(status, 401);
  }

  sendToken() {
    const body = new URLSearchParams({
      grant_type: 'refresh_token',
      refresh_token: 'x',
      client_id: '0190b9a1-6f2b-7a11-8f00-5d1c2b3a4f60',
      client_secret: 'x',
    });
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    return this.#send(API_HOST, { path: '/api/v1/oauth/token', method: 'POST', headers }, `${body}`);
  }

  #send(host: string, options: object, body?: string): Promise<{ status: number | undefined; body: string }> {
    return new Promise((resolve, reject) => {
      const sent = request({
        ...this.#address,
        servername: host,
        ...options,
        headers: { host, ...('headers' in options && (options.headers as object)) },
      });
      sent.setTimeout(TIMEOUT, () => sent.destroy(new Error(`No response within ${TIMEOUT} ms.`)));
      sent.on('error', reject);
      sent.on('response', async (response) => {
        const chunks = await response.toArray().catch(reject);
        resolve({ status: response.statusCode, body: Buffer.concat(chunks ?? []).toString() });
      });
      sent.end(body);
    });
  }
}
