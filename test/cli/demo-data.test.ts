import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { startDemoApp } from '../../demo/app.ts';
import { DEMO_PASSWORD, DEMO_USERS, ensureDemoApps, ensureDemoData, ensureDemoEndpoint } from '../../demo/data.ts';
import { createKeyring } from '../../src/lib/keyring.ts';
import { signMessage } from '../../src/webhooks/signatures.ts';
import { freePort } from '../support/ports.ts';
import { startTestServer } from '../support/test-server.ts';

const server = await startTestServer();
const DEVELOPER = '/settings/developer';
const maker = await ensureDemoData(server.storage(), server.clock());
const { thirdParty } = await ensureDemoApps(server.storage(), maker, join(server.folder, 'apps.json'), server.clock());
const db = server.storage().durable;
const parcelwise = await db.selectFrom('apps').selectAll().where('name', '=', 'Parcelwise').executeTakeFirstOrThrow();

async function signIn({ email }: { email: string }) {
  const browser = server.browse();
  await browser.signIn(email, DEMO_PASSWORD);
  return browser;
}

test('the developer of the demo app sees a month of requests, the requests of the last day, and who has connected it', async () => {
  const browser = await signIn(DEMO_USERS.admin);

  const month = await browser.open(`${DEVELOPER}/${parcelwise.id}/requests?period=month`);
  const connections = await browser.open(`${DEVELOPER}/${parcelwise.id}/connections`);

  const [, requests, errors, refreshes] =
    /In the last 30 days: (\d+) requests, (\d+) errors, (\d+) refreshes/.exec(month.text) ?? [];
  assert.ok(Number(errors) > 10 && Number(errors) < Number(requests) / 10, `${errors} of ${requests}`);
  assert.ok(Number(refreshes) > 1000, `${refreshes} refreshes`);
  assert.match(month.text, /access_token_expired/);
  assert.match(
    connections.text,
    /Harbour Coffee<\/strong><\/td><td data-label="Users">2<\/td><td data-label="Since"><time datetime="2029-11-22/,
  );
});

test('the third-party app of the demo has a logo, a verified publisher and addresses', async () => {
  const app = await db.selectFrom('apps').selectAll().where('id', '=', thirdParty.clientId).executeTakeFirstOrThrow();
  const logo = await fetch(`${server.web}/logos/${app.logo_hash}`);

  assert.equal(logo.headers.get('content-type'), 'image/png');
  assert.notEqual(app.verified_at, null);
  assert.equal(app.homepage_url, 'https://ledgerly.example/');
});

test('the counts, log and uses of the demo agree with each other', async () => {
  const hour = Math.floor(server.clock() / 3_600_000) - 24;
  const counts = await db.selectFrom('request_counts').selectAll().where('hour', '>=', hour).execute();
  const logged = await db.selectFrom('logged_requests').selectAll().where('app_id', '=', parcelwise.id).execute();

  const sum = (name: 'requests' | 'errors') => counts.reduce((total, each) => total + each[name], 0);
  assert.equal(logged.length, sum('requests'));
  assert.equal(logged.filter(({ status }) => status >= 400).length, sum('errors'));
  assert.ok(logged.every(({ at }) => at < server.clock()));
});

test('the owner of the demo’s business sees its connected apps, and its history in the audit log', async () => {
  const browser = await signIn(DEMO_USERS.owner);

  const apps = await browser.open('/settings/connected-apps');
  const log = await browser.open('/settings/audit-log');

  assert.match(apps.text, /Parcelwise/);
  for (const action of ['Allowed the app', 'Joined the business', 'Added a member', 'Added the business']) {
    assert.ok(log.text.includes(action), action);
  }
});

test('a second start of the demo adds nothing', async () => {
  const counts = () =>
    db
      .selectFrom('audit_entries')
      .select(({ fn }) => fn.countAll().as('count'))
      .execute();
  const before = await counts();

  const again = await ensureDemoApps(server.storage(), maker, join(server.folder, 'apps.json'), server.clock());

  assert.equal(await ensureDemoData(server.storage(), server.clock()), maker);
  assert.equal(again.thirdParty.clientId, thirdParty.clientId);
  assert.deepEqual(await counts(), before);
});

test('the demo app receives webhooks after every start, and rejects unsigned ones', async () => {
  const url = `http://127.0.0.1:${await freePort()}/webhooks`;
  const keys = createKeyring(server.settings.secretKeys);
  const endpoint = { appId: thirdParty.clientId, url };
  await ensureDemoEndpoint(server.storage(), keys, endpoint, server.clock());
  const signingSecret = await ensureDemoEndpoint(server.storage(), keys, endpoint, server.clock());
  const branding = { id: 'ledgerly', name: 'Ledgerly', tagline: '', about: '' };
  const connection = { baseUrl: server.api, redirectUri: 'http://127.0.0.1/callback', ...thirdParty };
  const { port, origin } = new URL(url);
  const app = await startDemoApp({ branding, connection, scope: 'read:invoices', port: Number(port), signingSecret });
  after(() => app.close());
  const body = JSON.stringify({ type: 'grant.created', timestamp: new Date().toISOString(), data: {} });
  const post = (signature: Record<string, string>) =>
    fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', ...signature }, body });
  const now = Date.now();

  const forged = await post({ 'webhook-id': 'evt_1', 'webhook-timestamp': `${now}`, 'webhook-signature': 'v1,x' });
  const before = await (await fetch(origin)).text();
  const real = await post(signMessage({ id: 'evt_2', body }, [signingSecret], now));
  const afterwards = await (await fetch(origin)).text();

  assert.deepEqual([forged.status, real.status], [400, 204]);
  assert.doesNotMatch(before, /grant\.created/);
  assert.match(afterwards, /Received by webhook.*grant\.created/s);
});

test('both businesses of the demo have a year of records, in every state', async () => {
  const businesses = await db.selectFrom('businesses').select(['id', 'name']).execute();
  const demo = businesses.filter(({ name }) => ['Harbour Coffee', 'Northgate Software'].includes(name));
  assert.equal(demo.length, 2);
  for (const { id, name } of demo) {
    const recordsOf = (table: 'invoices' | 'deals' | 'orders' | 'expenses' | 'employees' | 'contacts') =>
      db.selectFrom(table).selectAll().where('business_id', '=', id).orderBy('id').execute();
    const statesOf = async (table: 'invoices' | 'deals' | 'orders', field: string) =>
      [...new Set((await recordsOf(table)).map((record) => String(record[field])))].sort();
    const invoices = await recordsOf('invoices');
    const contactIds = (await recordsOf('contacts')).map((contact) => contact.id);

    assert.deepEqual(await statesOf('invoices', 'status'), ['DRAFT', 'OVERDUE', 'PAID', 'SENT', 'VOID'], name);
    assert.deepEqual(await statesOf('deals', 'stage'), ['LEAD', 'LOST', 'NEGOTIATION', 'PROPOSAL', 'QUALIFIED', 'WON']);
    assert.ok((await statesOf('orders', 'fulfilment_status')).length >= 2);
    assert.ok(new Set(invoices.map(({ issue_date }) => String(issue_date).slice(0, 7))).size >= 12);
    assert.ok(invoices.every(({ customer_id }) => contactIds.includes(String(customer_id))));
    assert.ok((await recordsOf('expenses')).length > 50 && (await recordsOf('employees')).length >= 5);
  }
});
