import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { sql } from 'kysely';
import pg from 'pg';
import { openStorage } from '../../src/storage/open.ts';
import type { ApiResponse, Client } from '../support/client.ts';
import { databaseUrl, runAsAdmin, TEMPLATE } from '../support/databases.ts';
import { startNodes } from '../support/nodes.ts';
import { createTemplate, startPostgres } from '../support/postgres-server.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';

const MOST_CONNECTIONS = 40;
const postgres = await startPostgres([`max_connections=${MOST_CONNECTIONS}`, 'superuser_reserved_connections=0']);
after(() => postgres.remove());
await createTemplate(postgres.url);
const wire = await startTcpProxy(postgres.port);
const direct = databaseUrl(postgres.url, TEMPLATE);
const { clients } = await startNodes(1, direct.replace(`:${postgres.port}/`, `:${wire.port}/`));
const storage = await openStorage(direct);
after(() => storage.close());
const [client] = clients as [Client];
const browser = await client.signedIn();
const grants = async () => (await storage.durable.selectFrom('grants').selectAll().orderBy('id').execute()).length;

function assertUnavailable(response: ApiResponse): void {
  assert.equal(response.status, 503, JSON.stringify(response.body));
  assert.ok(Number(response.headers.get('retry-after')) > 0);
  assert.equal(response.body.error, 'temporarily_unavailable');
}

async function untilReady(): Promise<void> {
  while ((await client.get('/readyz')).status !== 200) await setTimeout(50);
}

/** Whether a write through the node is there for everyone else: no connection came back with something left open. */
async function assertKept(access_token: string): Promise<void> {
  const before = (await storage.durable.selectFrom('revoked_access_tokens').selectAll().execute()).length;
  assert.equal((await client.revoke(access_token)).status, 200);
  assert.equal((await storage.durable.selectFrom('revoked_access_tokens').selectAll().execute()).length, before + 1);
}

const TROUBLES: [what: string, begin: () => Promise<void>, end: () => Promise<void>][] = [
  ['is cut off', async () => wire.cut(), async () => wire.restore()],
  ['is too slow to answer', async () => wire.stall(), async () => wire.restore()],
  ['answers far too late', async () => wire.stall(), async () => wire.resume()],
  ['is paused', () => signalPostgres('SIGSTOP'), () => signalPostgres('SIGCONT')],
  ['is restarted', () => postgres.stop(), () => postgres.start([`max_connections=${MOST_CONNECTIONS}`])],
  ['was killed', () => postgres.stop('SIGKILL'), () => postgres.start([`max_connections=${MOST_CONNECTIONS}`])],
];

/** Everything that belongs to the server: each of its processes is in a group of its own. */
let paused: number[] = [];
async function signalPostgres(signal: 'SIGSTOP' | 'SIGCONT'): Promise<void> {
  if (signal === 'SIGSTOP') {
    const { rows } = await sql<{ pid: number }>`select pid from pg_stat_activity`.execute(storage.durable);
    const [postmaster = ''] = readFileSync(join(postgres.folder, 'data', 'postmaster.pid'), 'utf8').split('\n');
    paused = [Number(postmaster), ...rows.map(({ pid }) => pid)];
  }
  for (const pid of paused) process.kill(pid, signal);
}
after(() => signalPostgres('SIGCONT').catch(() => {}));

for (const [what, begin, end] of TROUBLES) {
  test(`while the database ${what}, every response is a 503 that leaves no partial state, and everything works afterwards`, {
    timeout: 180_000,
  }, async () => {
    const { access_token, refresh_token } = await client.connect({}, browser);
    const code = await client.allow({}, browser);
    const page = await browser.open('/settings/account');

    await begin();
    // Twice as many as there are connections: whoever has to wait is told so, and no queue builds up.
    const asked = Array.from({ length: 10 }, () => [
      client.refresh(refresh_token),
      client.exchange(code),
      client.revoke(access_token),
      client.listInvoices(access_token),
    ]).flat();
    const responses = await Promise.all(asked);
    const [ready, alive, pageAnswer] = await Promise.all([
      client.get('/readyz'),
      client.get('/healthz'),
      browser.open('/settings/account'),
    ]);
    await end();
    await untilReady();

    responses.forEach(assertUnavailable);
    assert.equal(ready.status, 503);
    assert.equal(alive.status, 200);
    assert.equal(page.status, 200);
    assert.equal(pageAnswer.status, 503);
    assert.equal((await client.listInvoices(access_token)).status, 200);
    assert.equal((await client.refresh(refresh_token)).status, 200);
    assert.equal((await client.exchange(code)).status, 200);
    await assertKept((await client.connect({}, browser)).access_token);
  });
}

test('while the database accepts no connection, responses are 503, and everything works afterwards', {
  timeout: 300_000,
}, async () => {
  const { access_token } = await client.connect({}, browser);
  const before = await grants();
  const hogs: pg.Client[] = [];
  await runAsAdmin(direct, [
    `select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'gatehouse %'`,
  ]);
  for (;;) {
    const hog = new pg.Client({ connectionString: direct });
    hog.on('error', () => {});
    const isIn = await hog.connect().then(
      () => true,
      () => false,
    );
    if (!isIn) break;
    hogs.push(hog);
  }

  const responses = await Promise.all(Array.from({ length: 20 }, () => client.listInvoices(access_token)));
  await Promise.all(hogs.map((hog) => hog.end()));
  await untilReady();

  assert.ok(hogs.length > 0);
  for (const { status } of responses) assert.ok(status === 503 || status === 200, String(status));
  assert.ok(responses.some(({ status }) => status === 503));
  assert.equal((await client.listInvoices(access_token)).status, 200);
  assert.equal(await grants(), before);
});

test('columns that an upgrade adds do not disturb a running node', { timeout: 300_000 }, async () => {
  const { access_token, refresh_token } = await client.connect({}, browser);
  await browser.open('/settings/account');
  const tables = await storage.durable.introspection.getTables();

  await runAsAdmin(
    direct,
    tables.map(({ name }) => `alter table ${name} add column added_by_an_upgrade integer`),
  );
  const responses = [
    await client.listInvoices(access_token),
    await client.refresh(refresh_token),
    await client.introspect(access_token),
    await browser.open('/settings/account'),
    await browser.open('/settings/developer'),
  ];
  const again = await client.connect({}, browser);

  assert.deepEqual(
    responses.map(({ status }) => status),
    [200, 200, 200, 200, 200],
  );
  assert.equal((await client.listInvoices(again.access_token)).status, 200);
});
