import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { newId } from '../../../src/lib/ids.ts';
import { watchStatements } from '../../../src/storage/statement-log.ts';
import type { Browser } from '../../support/browser.ts';
import { startTestServer } from '../../support/test-server.ts';

/** A step of a search or an export has two statements. */
let statements = 0;
const stopWatching = watchStatements(({ sql }) => {
  if (/^select .*from "audit_entries"/.test(sql)) statements += 1;
});
after(stopWatching);

const server = await startTestServer();
const ada = await server.signedIn();
const busy = await server.addBusiness('Busy');
const owner = await server.signedIn(await server.addUser('Bo', [[busy, 'owner']]));
const BUSY_LOG = `/businesses/${busy.id}/audit-log`;
await addEntries(busy.id, 4000);
await addEntries(server.acme.id, 3000);

async function addEntries(businessId: string, count: number): Promise<void> {
  const at = server.clock();
  const kinds = { action: 'app.changed', actor_kind: 'user', subject_kind: 'app' } as const;
  const names = { actor_name: 'x', actor_email: null, address: null, subject_name: 'x', subject_id: 'x' };
  const more = { at, actor_id: null, person_id: null, business_id: businessId, detail: '{}' };
  for (let added = 0; added < count; added += 500) {
    const rows = Array.from({ length: 500 }, () => ({ id: newId(at), ...kinds, ...names, ...more }));
    await server.storage().durable.insertInto('audit_entries').values(rows).execute();
  }
}

/** Until the server reads for the first of them. */
async function startReading(
  browser: Browser,
  path: string,
  { count, signal }: { count: number; signal?: AbortSignal },
) {
  statements = 0;
  const init = signal ? { signal } : {};
  const responses = Array.from({ length: count }, async () => {
    const response = await browser.fetch(path, init);
    return { status: response.status, headers: response.headers, text: await response.text() };
  });
  while (statements === 0) await setTimeout(1);
  return responses;
}

test('a search waits for at most a step of another business before each of its own, however many exports that one has', async () => {
  const exports = await startReading(owner, `${BUSY_LOG}.csv`, { count: 20 });
  const before = statements;

  const found = await ada.open(`${server.acmePath('audit-log')}?q=nothing`);
  const meanwhile = statements - before;

  assert.equal(found.status, 200);
  // Its 7 steps and one before each, and what ran before the request arrived and after its response left.
  assert.ok(meanwhile >= 14 && meanwhile < 100, String(meanwhile));
  for (const { status, text } of await Promise.all(exports)) {
    assert.equal(status, 200);
    assert.ok(text.split('\r\n').length > 4000, 'the file is complete');
  }
  assert.ok(statements >= 20 * 8 * 2);
});

test('a business has 20 searches and exports at the same time, and a further one is a page that says when to try again', async () => {
  const responses = await Promise.all(await startReading(owner, `${BUSY_LOG}?q=nothing`, { count: 40 }));
  const refused = responses.filter(({ status }) => status === 429);

  assert.ok(refused.length > 0 && refused.length <= 20, String(refused.length));
  assert.equal(responses.filter(({ status }) => status === 200).length, 40 - refused.length);
  for (const { headers, text } of refused) {
    assert.equal(headers.get('retry-after'), '5');
    assert.equal(headers.get('content-disposition'), null);
    assert.match(text, /Too many searches and exports of this log at the same time\. Try again in 5 s/);
  }
  assert.equal((await owner.open(`${BUSY_LOG}?q=nothing`)).status, 200);
});

test('nothing more is read for a client that has gone', async () => {
  const client = new AbortController();
  const exports = await startReading(owner, `${BUSY_LOG}.csv`, { count: 20, signal: client.signal });

  client.abort();
  assert.ok((await Promise.allSettled(exports)).every(({ status }) => status === 'rejected'));

  let found = await owner.fetch(`${BUSY_LOG}?group=member`);
  while (found.status === 429) found = await owner.fetch(`${BUSY_LOG}?group=member`);
  assert.ok(statements < 20 * 8, String(statements));
});
