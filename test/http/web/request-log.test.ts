import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DAY, HOUR } from '../../../src/lib/clock.ts';
import { newRandomId } from '../../../src/lib/ids.ts';
import { addCounts, hourOf } from '../../../src/request-log/counts.ts';
import { addRequests } from '../../../src/request-log/log.ts';
import { PLATFORM } from '../../support/app-pages.ts';
import { nextPageLink } from '../../support/browser.ts';
import { type ApiResponse, createClient } from '../../support/client.ts';
import { entriesOf, entryLinksOf, idsOf } from '../../support/log-pages.ts';
import { requestOf } from '../../support/request-log.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const DEVELOPER = server.acmePath('developer');
const browser = await server.signedIn();
const db = () => server.storage().durable;

async function newApp(name: string) {
  const app = await server.addApp({ name, ownerBusinessId: server.acme.id });
  const client = createClient({ ...server, user: server.ada, app, business: server.acme });
  const path = `${DEVELOPER}/${app.id}/requests`;
  return { app, client, path, open: (query = '') => browser.open(path + query) };
}

/** Advances the clock, so that the order of requests is certain. */
async function later<Result>(work: () => Promise<Result>): Promise<Result> {
  server.advanceClock(1);
  return work();
}

const requestIdOf = ({ headers }: ApiResponse): string => headers.get('x-request-id') ?? 'none';

test('the log shows each request for an app, newest first, with its outcome, business and request id', async () => {
  const { client, open } = await newApp('Walked');

  const code = await client.allow({}, browser);
  const { refresh_token, access_token } = (await later(() => client.exchange(code))).body;
  const refreshed = await later(() => client.refresh(refresh_token));
  await later(() => client.listInvoices(access_token));
  await later(() => client.get('/api/v1/businesses', { authorization: `Bearer ${access_token}` }));
  await later(() => client.introspect(access_token));
  await later(() => client.revoke(refreshed.body.refresh_token));

  const page = await open();
  assert.deepEqual(
    entriesOf(page).map((row) => row.replace(/ \d+ ms …\w{8} [\d-]+ [\d:]{8} UTC$/, '')),
    [
      '200 POST /api/v1/oauth/revoke Acme',
      '200 POST /api/v1/oauth/introspect Acme',
      '200 GET /api/v1/businesses Acme',
      '200 GET /api/v1/accounting/invoices Acme',
      '200 POST /api/v1/oauth/token refresh_token Acme',
      '200 POST /api/v1/oauth/token authorization_code Acme',
    ],
  );
  assert.equal(idsOf(page)[4], requestIdOf(refreshed));
});

test('each rejected request is in the log of its app, and its page has the reason in words and a link to read more', async () => {
  const { client, open } = await newApp('Refused');
  const { refresh_token, access_token } = await client.connect({}, browser);
  await later(() => client.refresh(refresh_token, { client_secret: 'gcs_wrong' }));
  await later(() => client.exchange('gac_unknown'));
  await later(() => client.listInvoices(access_token, { 'x-business-id': newRandomId() }));
  await later(() => client.revoke(refresh_token));
  await later(() => client.listInvoices(access_token));

  const page = await open('?status=failed');

  const rows = entriesOf(page);
  const expected: [row: RegExp, words: string, link: string][] = [
    [/^401 GET \S+ revoked_by_app /, 'The app itself revoked the grant', 'invalid_token#revoked_by_app'],
    [/^403 GET \S+ business_mismatch /, 'returns the business that the token', 'business_mismatch#business_mismatch'],
    [/^400 POST \S+ token_unknown /, 'This server did not issue the token', 'invalid_grant#token_unknown'],
    [/^401 POST \S+ credentials_wrong /, 'No app has this', 'invalid_client#credentials_wrong'],
  ];
  assert.equal(rows.length, expected.length, rows.join('\n'));
  for (const [index, [row, words, link]] of expected.entries()) {
    assert.match(rows[index] ?? '', row);
    const { text } = await browser.open(entryLinksOf(page)[index] ?? '');
    assert.ok(text.includes(words) && text.includes(`href="${server.api}/docs/errors/${link}"`), link);
  }
});

test('a wrong secret is in the log, and not in the chart', async () => {
  const { client, open } = await newApp('Guessed');

  await client.refresh('grt_x', { client_secret: 'gcs_wrong' });

  const page = await open();
  assert.match(entriesOf(page).join(), /^401 POST \S+ credentials_wrong/);
  assert.match(page.text, /No requests in the last 24 hours/);
});

