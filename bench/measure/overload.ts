// `npx node bench/measure/overload.ts [--seconds 60]`: how a server behaves under overload. Measures its peak throughput in a
// closed loop; then sends twice as many requests in an open loop; then measures the time to recover, and refreshes during 500
// simultaneous sign-ins. The server is its own process on SQLite; the load generator runs on the same machine.
import { parseArgs } from 'node:util';
import { type Connection, createConnection, type Response } from './overload-connection.ts';
import { type MeasuredServer, startMeasuredServer } from './overload-server.ts';

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '60' } } });
const OVERLOAD = Number(values.seconds) * 1000;
const MAX_CONNECTIONS = 2000;
const GRANTS = 50;

const server = await startMeasuredServer(GRANTS);
const before = server.memory();
let peak = 0;
for (const connections of [8, 64, 256]) {
  const { rate, summary } = await runClosedLoop(connections, 5000);
  console.log(`Closed loop, ${connections} connections: ${summary}`);
  peak = Math.max(peak, rate);
}
console.log(
  `Peak: ${Math.round(peak)} requests per second; memory ${Math.round(before)} MB before, ${Math.round(server.memory())} MB now.`,
);
await runOpenLoop(2 * peak, OVERLOAD);
await measureRecovery();
await measureSignIns();
await server.stop();

function missingToken(): never {
  throw new Error('Every grant must have tokens.');
}

interface Call {
  status: number;
  took: number;
}

/** Every second client refreshes a grant of its own; the others list invoices. */
function createRequester(index: number): { next(): string; receive(response: Response): void } {
  const { ports, businessId, credentials, tokens } = server;
  // A refresh token is valid once, so each connection that refreshes has its own grant.
  const isWriter = index < GRANTS && index % 2 === 0;
  const own = tokens[isWriter ? index : (2 * index + 1) % GRANTS] ?? missingToken();
  const head = (method: string, path: string) => `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1:${ports.api}\r\n`;
  return {
    next() {
      if (!isWriter) {
        const lines = `Authorization: Bearer ${own.access_token}\r\nx-business-id: ${businessId}\r\n\r\n`;
        return head('GET', '/api/v1/accounting/invoices') + lines;
      }
      const body = JSON.stringify({ grant_type: 'refresh_token', refresh_token: own.refresh_token, ...credentials });
      const lines = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
      return head('POST', '/api/v1/oauth/token') + lines + body;
    },
    receive({ status, body }) {
      if (isWriter && status === 200) own.refresh_token = JSON.parse(body).refresh_token;
    },
  };
}

interface Client {
  connection: Connection;
  requester: ReturnType<typeof createRequester>;
}

function openClient(index: number): Client {
  return { connection: createConnection(server.ports.api), requester: createRequester(index) };
}

async function callOnce({ connection, requester }: Client, calls: Call[]): Promise<void> {
  const startedAt = performance.now();
  const response = await connection.send(requester.next());
  requester.receive(response);
  calls.push({ status: response.status, took: performance.now() - startedAt });
}

async function runClosedLoop(connections: number, duration: number): Promise<{ rate: number; summary: string }> {
  const calls: Call[] = [];
  const startedAt = performance.now();
  const clients = Array.from({ length: connections }, (_, index) => openClient(index));
  await Promise.all(
    clients.map(async (client) => {
      while (performance.now() - startedAt < duration) await callOnce(client, calls);
      client.connection.close();
    }),
  );
  return {
    rate: calls.length / ((performance.now() - startedAt) / 1000),
    summary: describe(calls, performance.now() - startedAt),
  };
}

