import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import type { Client, Tokens } from '../support/client.ts';
import { databaseUrl, runAsAdmin, TEMPLATE } from '../support/databases.ts';
import { startNodes } from '../support/nodes.ts';
import {
  createStandby,
  createTemplate,
  type PostgresServer,
  startAgain,
  startPostgres,
} from '../support/postgres-server.ts';

/** A client that keeps refreshing its token, and records the errors. */
interface Refresher {
  tokens: Tokens;
  completed: number;
  rejections: string[];
  longestGap: number;
}

const CLIENTS = 6;

for (const [kind, synchronous] of [
  ['a synchronous standby, which has every acknowledged write', true],
  ['an asynchronous standby, which may lag', false],
] as const) {
  test(`after a failover to ${kind}, every client continues to refresh with its token`, {
    timeout: 300_000,
  }, async (context) => {
    const { primary, standby, url } = await startPair(synchronous);
    const { clients, addApp, ada } = await startNodes(2, url);
    const [client, other] = clients as [Client, Client];
    const app = await addApp({ name: 'Shop' });
    const credentials = { client_id: app.id, client_secret: app.secret };
    const browser = await client.signedIn(ada);
    const connect = async (): Promise<Tokens> =>
      (await client.exchange(await client.allow({ client_id: app.id }, browser), credentials)).body;
    const journal = { exchanged: [] as Tokens[], revoked: [] as Tokens[] };
    const refreshers: Refresher[] = [];
    for (let i = 0; i < CLIENTS; i++) {
      refreshers.push({ tokens: await connect(), completed: 0, rejections: [], longestGap: 0 });
    }

    let isOver = false;
    const load = refreshers.map(async (refresher, i) => {
      let last = performance.now();
      while (!isOver) {
        const node = i % 2 === 0 ? client : other;
        const response = await node.refresh(refresher.tokens.refresh_token, credentials).catch(() => undefined);
        if (response?.status === 200) {
          refresher.longestGap = Math.max(refresher.longestGap, performance.now() - last);
          last = performance.now();
          refresher.tokens = response.body;
          refresher.completed += 1;
        } else if (response && response.status < 500) refresher.rejections.push(response.body.error_description);
        await setTimeout(20);
      }
    });
    const others = (async () => {
      while (!isOver) {
        const tokens = await connect().catch(() => undefined);
        if (!tokens?.refresh_token) continue;
        const revoked = await client.revoke(tokens.refresh_token).catch(() => undefined);
        if (revoked?.status === 200) journal.revoked.push(tokens);
        const kept = await connect().catch(() => undefined);
        if (kept?.refresh_token) journal.exchanged.push(kept);
      }
    })();

    while (journal.exchanged.length < 8 || journal.revoked.length < 8) await setTimeout(20);
    await primary.stop('SIGKILL');
    await runAsAdmin(standby.url, ['select pg_promote(true)']);
    const before = refreshers.map(({ completed }) => completed);
    while (refreshers.some(({ completed }, i) => completed < (before[i] ?? 0) + 5)) await setTimeout(50);
    isOver = true;
    await Promise.all([...load, others]);

    assert.deepEqual(
      refreshers.flatMap(({ rejections }) => rejections),
      [],
    );
    const gap = Math.max(...refreshers.map(({ longestGap }) => longestGap));
    context.diagnostic(
      `longest gap ${Math.round(gap)} ms, ${journal.exchanged.length} exchanges, ${journal.revoked.length} revocations`,
    );
    if (synchronous) {
      for (const { access_token } of journal.exchanged) {
        assert.equal((await other.listInvoices(access_token)).status, 200, 'the exchange is not lost');
      }
      for (const { refresh_token } of journal.revoked) {
        const response = await other.refresh(refresh_token, credentials);
        assert.match(response.body.error_description, /revoked_by_app/);
      }
    }
  });
}

/** Two PostgreSQL servers, a primary and its standby. The URL names both. */
async function startPair(synchronous: boolean) {
  const primary = await startPostgres();
  after(() => primary.remove());
  await createTemplate(primary.url);
  await primary.stop();
  const standby = await createStandby(primary);
  after(() => standby.remove());
  const starting = primary.start(synchronous ? ['synchronous_standby_names=*'] : []);
  await standby.start([]);
  await starting;
  const hosts = `127.0.0.1:${standby.port},127.0.0.1:${primary.port}`;
  const url = databaseUrl(primary.url, TEMPLATE).replace(`127.0.0.1:${primary.port}`, hosts);
  // The default: a node should soon try the other server.
  return { primary, standby, url: `${url}?connect_timeout=2` };
}

test('a repeated revocation is acknowledged only when the synchronous standby has it', {
  timeout: 300_000,
}, async () => {
  const { primary, standby, url } = await startPair(true);
  const { clients } = await startNodes(1, url);
  const [client] = clients as [Client];
  const { refresh_token } = await client.connect();
  const revoke = async () => (await client.revoke(refresh_token)).status;

  await standby.stop();
  const first = await revoke();
  // After its recovery, only the primary has the revoked row.
  await primary.stop('SIGKILL');
  await startAgain(primary, ['synchronous_standby_names=*']);
  while ((await client.get('/readyz')).status !== 200) await setTimeout(50);
  const repeated = await revoke();
  await standby.start([]);
  while ((await revoke()) !== 200) await setTimeout(50);
  await primary.stop('SIGKILL');
  await runAsAdmin(standby.url, ['select pg_promote(true)']);
  while ((await client.get('/readyz')).status !== 200) await setTimeout(50);

  assert.deepEqual([first, repeated], [503, 503]);
  assert.match((await client.refresh(refresh_token)).body.error_description, /revoked_by_app/);
});

test('a node leaves a primary that was replaced, though it still accepts connections', {
  timeout: 120_000,
}, async () => {
  const { primary, standby, url } = await startPair(false);
  const { clients } = await startNodes(1, url);
  const [client] = clients as [Client];
  const browser = await client.signedIn();
  const { access_token } = await client.connect({}, browser);
  const other = await client.connect({}, browser);
  await waitForReplay(primary, standby);

  await runAsAdmin(standby.url, ['select pg_promote(true)']);
  await runAsAdmin(databaseUrl(standby.url, TEMPLATE), [
    "update grants set revoked_at = 1, revoked_reason = 'revoked_by_app'",
  ]);
  while ((await client.listInvoices(access_token)).status !== 401) await setTimeout(50);
  const revoked = await client.listInvoices(other.access_token);
  // Only the replaced primary is left, which the node must not use.
  await standby.stop();
  const afterwards = await client.listInvoices(access_token);

  assert.equal(revoked.status, 401);
  assert.equal(afterwards.status, 503);
});

/** Waits until the standby has replayed the WAL of the primary. */
async function waitForReplay(primary: PostgresServer, standby: PostgresServer): Promise<void> {
  const [from, to] = [new pg.Client(primary.url), new pg.Client(standby.url)];
  await Promise.all([from.connect(), to.connect()]);
  const { rows } = await from.query('select pg_current_wal_lsn() as lsn');
  const isBehind = async () =>
    !(await to.query('select pg_last_wal_replay_lsn() >= $1 as has', [rows[0].lsn])).rows[0].has;
  while (await isBehind()) await setTimeout(20);
  await Promise.all([from.end(), to.end()]);
}
