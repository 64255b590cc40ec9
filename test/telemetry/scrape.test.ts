import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { readLimits } from '../../src/config/limits.ts';
import { retentionSteps } from '../../src/jobs.ts';
import { write } from '../reference/raw.ts';
import { freePort } from '../support/ports.ts';
import { startTestServer } from '../support/test-server.ts';
import { type Family, readExposition, type Series } from './exposition.ts';

const port = await freePort();
const server = await startTestServer({ METRICS_LISTEN: String(port), LIMIT_PER_GRANT: '1' });
const address = `http://127.0.0.1:${port}/metrics`;
const ROOT = new URL('../../', import.meta.url);
const PAGE = readFileSync(new URL('docs/reference/metrics.md', ROOT), 'utf8');

async function scrape(): Promise<Map<string, Family>> {
  const response = await fetch(address);
  assert.equal(response.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
  return readExposition(await response.text());
}

async function find(name: string, labels: Record<string, string> = {}): Promise<Series[]> {
  const { series } = (await scrape()).get(name) ?? { series: [] };
  return series.filter((each) => Object.entries(labels).every(([label, value]) => each.labels[label] === value));
}

/** Scrapes until it matches: responses are counted after they were sent, and the database is polled at intervals. */
async function until(name: string, labels: Record<string, string>, value: number): Promise<Series> {
  for (let tries = 0; tries < 200; tries++) {
    const [one] = await find(name, labels);
    if (one?.value === value) return one;
    await setTimeout(20);
  }
  assert.fail(`${name} ${JSON.stringify(labels)} never became ${value}: ${JSON.stringify(await find(name))}`);
}

const REQUESTS = 'gatehouse_http_requests_total';

test('requests are counted and timed by host, route, method, status class and reason', async () => {
  const { access_token } = await server.connect();
  await server.listInvoices(access_token);
  await server.listInvoices('nonsense');

  const route = '/api/v1/accounting/invoices';
  const good = await until(REQUESTS, { route, status: '2xx' }, 1);
  const bad = await until(REQUESTS, { route, status: '4xx' }, 1);
  const [count] = (await find('gatehouse_http_request_duration_seconds', { route })).filter(({ name }) =>
    name.endsWith('_count'),
  );

  assert.deepEqual(good.labels, { host: 'api', route, method: 'GET', status: '2xx', reason: '' });
  assert.deepEqual(bad.labels, { host: 'api', route, method: 'GET', status: '4xx', reason: 'token_unknown' });
  assert.equal(count?.value, 2);
});

test('rate-limited requests are counted by limit', async () => {
  const { access_token } = await server.connect();
  await server.listInvoices(access_token);
  assert.equal((await server.listInvoices(access_token)).status, 429);

  await until('gatehouse_rate_limit_refusals_total', { limit: 'per_grant' }, 1);
  await until('gatehouse_rate_limit_refusals_total', { limit: 'per_app' }, 0);
});

test('from the start, every rate limit and every table that the retention job cleans has a series', async () => {
  const limits = new Set((await find('gatehouse_rate_limit_refusals_total')).map(({ labels }) => labels.limit));
  const tables = (await find('gatehouse_clean_up_removed_rows_total')).map(({ labels }) => labels.table);
  const names = Object.keys(readLimits({})).map((name) =>
    name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  );

  assert.deepEqual([...limits].sort(), [...names, 'mail_per_address', 'mail_per_network'].sort());
  assert.deepEqual(
    tables.sort(),
    retentionSteps()
      .map(({ table }) => table)
      .sort(),
  );
});

test('no unknown path, method, header or id adds a time series', async () => {
  const sendRound = async (round: number) => {
    const path = `/x${round}"}\\\n/${round}`;
    for (const host of [server.api, server.web]) {
      await fetch(host + encodeURI(path));
      await fetch(`${host}/%zz${round}`);
      await fetch(`${host}/api/v1/oauth/authorize?client_id=${round}`, { redirect: 'manual' });
      await fetch(`${host}/x`, { method: round % 2 ? 'PROPFIND' : 'QUERY' }).catch(() => undefined);
      await write(host, `GARBAGE${round} / HTTP/1.1\r\n\r\n`);
      await write(host, `GET /${round} HTTP/1.1\r\nhost: ${round}.example\r\nconnection: close\r\n\r\n`);
    }
  };
  for (const round of [1, 2]) await sendRound(round);
  await until(REQUESTS, { host: 'web', route: 'none', method: 'none', reason: 'request_unreadable' }, 2);
  const before = await find(REQUESTS);

  for (let round = 3; round < 23; round++) await sendRound(round);
  await until(REQUESTS, { host: 'web', route: 'none', method: 'none', reason: 'request_unreadable' }, 22);
  const after = await find(REQUESTS);

  const keys = (series: Series[]) => series.map(({ labels }) => JSON.stringify(labels)).sort();
  assert.deepEqual(keys(after), keys(before));
  const methods = new Set(after.map(({ labels }) => labels.method));
  assert.ok(methods.has('other'));
  assert.equal(JSON.stringify(after).includes('example'), false);
});

test('after a start there are metrics of grants, backlogs, the database, keys, memory and the event loop', async () => {
  await server.restart();

  await until('gatehouse_grants', { state: 'live' }, 2);
  await until('gatehouse_database_up', {}, 1);
  await until('gatehouse_webhook_deliveries_waiting', {}, 0);
  await until('gatehouse_clean_up_backlog_rows', { table: 'grants' }, 0);
  await until('gatehouse_keys', {}, 1);
  const [memory] = await find('process_resident_memory_bytes');
  const [started] = await find('process_start_time_seconds');
  const delays = await find('gatehouse_event_loop_delay_seconds');

  assert.ok((memory?.value ?? 0) > 10_000_000);
  assert.ok(Math.abs((started?.value ?? 0) - Date.now() / 1000) < 3600);
  assert.deepEqual(
    delays.map(({ labels }) => labels.quantile),
    ['0.5', '0.99', '1'],
  );
});

test('the metrics listener serves only /metrics, and neither host serves it', async () => {
  const status = async (url: string, method = 'GET') => (await fetch(url, { method })).status;

  assert.equal(await status(address, 'HEAD'), 200);
  assert.equal(await status(address, 'POST'), 405);
  assert.equal(await status(address.replace('/metrics', '/')), 404);
  assert.equal(await status(address.replace('/metrics', '/readyz')), 404);
  assert.equal(await status(`${address}/`), 404);
  assert.equal(await status(`${server.api}/metrics`), 404);
  assert.equal(await status(`${server.web}/metrics`), 404);
});

test('the metrics page lists exactly the existing metrics, with their types and labels', async () => {
  const listed = [...PAGE.matchAll(/^\| `([a-z_]+)` \| (\w+) \| (.*?) \|/gm)];
  const families = await scrape();

  assert.deepEqual(
    listed.map(([, name, type]) => [name, type]).sort(),
    [...families].map(([name, { type }]) => [name, type]).sort(),
  );
  for (const [, name = '', , labels = ''] of listed) {
    const named = [...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label);
    const used = new Set(families.get(name)?.series.flatMap((series) => Object.keys(series.labels)));
    used.delete('le');
    if (used.size > 0) assert.deepEqual([...used].sort(), named.sort(), name);
  }
});
