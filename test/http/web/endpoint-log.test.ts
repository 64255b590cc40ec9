import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { recordEvent } from '../../../src/events/events.ts';
import { endConnections } from '../../../src/grants/connections.ts';
import { createKeyring } from '../../../src/lib/keyring.ts';
import { insertEndpoint, markEndpointDisabled } from '../../../src/webhooks/endpoints.ts';
import { type BrowserPage, unescaped } from '../../support/browser.ts';
import { startTestServer } from '../../support/test-server.ts';
import { respondWithStatus, startWebhookReceiver } from '../../support/webhook-receiver.ts';

const server = await startTestServer({ WEBHOOKS_TO_LOOPBACK: 'yes' });
const DEVELOPER = server.acmePath('developer');
const browser = await server.signedIn();
const keys = createKeyring(server.settings.secretKeys);
const db = () => server.storage().durable;

async function newEndpoint(url: string, appId?: string) {
  const id = appId ?? (await server.addApp({ ownerBusinessId: server.acme.id })).id;
  const added = await insertEndpoint(db(), keys, { appId: id, url, eventTypes: ['grant.created'] }, server.clock());
  const path = `${DEVELOPER}/${id}/endpoints/${added.endpoint.id}`;
  const sendTest = async () => browser.submit(await browser.open(path), `${path}/test`);
  return { ...added, appId: id, path, sendTest };
}