/** Over open connections, like those of a proxy. A request for which no connection is free is not sent. */
async function runOpenLoop(rate: number, duration: number): Promise<void> {
  const calls: Call[] = [];
  const free = await openClients(MAX_CONNECTIONS);
  let [due, unsent, most] = [0, 0, 0];
  const startedAt = performance.now();
  const probes = probeHealth(duration);
  while (performance.now() - startedAt < duration) {
    const more = Math.floor((rate * (performance.now() - startedAt)) / 1000) - due;
    due += more;
    const clients = free.splice(0, more);
    unsent += more - clients.length;
    for (const client of clients) callOnce(client, calls).then(() => free.push(client));
    most = Math.max(most, server.memory());
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  console.log(`Twice the peak for ${duration / 1000} s: ${describe(calls, duration)}; ${unsent} were not sent.`);
  console.log(`  most memory ${Math.round(most)} MB; /healthz over new connections: ${describe(await probes, 0)}`);
  for (const { connection } of free) connection.close();
}

/** Opens the connections one after the other, each with a first request. */
async function openClients(count: number): Promise<Client[]> {
  const clients = Array.from({ length: count }, (_, index) => openClient(index));
  for (const client of clients) await callOnce(client, []);
  return clients;
}

async function probeHealth(duration: number): Promise<Call[]> {
  const calls: Call[] = [];
  for (const startedAt = performance.now(); performance.now() - startedAt < duration; ) {
    const [connection, sentAt] = [createConnection(server.ports.api), performance.now()];
    const { status } = await connection.send('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n');
    calls.push({ status, took: performance.now() - sentAt });
    connection.close();
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  return calls;
}

/** Until five responses in a row take less than 50 ms. */
async function measureRecovery(): Promise<void> {
  const client = openClient(1);
  const startedAt = performance.now();
  for (let inRow = 0; inRow < 5; ) {
    const calls: Call[] = [];
    await callOnce(client, calls);
    inRow = calls.every(({ status, took }) => status === 200 && took < 50) ? inRow + 1 : 0;
  }
  client.connection.close();
  const took = performance.now() - startedAt;
  console.log(`Recovered after ${Math.round(took)} ms; memory ${Math.round(server.memory())} MB.`);
}

async function measureSignIns(): Promise<void> {
  const client = openClient(0);
  const quiet: Call[] = [];
  for (let i = 0; i < 200; i++) await callOnce(client, quiet);
  const [busy, signIns] = [[] as Call[], signInAtOnce(server, 500)];
  let isOver = false;
  const over = signIns.then((statuses) => {
    isOver = true;
    return statuses;
  });
  while (!isOver) await callOnce(client, busy);
  const statuses = (await over).map((status) => ({ status, took: 0 }));
  client.connection.close();
  console.log(`Refreshes, one after the other: ${describe(quiet, 0)}`);
  console.log(`  during 500 sign-ins at once:  ${describe(busy, 0)}`);
  console.log(`  statuses of the sign-ins:     ${countStatuses(statuses)}`);
}

async function signInAtOnce({ browse }: MeasuredServer, count: number): Promise<number[]> {
  const browser = browse();
  const csrf = await browser.csrf();
  const signIn = async (_: unknown, index: number) =>
    (await browser.post('/sign-in', { csrf, email: `${index}@example.com`, password: 'wrong password' })).status;
  return Promise.all(Array.from({ length: count }, signIn));
}

function describe(calls: Call[], duration: number): string {
  const served = calls.filter(({ status }) => status === 200).map(({ took }) => took);
  const rejected = calls.filter(({ status }) => status !== 200).map(({ took }) => took);
  const rate = duration > 0 ? `${Math.round(served.length / (duration / 1000))} × 200 per second; ` : '';
  return `${rate}${countStatuses(calls)}; latency of 200: ${spread(served)}, of others: ${spread(rejected)}`;
}

function countStatuses(calls: Call[]): string {
  const counts = Map.groupBy(calls, ({ status }) => status);
  return [...counts].map(([status, list]) => `${list.length} × ${status}`).join(', ');
}

function spread(times: number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => Math.round(sorted[Math.floor(share * (sorted.length - 1))] ?? 0);
  return sorted.length === 0 ? 'none' : `${at(0.5)}/${at(0.99)}/${at(1)} ms (median, 99 %, longest)`;
}
