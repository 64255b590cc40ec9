import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { after, suite, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import type { Storage } from '../../src/storage/storage.ts';
import { insertEndpoint } from '../../src/webhooks/endpoints.ts';
import type { ApiResponse, Client, Tokens } from '../support/client.ts';
import { databaseUrl, TEMPLATE } from '../support/databases.ts';
import { createTemplate, startPostgres } from '../support/postgres-server.ts';
import { grantIdIn } from '../support/rows.ts';
import { countUnavailable, hasOneWinner, repeatUnavailable } from '../support/unavailable.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';
import { createWorkersClient, startWorkers, type Workers } from '../support/workers.ts';

const COUNT = 4;
const REQUESTS = 50;
const ROUNDS = Number(process.env.TEST_ROUNDS ?? 2);
const WRONG_SECRETS = 20;
const [ENDPOINTS, GRANTS] = [5, 20];

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-workers-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const postgres = await startPostgres();
after(() => postgres.remove());
await createTemplate(postgres.url);
const ENGINES = [
  { engine: 'SQLite', url: `sqlite:${join(folder, 'gatehouse.db')}` },
  { engine: 'PostgreSQL', url: databaseUrl(postgres.url, TEMPLATE) },
];

const env = { LIMIT_WRONG_SECRETS: String(WRONG_SECRETS), WEBHOOKS_TO_LOOPBACK: 'yes' };
const started = await Promise.all(
  ENGINES.map(async ({ engine, url }) => {
    const workers = await startWorkers(COUNT, url, env);
    return { engine, workers, ...(await createWorkersClient(workers, url)) };
  }),
);

/** Sends the same request many times in parallel, each on its own connection, so that all workers receive some. */
const race = (times: number, send: () => Promise<ApiResponse>) =>
  Promise.all(Array.from({ length: times }, () => repeatUnavailable(send)));

const statuses = (responses: ApiResponse[]) => responses.map(({ status }) => status);
const count = (responses: ApiResponse[], status: number) =>
  statuses(responses).filter((each) => each === status).length;

/** The processes that handled these requests. Their log lines may come after the responses. */
async function listResponders({ responses }: Workers, sent: ApiResponse[]): Promise<Set<number>> {
  const ids = sent.map(({ headers }) => headers.get('x-request-id') ?? '');
  while (ids.some((id) => !responses.has(id))) await setTimeout(10);
  return new Set(ids.map((id) => responses.get(id) ?? 0));
}

/** Whether an event or a delivery is pending or in progress. */
async function hasPendingDeliveries({ durable }: Storage): Promise<boolean> {
  const events = durable.selectFrom('events').select('id').where('dispatched_at', 'is', null);
  const deliveries = durable.selectFrom('deliveries').select('id').where('due_at', 'is not', null);
  const claimed = durable.selectFrom('endpoints').select('id').where('claimed_until', '>', 0);
  const found = await Promise.all([events.execute(), deliveries.execute(), claimed.execute()]);
  return found.flat().length > 0;
}

// These run concurrently, since they mostly wait.
suite('workers', { concurrency: true }, () => {
  for (const { engine, workers, client, addApp, ada, ledger, storage, keys } of started) {
    suite(`on ${engine}`, { concurrency: 1 }, () => {
      const connect = async (): Promise<Tokens> => client.connect({}, await signedIn);
      const signedIn = client.signedIn(ada);

      test(`of ${REQUESTS} exchanges of one code by ${COUNT} workers on ${engine} exactly one wins [T12]`, async () => {
        for (let round = 0; round < ROUNDS; round++) {
          const code = await client.allow({}, await signedIn);

          const responses = await race(REQUESTS, () => client.exchange(code));

          assert.ok(hasOneWinner(responses), String(statuses(responses)));
          const rejected = responses.filter(({ body }) => body.error === 'invalid_grant');
          assert.equal(rejected.length, REQUESTS - count(responses, 200));
          assert.equal((await listResponders(workers, responses)).size, COUNT);
        }
      });

      test(`${REQUESTS} refreshes of one token by ${COUNT} workers on ${engine} give one pair [T15]`, async () => {
        let { refresh_token } = await connect();
        for (let round = 0; round < ROUNDS; round++) {
          const responses = await race(REQUESTS, () => client.refresh(refresh_token));

          assert.equal(count(responses, 200), REQUESTS, String(statuses(responses)));
          assert.equal(new Set(responses.map(({ body }) => `${body.access_token} ${body.refresh_token}`)).size, 1);
          refresh_token = responses[0]?.body.refresh_token;
        }
        assert.equal((await client.refresh(refresh_token)).status, 200);
      });

      test(`a token that one worker revoked is rejected by all ${COUNT} on ${engine} at the very next call`, async () => {
        let tokens = await connect();
        for (let round = 0; round < ROUNDS; round++) {
          const { access_token } = tokens;
          const before = await race(4 * COUNT, () => client.listInvoices(access_token));
          await client.revoke(access_token);

          const responses = await race(4 * COUNT, () => client.listInvoices(access_token));

          assert.equal(count(before, 200), before.length);
          assert.equal(count(responses, 401), responses.length, String(statuses(responses)));
          assert.equal((await listResponders(workers, responses)).size, COUNT);
          tokens = (await client.refresh(tokens.refresh_token)).body;
        }
      });

      test(`of 200 wrong secrets at once ${COUNT} workers on ${engine} check ${WRONG_SECRETS} and no more [T6]`, async () => {
        const { id: client_id } = await addApp({ name: 'Guessed' });

        const responses = await race(200, () => client.introspect('x', { client_id, client_secret: 'wrong' }));

        // A request that got a 503 may have been counted.
        const [checked, uncertain] = [count(responses, 401), countUnavailable(responses)];
        assert.ok(checked <= WRONG_SECRETS && checked >= WRONG_SECRETS - uncertain, `${checked}, ${uncertain}`);
        assert.equal(count(responses, 429), 200 - checked);
      });

      test(`with ${COUNT} workers on ${engine} each endpoint receives every event once [W7]`, async () => {
        const receiver = await startWebhookReceiver();
        const endpoints = Array.from({ length: ENDPOINTS }, (_, i) => `${receiver.url}/${i}`);
        for (const url of endpoints) {
          const endpoint = { appId: ledger.id, url, eventTypes: ['grant.created'] };
          await storage.transaction((db) => insertEndpoint(db, keys, endpoint, Date.now()));
        }
        const browser = await signedIn;
        const codes = await Promise.all(Array.from({ length: GRANTS }, () => client.allow({}, browser)));

        await receiver.waitFor(ENDPOINTS * GRANTS);
        while (await hasPendingDeliveries(storage)) await setTimeout(50);

        assert.equal(receiver.received.length, ENDPOINTS * GRANTS);
        for (const [path, deliveries] of Map.groupBy(receiver.received, ({ path }) => path)) {
          const grants = deliveries.map(({ event }) => event.data.grantId);
          assert.deepEqual(grants.toSorted(), codes.map(grantIdIn).sort(), path);
        }
      });

      test(`a worker killed under load on ${engine} loses no acknowledged write, and is replaced [T19]`, async () => {
        const load = createLoad(workers, client);
        const grants = [await connect(), await connect(), await connect(), await connect()];
        const running = grants.map((tokens) => load.refreshOn(tokens));
        const listing = load.listOn(grants[0] as Tokens);
        const [victim = 0] = workers.pids;
        const before = workers.pids.size;
        await load.waitForCompleted(50);
        process.kill(victim, 'SIGKILL');
        while (workers.pids.size === before) await setTimeout(20);
        await load.waitForCompleted(load.completed() + 50);
        load.stop();
        const newest = await Promise.all(running);
        await listing;

        for (const { refresh_token } of newest) assert.equal((await client.refresh(refresh_token)).status, 200);
        // The replacement opens its connections under load.
        assert.deepEqual(
          load.errorStatuses.filter((status) => status !== 503),
          [],
        );
        const lines = workers.stderrLines.filter((line) => line.startsWith(`Worker ${victim} `));
        assert.equal(lines.length, 1);
        // A worker that has run for a while is replaced without a delay.
        assert.match(lines[0] ?? '', /^Worker \d+ has exited: SIGKILL\. A replacement starts (now|in 0\.5 s)\.$/);
      });

      test(`SIGTERM under load on ${engine} lets every open request finish and exits with 0`, async () => {
        const load = createLoad(workers, client);
        const tokens = await connect();
        const running = [load.refreshOn(tokens), ...Array.from({ length: 8 }, () => load.listOn(tokens))];
        await load.waitForCompleted(100);
        workers.signal('SIGTERM');

        const code = await workers.end();
        load.stop();
        await Promise.all(running);

        assert.equal(code, 0);
        assert.deepEqual(load.errorStatuses, []);
        assert.deepEqual(load.broken, []);
        assert.equal(workers.hasExited(), true);
      });
    });
  }
});

/** Sends requests over keep-alive connections. A failed connection attempt is no error, and is repeated. */
function createLoad({ api }: Workers, { credentials }: Client) {
  const agent = new Agent({ keepAlive: true });
  const [errorStatuses, broken]: [number[], string[]] = [[], []];
  let completed = 0;
  let isOver = false;

  async function sendRequest(
    path: string,
    headers: Record<string, string>,
    body?: object,
  ): Promise<Tokens | undefined> {
    const sent = request(api + path, {
      agent,
      headers,
      method: body ? 'POST' : 'GET',
      signal: AbortSignal.timeout(60_000),
    });
    try {
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        sent
          .on('response', resolve)
          .on('error', reject)
          .end(body && JSON.stringify(body));
      });
      const read = (await json(response)) as Tokens;
      completed += 1;
      if (response.statusCode === 200) return read;
      errorStatuses.push(response.statusCode ?? 0);
    } catch (error) {
      if (sent.reusedSocket) broken.push(String(error));
      await setTimeout(20);
    }
    return undefined;
  }

  return {
    errorStatuses,
    /** The errors of requests on established connections. */
    broken,
    completed: () => completed,
    stop() {
      isOver = true;
      agent.destroy();
    },
    async waitForCompleted(minimum: number) {
      while (completed < minimum) await setTimeout(10);
    },
    async listOn({ access_token }: Tokens): Promise<void> {
      const headers = { authorization: `Bearer ${access_token}` };
      while (!isOver) await sendRequest('/api/v1/businesses', headers);
    },
    /** Refreshes with the newest token until the load stops, and repeats a request that gets no response. Returns the newest pair. */
    async refreshOn(tokens: Tokens): Promise<Tokens> {
      let newest = tokens;
      const headers = { 'content-type': 'application/json' };
      while (!isOver) {
        const body = { grant_type: 'refresh_token', refresh_token: newest.refresh_token, ...credentials };
        newest = (await sendRequest('/api/v1/oauth/token', headers, body)) ?? newest;
      }
      return newest;
    },
  };
}
