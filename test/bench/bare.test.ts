import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { RunningServer } from '../../bench/contender.ts';
import { gatehouseRequests } from '../../bench/contenders/gatehouse-requests.ts';
import { createHttpClient, type HttpClient, type HttpRequest } from '../../bench/http-client.ts';
import { startBare } from '../../bench/peers/bare.ts';
import { SECRET_KEY, type Seed, seed } from '../../bench/seed.ts';
import { readSettings } from '../../src/config/settings.ts';
import { startServer } from '../../src/server.ts';
import { freePort } from '../support/ports.ts';
import { recordSql } from './recorded-sql.ts';

const STEPS = ['authorize', 'exchange', 'refresh', 'call', 'introspect', 'revoke'] as const;
type Recorded = Record<(typeof STEPS)[number], string[]>;
type ServerRequests = ReturnType<typeof gatehouseRequests>;

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-test-'));
after(() => rmSync(folder, { recursive: true, force: true }));

let [gatehouse, bare]: Partial<Recorded>[] = [{}, {}];
before(async () => {
  gatehouse = await recordGatehouse();
  bare = await recordBare();
});

for (const step of STEPS) {
  test(`the bare server sends the same SQL as Gatehouse: ${step}`, () => {
    assert.ok((gatehouse?.[step]?.length ?? 0) > 0);
    assert.deepEqual(bare?.[step], gatehouse?.[step]);
  });
}

async function recordGatehouse(): Promise<Recorded> {
  const url = `sqlite:${join(folder, 'gatehouse.db')}`;
  const seeded = await seed(url, 1);
  const [api, web] = [`http://127.0.0.1:${await freePort()}`, `http://127.0.0.1:${await freePort()}`];
  const settings = { BASE_URL: api, CONSENT_URL: web, DATABASE_URL: url, SECRET_KEYS: SECRET_KEY, LOG_LEVEL: 'silent' };
  const server = await startServer(readSettings(settings));
  return recordSteps(seeded, [api, web]).finally(() => server.close());
}

async function recordBare(): Promise<Recorded> {
  const file = join(folder, 'bare.db');
  const seeded = await seed(`sqlite:${file}`, 1);
  const port = await freePort();
  const server = await startBare({ file, port, secretKey: SECRET_KEY });
  return recordSteps(seeded, [`http://127.0.0.1:${port}`]).finally(() => server.close());
}

/** Records the second round: the uses of secrets and sessions, which are written once a minute, are written by then. */
async function recordSteps(seeded: Seed, origins: [string, ...string[]]): Promise<Recorded> {
  const requests = gatehouseRequests(seeded, origins);
  const client = createHttpClient();
  try {
    await recordRound(requests, client);
    return await recordRound(requests, client);
  } finally {
    client.close();
  }
}

async function recordRound(requests: ServerRequests, client: HttpClient): Promise<Recorded> {
  const recorded: Partial<Recorded> = {};
  const step = async <Result>(name: keyof Recorded, work: () => Promise<Result>): Promise<Result> => {
    let result: Result | undefined;
    recorded[name] = await recordSql(async () => {
      result = await work();
    });
    return result as Result;
  };
  const send = async (request: HttpRequest, check: (response: Awaited<ReturnType<HttpClient['ask']>>) => unknown) =>
    check(await client.ask(request));

  const visitor = await (requests as RunningServer).signIn(client, 0);
  const code = await step('authorize', () => requests.authorize(client, visitor));
  const redeem = async (request: HttpRequest) => requests.readTokens(request, await client.ask(request));
  const first = await step('exchange', () => redeem(requests.exchange(code)));
  const tokens = await step('refresh', () => redeem(requests.refresh(first.refresh)));
  const call = requests.call(visitor, tokens.access);
  await step('call', () => send(call, (response) => requests.checkCall(call, response, visitor)));
  const introspect = requests.introspect(tokens.access);
  await step('introspect', () =>
    send(introspect, (response) => requests.checkIntrospection(introspect, response, true)),
  );
  const revoke = requests.revoke(tokens.refresh);
  await step('revoke', () => send(revoke, (response) => requests.checkRevocation(revoke, response)));
  return recorded as Recorded;
}