/** Looks again until the page says so: the server is at work meanwhile. */
async function shows(path: string, expected: RegExp): Promise<BrowserPage> {
  for (;;) {
    const page = await browser.open(path);
    if (expected.test(page.text)) return page;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const DELIVERED = /<span class="badge good">Delivered<\/span> <time/;
const FAILED = /<span class="badge warn">Failed<\/span> Next attempt from <time/;
const resendPaths = ({ text }: BrowserPage) =>
  [...text.matchAll(/action="([^"]*\/resend)"/g)].map(([, path = '']) => path);

test('an endpoint to which nothing was sent says so', async () => {
  const { path } = await newEndpoint('https://hooks.example/');

  assert.match((await browser.open(path)).text, /Nothing has been sent here yet/);
});

test('a test event arrives, signed with the secret that was shown, at the endpoint that asked for it alone', async () => {
  const [receiver, neighbour] = [await startWebhookReceiver(), await startWebhookReceiver()];
  const { endpoint, secret, appId, path, sendTest } = await newEndpoint(receiver.url);
  const other = await newEndpoint(neighbour.url, appId);

  const said = await sendTest();
  const [received] = await receiver.has(1);
  const page = await shows(path, DELIVERED);

  assert.ok(received);
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature } = received.headers;
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.${received.body}`).digest('base64');
  assert.equal(signature, `v1,${expected}`);
  assert.equal(received.event.type, 'endpoint.test');
  assert.equal(received.event.data.endpointId, endpoint.id);
  assert.match(said.text, /A test event is on its way/);
  assert.match(page.text, /<code>endpoint\.test<\/code>/);
  assert.match(page.text, /delivered, with status 200, after \d+ ms/);
  assert.match((await browser.open(other.path)).text, /Nothing has been sent here yet/);
  assert.equal(neighbour.received.length, 0);
});

test('a disabled endpoint offers no test event, and rejects a request for one', async () => {
  const { endpoint, path, sendTest } = await newEndpoint('https://hooks.example/');
  const form = await browser.open(path);
  await markEndpointDisabled(db(), endpoint.id, 'by_owner', server.clock());

  const refused = await browser.submit(form, `${path}/test`);

  assert.equal(refused.status, 400);
  assert.match(refused.text, /Switch it on first/);
  await assert.rejects(sendTest, /the page has a form/);
  const events = await db().selectFrom('events').selectAll().where('type', '=', 'endpoint.test').execute();
  assert.ok(events.every(({ data }) => !data.includes(endpoint.id)));
});

test('the log shows how an attempt failed, with the head of the response as text and nothing of its body [W6]', async () => {
  const receiver = await startWebhookReceiver((_, response) =>
    response.writeHead(500, { 'x-note': '<b>"late"</b>' }).end('the body of the answer'),
  );
  const { path, sendTest } = await newEndpoint(receiver.url);

  await sendTest();
  // Not the line of the attempt: a page that was read while the attempt was being stored may show that alone.
  const { text } = await shows(path, FAILED);

  const [, head = ''] = /refused, with status.*?<pre class="sample">(.*?)<\/pre><\/details>/s.exec(text) ?? [];
  assert.match(head, /^500 Internal Server Error\n/);
  assert.ok(head.includes('x-note: &lt;b&gt;&quot;late&quot;&lt;/b&gt;'));
  assert.doesNotMatch(text, /the body of the answer|<b>/);
  assert.match(text, /refused, with status 500/);
});

test('the log shows the payload that was sent, byte for byte, and times to the second', async () => {
  const receiver = await startWebhookReceiver();
  const { path, sendTest } = await newEndpoint(receiver.url);

  await sendTest();
  const { text } = await shows(path, DELIVERED);

  const [received] = await receiver.has(1);
  const [, payload = ''] = /<summary[^>]*>Payload<\/summary>.*?<pre class="sample">(.*?)<\/pre>/s.exec(text) ?? [];
  assert.equal(unescaped(payload), received?.body);
  assert.ok(text.includes(`<code>${received?.headers['webhook-id']}</code>`));
  const [, log = ''] = /id="log">(.*?)<\/section>/s.exec(text) ?? [];
  const times = [...log.matchAll(/<time[^>]*>([^<]*)<\/time>/g)].map(([, shown]) => shown);
  assert.equal(times.length, 3);
  for (const shown of times) assert.match(shown ?? '', /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/);
});

test('a delivered and a failed row differ in text and in colour', async () => {
  const receiver = await startWebhookReceiver((_, response) => response.writeHead(statuses.shift() ?? 500).end());
  const statuses = [200, 500];
  const { path, sendTest } = await newEndpoint(receiver.url);

  await sendTest();
  await shows(path, DELIVERED);
  await sendTest();
  const { text } = await shows(path, FAILED);

  assert.deepEqual(
    [...text.matchAll(/<li class="(\w+)">/g)].map(([, look]) => look),
    ['failed', 'delivered'],
  );
});

test('a payload that the app may no longer read is not shown, nor is one that was never sent', async () => {
  const receiver = await startWebhookReceiver();
  const app = await server.addApp({ ownerBusinessId: server.acme.id });
  const endpoint = { appId: app.id, url: receiver.url, eventTypes: ['invoice.created'] };
  const { endpoint: added } = await insertEndpoint(db(), keys, endpoint, server.clock());
  const path = `${DEVELOPER}/${app.id}/endpoints/${added.id}`;
  const code = await server.allow({ client_id: app.id });
  await server.exchange(code, { client_id: app.id, client_secret: app.secret });
  await server.addInvoice(server.acme, { number: 'SEEN-1' });
  assert.match((await shows(path, DELIVERED)).text, /SEEN-1/);

  await markEndpointDisabled(db(), added.id, 'by_owner', server.clock());
  await server.addInvoice(server.acme, { number: 'UNSENT-1' });
  const waiting = await shows(path, /Waiting/);
  const parties = { userId: server.ada.id, appId: app.id, businessId: server.acme.id };
  await endConnections(db(), parties, 'disconnected_by_user', server.clock());
  const { text } = await browser.open(path);

  assert.doesNotMatch(waiting.text, /UNSENT-1/);
  assert.doesNotMatch(text, /SEEN-1|UNSENT-1/);
  assert.match(text, /The payload is hidden: the app is no longer allowed to read it\./);
});

test('the log distinguishes an unreachable address from one that is not public', async () => {
  const [silent, inward] = [await newEndpoint('http://127.0.0.1:1/'), await newEndpoint('https://10.0.0.1/')];

  await silent.sendTest();
  await inward.sendTest();

  await shows(silent.path, /could not be reached, after \d+ ms/);
  await shows(inward.path, /the address is not on the public internet/);
});

test('a delivered event can be sent again, with the same id, and the log has both attempts', async () => {
  const receiver = await startWebhookReceiver(respondWithStatus(204));
  const { path, sendTest } = await newEndpoint(receiver.url);
  await sendTest();
  const page = await shows(path, DELIVERED);
  const [resending = ''] = resendPaths(page);

  const said = await browser.submit(page, resending);
  const [first, second] = await receiver.has(2);
  await shows(path, /(with status 204.*){2}/s);

  assert.equal(said.url, `${server.web}${path}?sent=again`);
  assert.equal(second?.headers['webhook-id'], first?.headers['webhook-id']);
});

test('a delivery to another endpoint, or to none, is not sent again under this one', async () => {
  const receiver = await startWebhookReceiver();
  const [mine, other] = [await newEndpoint('https://hooks.example/'), await newEndpoint(receiver.url)];
  await other.sendTest();
  const [resending = ''] = resendPaths(await shows(other.path, DELIVERED));
  const csrf = await browser.csrf();

  for (const path of [
    resending.replace(other.path, mine.path),
    `${mine.path}/deliveries/${mine.endpoint.id}/resend`,
    `${mine.path}/deliveries/nonsense/resend`,
  ]) {
    assert.equal((await browser.post(path, { csrf })).status, 404, path);
  }
  assert.equal(receiver.received.length, 1);
});

test('the log is shown 25 at a time, newest first, and deliveries that wait for a disabled endpoint say so', async () => {
  const { endpoint, appId, path } = await newEndpoint('https://hooks.example/');
  await markEndpointDisabled(db(), endpoint.id, 'by_owner', server.clock());
  const data = { endpointId: endpoint.id };
  // As one, so that they are also dispatched as one.
  await server.storage().transaction(async (tx) => {
    const event = { type: 'endpoint.test', appId, businessId: null, data } as const;
    for (let i = 0; i < 30; i++) await recordEvent(tx, event, server.clock());
  });
  const older = new RegExp(`href="(${path}\\?before=[\\w-]+)#log">Older<`);

  const newest = await shows(path, older);
  const [, next = ''] = older.exec(newest.text) ?? [];
  const last = await browser.open(next);

  assert.match(newest.text, /Waiting<\/span> Until the endpoint is switched on/);
  assert.equal(resendPaths(newest).length, 25);
  assert.doesNotMatch(last.text, />Older</);
  assert.match(last.text, />Newest</);
  assert.equal(new Set([...resendPaths(newest), ...resendPaths(last)]).size, 30);
});

test('a page of the log with an unknown cursor is not found', async () => {
  const { path } = await newEndpoint('https://hooks.example/');

  assert.equal((await browser.open(`${path}?before=nonsense`)).status, 404);
  assert.match((await browser.open(`${path}?before=00000000-0000-7000-8000-000000000000`)).text, /No older deliveries/);
  assert.doesNotMatch((await browser.open(`${path}?sent=constructor`)).text, /role="status"/);
});
