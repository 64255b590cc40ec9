import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordEvent } from '../../../src/events/events.ts';
import { DAY, HOUR } from '../../../src/lib/clock.ts';
import { newId } from '../../../src/lib/ids.ts';
import { createKeyring } from '../../../src/lib/keyring.ts';
import { dispatchEvents } from '../../../src/webhooks/deliveries.ts';
import { insertEndpoint, markEndpointDisabled } from '../../../src/webhooks/endpoints.ts';
import { nextPageLink, previousPageLink } from '../../support/browser.ts';
import { entriesOf, idsOf } from '../../support/log-pages.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const browser = await server.signedIn();
const keys = createKeyring(server.settings.secretKeys);
const db = () => server.storage().durable;

/** Disabled, so that nothing is sent. */
async function newEndpoint() {
  const app = await server.addApp({ ownerBusinessId: server.acme.id });
  const addition = { appId: app.id, url: 'https://hooks.example/', eventTypes: ['grant.created'] };
  const { endpoint } = await insertEndpoint(db(), keys, addition, 0);
  await markEndpointDisabled(db(), endpoint.id, 'by_owner', server.clock());
  const path = server.acmePath(`developer/${app.id}/endpoints/${endpoint.id}`);
  const deliver = async (times: number[]) => {
    await server.storage().transaction(async (tx) => {
      const event = {
        type: 'endpoint.test',
        appId: app.id,
        businessId: null,
        data: { endpointId: endpoint.id },
      } as const;
      for (const at of times) await recordEvent(tx, event, at);
      while ((await dispatchEvents(tx, 200, server.clock())) > 0);
    });
    const rows = await db().selectFrom('deliveries').selectAll().where('endpoint_id', '=', endpoint.id).execute();
    return rows.sort((a, b) => (a.event_id < b.event_id ? 1 : -1)).map((row) => row.event_id);
  };
  return { endpoint, path, deliver, open: (query = '') => browser.open(path + query) };
}

const now = () => server.clock();

test('the log is shown fifty at a time, newest first, and Previous leads back', async () => {
  const { deliver, open } = await newEndpoint();
  const newest = await deliver(Array.from({ length: 120 }, (_, index) => now() - index));

  const first = await open();
  const second = await browser.open(nextPageLink(first) ?? '');
  const third = await browser.open(nextPageLink(second) ?? '');
  const back = await browser.open(previousPageLink(third) ?? '');
  const start = await browser.open(previousPageLink(back) ?? '');

  assert.deepEqual([...idsOf(first), ...idsOf(second), ...idsOf(third)], newest);
  assert.deepEqual(idsOf(back), idsOf(second));
  assert.deepEqual(idsOf(start), idsOf(first));
  assert.deepEqual([nextPageLink(third), previousPageLink(start)], [undefined, undefined]);
  assert.match(entriesOf(first)[0] ?? '', /^Waiting endpoint\.test …/);
  assert.ok(first.text.length < 60_000, String(first.text.length));
  assert.match(start.text, /<div id="deliveries" data-live>/);
  assert.doesNotMatch(second.text, /data-live/);
});

test('deliveries are filtered by status, time and id, and a page says how to clear filters that match nothing', async () => {
  const { endpoint, path, deliver, open } = await newEndpoint();
  const [waiting = '', delivered = '', retrying = '', failed = ''] = await deliver(
    [0, HOUR, 2 * DAY, 10 * DAY].map((age) => now() - age - 1000),
  );
  const set = (eventId: string, change: Record<string, number | null>) =>
    db().updateTable('deliveries').set(change).where('event_id', '=', eventId).execute();
  await set(delivered, { due_at: null, attempts: 1, delivered_at: now() });
  await set(retrying, { attempts: 3 });
  await set(failed, { due_at: null, attempts: 11, given_up_at: now() });
  const ids = async (query: string) => idsOf(await open(query));

  assert.deepEqual(await ids('?status=waiting'), [waiting]);
  assert.deepEqual(await ids('?status=delivered'), [delivered]);
  assert.deepEqual(await ids('?status=failed'), [retrying, failed]);
  assert.deepEqual(await ids('?time=hour'), [waiting]);
  assert.deepEqual(await ids('?time=week&status=failed'), [retrying]);
  assert.deepEqual(await ids(`?q=${delivered.toUpperCase()}`), [delivered]);
  const none = await open('?status=failed&time=hour');
  assert.match(none.text, /No deliveries match these filters\./);
  assert.ok(none.text.includes(`href="${path}">Clear filters<`));
  assert.match((await open(`?q=${endpoint.id}`)).text, /No delivery to this endpoint has this ID/);
});

test('unknown cursors and filters select the first page', async () => {
  const { deliver, open } = await newEndpoint();
  await deliver([now()]);

  for (const query of [
    '?after=nonsense',
    '?before=x',
    '?status=constructor',
    '?time=__proto__',
    '?q=',
    '?after=a&after=b',
  ]) {
    assert.equal(idsOf(await open(query)).length, 1, query);
  }
  assert.match((await open(`?after=${newId(0)}`)).text, /No older deliveries/);
  assert.match((await open('?q=%00%25')).text, /No delivery to this endpoint has this ID/);
});
