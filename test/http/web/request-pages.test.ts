import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DAY, HOUR } from '../../../src/lib/clock.ts';
import { newRandomId } from '../../../src/lib/ids.ts';
import { addRequests } from '../../../src/request-log/log.ts';
import { nextPageLink, previousPageLink } from '../../support/browser.ts';
import { createClient } from '../../support/client.ts';
import { entriesOf, entryLinksOf, factsOf, idsOf } from '../../support/log-pages.ts';
import { requestOf } from '../../support/request-log.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const browser = await server.signedIn();
const db = () => server.storage().durable;

async function newApp(name: string) {
  const app = await server.addApp({ name, ownerBusinessId: server.acme.id });
  const client = createClient({ ...server, user: server.ada, app, business: server.acme });
  const path = server.acmePath(`developer/${app.id}/requests`);
  return { app, client, path, open: (query = '') => browser.open(path + query) };
}

test('the page of a request shows its status, time, duration, ids, grant type and business, and nothing that was sent [X4]', async () => {
  const { client, open } = await newApp('Inspected');
  const code = await client.allow({}, browser);
  const exchanged = await client.exchange(code);

  const page = await browser.open(entryLinksOf(await open())[0] ?? '');

  const { Time, Duration, ...facts } = factsOf(page);
  assert.match(page.text, /<h2 class="title"><code>POST \/api\/v1\/oauth\/token<\/code>/);
  assert.match(Time ?? '', /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/);
  assert.match(Duration ?? '', /^\d+ ms$/);
  assert.deepEqual(facts, {
    Status: '200 OK',
    'Request ID': exchanged.headers.get('x-request-id'),
    'Grant type': 'authorization_code',
    Business: 'Acme',
    'Business ID': server.acme.id,
  });
  assert.ok(!page.text.includes(code) && !page.text.includes(exchanged.body.access_token));
});

test('a request of another app is not found under this one, nor is one without a valid id [D5]', async () => {
  const [mine, other] = [await newApp('Mine'), await newApp('Other')];
  await other.client.refresh('grt_x');
  const [link = ''] = entryLinksOf(await other.open());

  assert.equal((await browser.open(link)).status, 200);
  for (const id of [link.slice(-36), newRandomId(), 'nonsense', link.slice(-36).toUpperCase()]) {
    assert.equal((await browser.open(`${mine.path}/${id}`)).status, 404, id);
  }
});

test('requests are filtered by status and by time, and a page says how to clear filters that match nothing', async () => {
  const { app, path, open } = await newApp('Filtered');
  const ages = [2 * DAY, 2 * HOUR, 1000];
  const requests = ages.flatMap((age) =>
    [200, 401].map((status) => requestOf(app.id, { at: server.clock() - age, status })),
  );
  await addRequests(db(), requests);
  const count = async (query: string) => entriesOf(await open(query)).length;

  assert.equal(await count('?status=succeeded'), 3);
  assert.equal(await count('?status=failed'), 3);
  assert.equal(await count('?time=day'), 4);
  assert.equal(await count('?time=hour&status=failed'), 1);
  for (const unknown of ['?status=constructor', '?time=__proto__', '?time=week']) assert.equal(await count(unknown), 6);
  const none = await (await newApp('Filtered away')).open('?status=failed&period=month');
  assert.match(none.text, /No requests match these filters\./);
  assert.match(none.text, /href="[^"]*\/requests\?period=month">Clear filters</);
  assert.ok((await open('?status=failed&period=month')).text.includes(`${path}?status=succeeded&amp;period=month`));
});

test('Previous leads back page by page, and the first page starts with the newest request', async () => {
  const { app, open } = await newApp('Paged');
  const requests = Array.from({ length: 120 }, (_, index) => requestOf(app.id, { at: server.clock() + index }));
  await addRequests(db(), requests);
  const newest = requests.map(({ requestId }) => requestId).reverse();

  const first = await open();
  const second = await browser.open(nextPageLink(first) ?? '');
  const third = await browser.open(nextPageLink(second) ?? '');
  const back = await browser.open(previousPageLink(third) ?? '');
  const start = await browser.open(previousPageLink(back) ?? '');
  await addRequests(db(), [requestOf(app.id, { at: server.clock() + 1000 })]);
  const moved = await browser.open(previousPageLink(back) ?? '');
  const newestPage = await browser.open(previousPageLink(moved) ?? '');

  assert.deepEqual(idsOf(third), newest.slice(100));
  assert.equal(nextPageLink(third), undefined);
  assert.deepEqual(idsOf(back), newest.slice(50, 100));
  for (const page of [start, moved]) assert.deepEqual(idsOf(page), newest.slice(0, 50));
  assert.deepEqual(idsOf(newestPage).slice(1), newest.slice(0, 49));
  for (const page of [start, newestPage]) {
    assert.equal(previousPageLink(page), undefined);
    assert.match(page.text, /<div id="requests" data-live>/);
  }
});