test('a wrong secret is not in the log of any other app, nor an unknown app in any', async () => {
  const { client, open } = await newApp('Quiet');

  await client.refresh('grt_x', { client_id: newRandomId() });
  await client.refresh('grt_x', { client_id: server.ledger.id, client_secret: 'gcs_wrong' });

  assert.match((await open()).text, /No requests yet/);
});

test('the stored log contains no code, token or secret that was sent [X4]', async () => {
  const { app, client } = await newApp('Discreet');
  const code = await client.allow({}, browser);
  const { body } = await client.exchange(code);
  const { body: second } = await client.refresh(body.refresh_token);
  await client.listInvoices(second.access_token, {}, `?status=${second.access_token}`);
  await client.refresh(second.refresh_token, { client_secret: body.access_token, grant_type: code });
  await browser.open(`${DEVELOPER}/${app.id}/requests`);

  const kept = JSON.stringify([
    await db().selectFrom('logged_requests').selectAll().where('app_id', '=', app.id).execute(),
    await db().selectFrom('scope_uses').selectAll().where('app_id', '=', app.id).execute(),
  ]);

  assert.ok(kept.includes('value_not_allowed'), 'the log has the rejected requests');
  const secrets = [code, app.secret, body.access_token, body.refresh_token, second.access_token, second.refresh_token];
  for (const secret of secrets) assert.ok(!kept.includes(secret.slice(4, 20)), secret);
});

test('a request is found by its id, in capitals too, and a malformed id finds nothing', async () => {
  const { client, open } = await newApp('Sought');
  const wanted = await client.refresh('grt_x');
  await client.refresh('grt_y');

  const found = await open(`?q=%20${requestIdOf(wanted).toUpperCase()}`);
  const none = await open(`?q=${newRandomId()}`);

  assert.equal(entriesOf(found).length, 1);
  assert.deepEqual(idsOf(found), [requestIdOf(wanted)]);
  assert.match(none.text, /No request of this app has this ID/);
  for (const odd of [
    '?q=%00%25',
    '?q=a&q=b',
    '?status=failed&status=x',
    '?period=__proto__',
    '?after=x',
    '?before=x',
  ]) {
    assert.equal((await open(odd)).status, 200, odd);
  }
});

test('ten thousand requests are read fifty at a time, each once, in small pages; only the first stays up to date', async () => {
  const { app, path, open } = await newApp('Busy');
  const requests = Array.from({ length: 10_000 }, (_, index) =>
    requestOf(app.id, { at: server.clock() + index, businessId: server.acme.id }),
  );
  await server.storage().transaction((tx) => addRequests(tx, requests));

  const first = await open('?status=failed&period=month');
  const next = nextPageLink(first) ?? '';
  const second = await browser.open(next);

  const newest = requests.map(({ requestId }) => requestId).reverse();
  assert.deepEqual([...idsOf(first), ...idsOf(second)], newest.slice(0, 100));
  assert.ok(next.startsWith(path) && next.includes('status=failed') && next.includes('period=month'), next);
  assert.ok(first.text.length < 50_000, String(first.text.length));
  for (const live of ['requests', 'activity']) assert.ok(first.text.includes(`<div id="${live}" data-live>`), live);
  assert.doesNotMatch(second.text, /data-live/);
});

