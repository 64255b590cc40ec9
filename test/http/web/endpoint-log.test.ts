import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { recordEvent } from '../../../src/events/events.ts';
import { endConnection } from '../../../src/grants/connections.ts';
import { MINUTE } from '../../../src/lib/clock.ts';
import { createKeyring } from '../../../src/lib/keyring.ts';
import { insertEndpoint, markEndpointDisabled } from '../../../src/webhooks/endpoints.ts';
import { type BrowserPage, unescaped } from '../../support/browser.ts';
import { entriesOf, entryLinksOf, idsOf } from '../../support/log-pages.ts';
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

/** Reloads the page until it matches, since the server sends in the background. */
async function shows(path: string, expected: RegExp): Promise<BrowserPage> {
  for (;;) {
    const page = await browser.open(path);
    if (expected.test(page.text)) return page;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const DELIVERED = /<span class="dot good">Delivered</;
const RETRYING = /<span class="dot caution">Retrying</;

/** The page of the newest delivery, once the log shows this status. */
async function newest(path: string, expected: RegExp): Promise<BrowserPage> {
  const [link = ''] = entryLinksOf(await shows(path, expected));
  return browser.open(link);
}

test('the page of an endpoint without deliveries says so', async () => {
  const { path } = await newEndpoint('https://hooks.example/');

  assert.match((await browser.open(path)).text, /Nothing has been sent here yet/);
});

test('a test event arrives, signed with the secret that was shown, at the endpoint of the form only', async () => {
  const [receiver, neighbour] = [await startWebhookReceiver(), await startWebhookReceiver()];
  const { endpoint, secret, appId, path, sendTest } = await newEndpoint(receiver.url);
  const other = await newEndpoint(neighbour.url, appId);

  const confirmation = await sendTest();
  const [received] = await receiver.waitFor(1);
  const page = await shows(path, DELIVERED);

  assert.ok(received);
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature } = received.headers;
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.${received.body}`).digest('base64');
  assert.equal(signature, `v1,${expected}`);
  assert.equal(received.event.type, 'endpoint.test');
  assert.equal(received.event.data.endpointId, endpoint.id);
  assert.match(confirmation.text, /A test event is on its way/);
  assert.match(entriesOf(page).join(), /^Delivered endpoint\.test 200 \d+ ms …\w{8} [\d-]{10} [\d:]{8} UTC$/);
  assert.deepEqual(idsOf(page), [id]);
  assert.match((await browser.open(other.path)).text, /Nothing has been sent here yet/);
  assert.equal(neighbour.received.length, 0);
});

test('a disabled endpoint offers no test event, and rejects a request for one', async () => {
  const { endpoint, path, sendTest } = await newEndpoint('https://hooks.example/');
  const form = await browser.open(path);
  await markEndpointDisabled(db(), endpoint.id, 'by_owner', server.clock());

  const rejected = await browser.submit(form, `${path}/test`);

  assert.equal(rejected.status, 400);
  assert.match(rejected.text, /Switch it on first/);
  await assert.rejects(sendTest, /the page has a form/);
  const events = await db().selectFrom('events').selectAll().where('type', '=', 'endpoint.test').execute();
  assert.ok(events.every(({ data }) => !data.includes(endpoint.id)));
});

test('the log shows how an attempt failed, with the head of the response as text and nothing of its body [W6]', async () => {
  const receiver = await startWebhookReceiver((_, response) =>
    response.writeHead(500, { 'x-note': '<b>"late"</b>' }).end('the body of the response'),
  );
  const { path, sendTest } = await newEndpoint(receiver.url);

  await sendTest();
  const { text } = await newest(path, RETRYING);

  const [, head = ''] = /Response<\/h3><pre class="sample" tabindex="0">(.*?)<\/pre>/s.exec(text) ?? [];
  assert.match(head, /^500 Internal Server Error\n/);
  assert.ok(head.includes('x-note: &lt;b&gt;&quot;late&quot;&lt;/b&gt;'));
  assert.doesNotMatch(text, /the body of the response|<b>/);
  assert.match(text, /Retrying<\/span> <span class="muted">next attempt from <time/);
});

test('a delivery that waits for the backoff of its endpoint says until when, and the endpoint since when it fails', async () => {
  const { endpoint, path, sendTest } = await newEndpoint('http://127.0.0.1:1/');
  const backOff = (until: number) =>
    db().updateTable('endpoints').set({ backoff_until: until }).where('id', '=', endpoint.id).execute();
  await sendTest();
  const retrying = await newest(path, RETRYING);
  const until = server.clock() + 5 * MINUTE;
  await backOff(until);
  await server.storage().transaction(async (tx) => {
    const data = { endpointId: endpoint.id };
    await recordEvent(tx, { type: 'endpoint.test', appId: endpoint.appId, businessId: null, data }, server.clock());
  });

  const waiting = await newest(path, /Waiting<\/span><div/);
  const delayed = await browser.open(retrying.url);

  const end = new Date(until).toISOString();
  assert.ok(
    waiting.text.includes(
      `Waiting</span> <span class="muted">because the endpoint is backing off until <time datetime="${end}"`,
    ),
  );
  assert.ok(delayed.text.includes(`next attempt from <time datetime="${end}"`));
  const since = new Date(server.clock()).toISOString();
  for (const page of [path, path.slice(0, path.lastIndexOf('/'))]) {
    assert.match((await browser.open(page)).text, new RegExp(`>On<.*>Failing since <time datetime="${since}"`));
  }
});

test('the page of a delivery shows what was sent: the payload, byte for byte, and the headers, but no secret [W1]', async () => {
  const receiver = await startWebhookReceiver();
  const { path, secret, sendTest } = await newEndpoint(receiver.url);

  await sendTest();
  const page = await newest(path, DELIVERED);

  const [received] = await receiver.waitFor(1);
  const [, bytes = ''] = /data-copy-value="([^"]*)" aria-label="Copy: Payload"/.exec(page.text) ?? [];
  const [, shown = ''] = /<code id="payload">(.*?)<\/code>/s.exec(page.text) ?? [];
  const [, sent = ''] = /Headers sent<\/h3><pre class="sample" tabindex="0">(.*?)<\/pre>/s.exec(page.text) ?? [];
  assert.equal(unescaped(bytes), received?.body);
  assert.equal(unescaped(shown), JSON.stringify(received?.event, null, 2));
  for (const line of sent.split('\n')) {
    const [name = '', value] = line.split(': ');
    assert.equal(unescaped(value ?? ''), received?.headers[name], name);
  }
  assert.equal(sent.split('\n').length, 5);
  assert.ok(!page.text.includes(secret.slice('whsec_'.length)));
});

test('the page of a delivery has times to the second', async () => {
  const receiver = await startWebhookReceiver();
  const { path, sendTest } = await newEndpoint(receiver.url);

  await sendTest();
  const { text } = await newest(path, DELIVERED);

  const times = [...text.matchAll(/<time[^>]*>([^<]*)<\/time>/g)].map(([, shown]) => shown);
  assert.equal(times.length, 3);
  for (const shown of times) assert.match(shown ?? '', /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/);
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
  const seen = await newest(path, DELIVERED);
  assert.match(seen.text, /SEEN-1/);

  await markEndpointDisabled(db(), added.id, 'by_owner', server.clock());
  await server.addInvoice(server.acme, { number: 'UNSENT-1' });
  const waiting = await newest(path, /Waiting<\/span><div/);
  const parties = { userId: server.ada.id, appId: app.id, businessId: server.acme.id };
  await endConnection(db(), parties, 'disconnected_by_user', server.clock());
  const { text } = await browser.open(seen.url);

  assert.doesNotMatch(waiting.text, /UNSENT-1/);
  assert.match(waiting.text, /Nothing has been sent yet\./);
  assert.doesNotMatch(text, /SEEN-1/);
  assert.match(text, /The payload is hidden: the app is no longer allowed to read it\./);
});

test('the log distinguishes an unreachable address from one that is not public', async () => {
  const [silent, inward] = [await newEndpoint('http://127.0.0.1:1/'), await newEndpoint('https://10.0.0.1/')];

  await silent.sendTest();
  await inward.sendTest();

  assert.match((await newest(silent.path, /unreachable/)).text, /Could not be reached<.*There was no response\./s);
  assert.match((await newest(inward.path, /address not public/)).text, /No request was sent\./);
});

test('a delivered event can be sent again, with the same id, and its page has both attempts', async () => {
  const receiver = await startWebhookReceiver(respondWithStatus(204));
  const { path, sendTest } = await newEndpoint(receiver.url);
  await sendTest();
  const page = await newest(path, DELIVERED);
  const address = new URL(page.url).pathname;

  const resent = await browser.submit(page, `${address}/resend`);
  const [first, second] = await receiver.waitFor(2);
  const { text } = await shows(address, /(204 No Content.*){2}/s);

  assert.match(resent.text, /The event is being sent again/);
  assert.equal(new URL(resent.url).pathname, address);
  assert.equal(second?.headers['webhook-id'], first?.headers['webhook-id']);
  assert.match(text, /id="attempt-2" open>.*id="attempt-1" >/s);
  assert.match(entriesOf(await shows(path, DELIVERED)).join(), /^Delivered endpoint\.test 204 2 attempts /);
});

test('a delivery to another endpoint, or to none, is not found under this one, and not sent again [D5]', async () => {
  const receiver = await startWebhookReceiver();
  const [mine, other] = [await newEndpoint('https://hooks.example/'), await newEndpoint(receiver.url)];
  await other.sendTest();
  const [link = ''] = entryLinksOf(await shows(other.path, DELIVERED));
  const csrf = await browser.csrf();

  for (const path of [
    link.replace(other.path, mine.path),
    `${mine.path}/deliveries/${mine.endpoint.id}`,
    `${mine.path}/deliveries/nonsense`,
  ]) {
    assert.equal((await browser.open(path)).status, 404, path);
    assert.equal((await browser.post(`${path}/resend`, { csrf })).status, 404, path);
  }
  assert.equal(receiver.received.length, 1);
});
