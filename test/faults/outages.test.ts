import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import { openStorage } from '../../src/storage/open.ts';
import type { ApiResponse, Client } from '../support/client.ts';
import { databaseUrl, runAsAdmin, TEMPLATE } from '../support/databases.ts';
import { startNodes } from '../support/nodes.ts';
import { createTemplate, startAgain, startPostgres } from '../support/postgres-server.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';

const MAX_CONNECTIONS = 40;
const postgres = await startPostgres([`max_connections=${MAX_CONNECTIONS}`, 'superuser_reserved_connections=0']);
after(() => postgres.remove());
await createTemplate(postgres.url);
const proxy = await startTcpProxy(postgres.port);
/** The default: requests should fail soon. */
const direct = `${databaseUrl(postgres.url, TEMPLATE)}?connect_timeout=2`;
const { clients } = await startNodes(1, direct.replace(`:${postgres.port}/`, `:${proxy.port}/`));
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

/** Asserts that a write of the node is visible to other connections, so that no transaction was left open. */
async function assertCommits(access_token: string): Promise<void> {
  const before = (await storage.durable.selectFrom('revoked_access_tokens').selectAll().execute()).length;
  assert.equal((await client.revoke(access_token)).status, 200);
  assert.equal((await storage.durable.selectFrom('revoked_access_tokens').selectAll().execute()).length, before + 1);
}

const OUTAGES: [what: string, begin: () => Promise<void>, end: () => Promise<void>][] = [
  ['is cut off', async () => proxy.cut(), async () => proxy.restore()],
  ['is too slow to respond', async () => proxy.stall(), async () => proxy.restore()],
  ['responds far too late', async () => proxy.stall(), async () => proxy.resume()],
  ['is paused', () => signalPostgres('SIGSTOP'), () => signalPostgres('SIGCONT')],
  ['is restarted', () => postgres.stop(), () => postgres.start([`max_connections=${MAX_CONNECTIONS}`])],
  ['was killed', () => postgres.stop('SIGKILL'), () => startAgain(postgres, [`max_connections=${MAX_CONNECTIONS}`])],
];

/** All processes of the server. Each has its own process group. */
let paused: number[] = [];
async function signalPostgres(signal: 'SIGSTOP' | 'SIGCONT'): Promise<void> {
  if (signal === 'SIGCONT') {
    for (const pid of paused) process.kill(pid, signal);
    return;
  }
  const [postmaster = ''] = readFileSync(join(postgres.folder, 'data', 'postmaster.pid'), 'utf8').split('\n');
  // First the process that accepts connections: another one would start between the list and its signal.
  process.kill(Number(postmaster), signal);
  const children = execFileSync('pgrep', ['-P', postmaster], { encoding: 'utf8' }).trim().split('\n');
  paused = [postmaster, ...children].map(Number);
  for (const pid of paused) process.kill(pid, signal);
}
after(() => signalPostgres('SIGCONT').catch(() => {}));

for (const [what, begin, end] of OUTAGES) {
  test(`while the database ${what}, every response is a 503 that leaves no partial state, and everything works afterwards`, {
    timeout: 180_000,
  }, async () => {
    const { access_token, refresh_token } = await client.connect({}, browser);
    const code = await client.allow({}, browser);
    const page = await browser.open('/settings/account');

    await begin();
    // Twice as many requests as connections: the server rejects those that would wait.
    const requests = Array.from({ length: 10 }, () => [
      client.refresh(refresh_token),
      client.exchange(code),
      client.revoke(access_token),
      client.listInvoices(access_token),
    ]).flat();
    const responses = await Promise.all(requests);
    const [ready, alive, accountPage] = await Promise.all([
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
    assert.equal(accountPage.status, 503);
    assert.equal((await client.listInvoices(access_token)).status, 200);
    assert.equal((await client.refresh(refresh_token)).status, 200);
    assert.equal((await client.exchange(code)).status, 200);
    await assertCommits((await client.connect({}, browser)).access_token);
  });
}

test('while the database accepts no connection, responses are 503, and everything works afterwards', {
  timeout: 300_000,
}, async () => {
  const { access_token } = await client.connect({}, browser);
  const before = await grants();
  const connections: pg.Client[] = [];
  await runAsAdmin(direct, [
    `select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'gatehouse %'`,
  ]);
  for (;;) {
    const connection = new pg.Client({ connectionString: direct });
    connection.on('error', () => {});
    const isConnected = await connection.connect().then(
      () => true,
      () => false,
    );
    if (!isConnected) break;
    connections.push(connection);
  }

  const responses = await Promise.all(Array.from({ length: 20 }, () => client.listInvoices(access_token)));
  await Promise.all(connections.map((connection) => connection.end()));
  await untilReady();

  assert.ok(connections.length > 0);
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