test('the chart counts requests, errors and refreshes of the last day and of the last month', async () => {
  const { app, client, open } = await newApp('Charted');
  const now = hourOf(server.clock());
  const counted = (hours: number, requests: number) => ({
    appId: app.id,
    hour: now - hours,
    requests,
    errors: 1,
    refreshes: 2,
  });
  await addCounts(db(), [counted(23, 10), counted(24, 100), counted(29 * 24, 1000), counted(30 * 24, 5000)]);
  await client.refresh('grt_x');

  const day = await open();
  const month = await open('?period=month');

  assert.match(day.text, /aria-label="In the last 24 hours: 11 requests, 2 errors, 2 refreshes\. At most 10 requests/);
  assert.match(day.text, /<title>\d+ \w+, \d\d:00: 10 requests, 1 error, 2 refreshes<\/title>/);
  assert.match(
    month.text,
    /In the last 30 days: 1111 requests, 4 errors, 6 refreshes\. At most 1000 requests in a day/,
  );
  assert.match(month.text, /<th scope="row">1 Jan<\/th>/);
  assert.doesNotMatch(day.text + month.text, / style="/);
});

test('the chart has axes: round numbers of requests, and times in UTC', async () => {
  const { app, open } = await newApp('Axes');
  await addCounts(db(), [{ appId: app.id, hour: hourOf(server.clock()), requests: 37, errors: 0, refreshes: 0 }]);

  const { text } = await open();

  const labels = (axis: string) =>
    listItems(new RegExp(`<ol class="${axis}-axis"[^>]*>(.*?)</ol>`, 's').exec(text)?.[1]);
  const start = new Date(server.clock() - 23 * HOUR).getUTCHours();
  assert.deepEqual(labels('y'), ['40', '30', '20', '10', '0']);
  assert.deepEqual(
    labels('x'),
    [0, 6, 12, 18].map((hours) => `${String((start + hours) % 24).padStart(2, '0')}:00`),
  );
  assert.ok(text.includes('Times in UTC') && text.includes('<th scope="col">Hour from (UTC)</th>'));
});

const listItems = (list = '') => [...list.matchAll(/<li>(.*?)<\/li>/g)].map(([, item]) => item);

test('the hours and days of a chart are those of the time zone that the script sends; an unknown zone is UTC', async () => {
  const { app, path } = await newApp('Zoned');
  const hour = Math.floor(server.clock() / DAY) * 24 + 14 - 5 * 24;
  await addCounts(db(), [{ appId: app.id, hour, requests: 7, errors: 0, refreshes: 0 }]);
  const dayIn = async (zone: string) => {
    const response = await browser.fetch(`${path}?period=month`, { headers: { 'x-time-zone': zone } });
    const text = await response.text();
    return { day: /<th scope="row">(\d+ \w+)<\/th><td>7</.exec(text)?.[1], zone: /Times in ([^<]+)/.exec(text)?.[1] };
  };
  const format = (at: number) =>
    new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', day: 'numeric', month: 'short' }).format(at);

  assert.deepEqual(await dayIn('Pacific/Auckland'), { day: format(hour * HOUR + DAY), zone: 'Pacific/Auckland' });
  for (const zone of ['UTC', 'Nowhere/Else', '<b>', '']) {
    assert.deepEqual(await dayIn(zone), { day: format(hour * HOUR), zone: 'UTC' }, zone);
  }
});

test('an unused app has an empty chart and an empty log', async () => {
  const { text } = await (await newApp('Idle')).open();

  assert.match(text, /No requests in the last 24 hours\./);
  assert.match(text, /No requests yet<.*Connect your app</s);
});

test('successful requests are counted by scope, day and user; rejected ones are not', async () => {
  const { app, client } = await newApp('Reader');
  const { access_token } = await client.connect({}, browser);
  const uses = async () => {
    await browser.open(`${DEVELOPER}/${app.id}/requests`);
    const rows = await db().selectFrom('scope_uses').selectAll().where('app_id', '=', app.id).orderBy('day').execute();
    return rows.map(({ business_id, user_id, scope, uses }) => ({ business_id, user_id, scope, uses }));
  };

  await client.listInvoices(access_token);
  await client.listInvoices(access_token, {}, '?limit=1');
  await client.listInvoices(access_token, { 'x-business-id': newRandomId() });
  await client.listInvoices(access_token, {}, '?limit=x');

  const row = { business_id: server.acme.id, user_id: server.ada.id, scope: 'read:invoices' };
  assert.deepEqual(await uses(), [{ ...row, uses: 2 }]);
});

test('members may read the log, and for others it is 404, for every method [D5]', async () => {
  const member = await server.signedIn(await server.addUser('Mel', [[server.acme, 'member']]));
  const bolt = await server.addBusiness('Bolt');
  const stranger = await server.signedIn(await server.addUser('Bob', [[bolt, 'owner']]));
  const root = await server.signedIn(await server.addUser('Root', [[bolt, 'owner']], true));
  const [own, platform] = [await newApp('Own'), await server.addApp({ name: 'Console' })];

  for (const part of ['requests', 'connections']) {
    const path = `${DEVELOPER}/${own.app.id}/${part}`;
    assert.equal((await member.open(path)).status, 200);
    assert.equal((await root.open(`${PLATFORM}/${platform.id}/${part}`)).status, 200);
    const hidden = [path, `${PLATFORM}/${platform.id}/${part}`, `${DEVELOPER}/${platform.id}/${part}`];
    for (const address of [...hidden, `${DEVELOPER}/nonsense/${part}`]) {
      assert.equal((await stranger.open(address)).status, 404, address);
    }
    for (const method of ['HEAD', 'PUT', 'DELETE']) {
      const { status } = await stranger.fetch(path, { method });
      assert.ok([403, 404, 405].includes(status), `${method} ${status}`);
    }
  }
});

test('recorded requests are not lost when the server stops', async () => {
  const stopping = await startTestServer();
  await stopping.refresh('grt_x');

  await stopping.restart();

  const page = await (await stopping.signedIn()).open(stopping.acmePath(`developer/${stopping.ledger.id}/requests`));
  assert.equal(entriesOf(page).length, 1);
});
