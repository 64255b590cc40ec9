import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OPERATOR } from '../../../src/audit/entries.ts';
import { importRecords } from '../../../src/business/import/import.ts';
import { watchEvents } from '../../../src/cli/listen.ts';
import { LISTED_AFTER } from '../../../src/events/events.ts';
import { newId } from '../../../src/lib/ids.ts';
import { contacts } from '../../../src/resources/contacts.ts';
import { openStorage } from '../../../src/storage/open.ts';
import { connectBusiness } from '../../support/business-api.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const isPostgres = !server.settings.databaseUrl.startsWith('sqlite:');

/** An import in another process, which pauses in its transaction until `finish` is called. */
async function startImport(business: Parameters<typeof importRecords>[2]['business'], names: string[]) {
  const storage = await openStorage(server.database.url);
  const [paused, resumed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let reads = 0;
  async function* open() {
    const isWriting = ++reads === 2;
    for (const [index, name] of names.entries()) yield { line: index + 1, values: { name } };
    if (!isWriting) return;
    paused.resolve();
    await resumed.promise;
  }
  const job = { business, resource: contacts, open, isDryRun: false, onProgress() {} };
  const done = importRecords(OPERATOR, storage.durable, job, server.clock).finally(() => storage.close());
  await Promise.race([paused.promise, done]);
  return {
    finish() {
      resumed.resolve();
      return done;
    },
  };
}

const NAMES = Array.from({ length: 500 }, (_, index) => `Contact ${index}`);

async function newReader(name: string) {
  const api = await connectBusiness(server, name);
  const authorization = `Basic ${Buffer.from(`${api.app.id}:${api.app.secret}`).toString('base64')}`;
  let cursor = '';
  /** The events since the last call, as an app that polls would read them. */
  const poll = async (): Promise<{ type: string }[]> => {
    const query = cursor && `&cursor=${cursor}`;
    const { status, body } = await server.get(`/api/v1/events?limit=200${query}`, { authorization });
    assert.equal(status, 200);
    if (body.length === 0) return [];
    cursor = body.at(-1).id;
    return [...body, ...(await poll())];
  };
  return { ...api, poll };
}

const typesOf = (events: { type: string }[]) => Object.entries(Object.groupBy(events, ({ type }) => type));
const countsOf = (events: { type: string }[]) => typesOf(events).map(([type, found]) => [type, found?.length]);

test('an app that polls for events misses none of an import that takes longer than the delay of the list', async () => {
  const { business, poll, send } = await newReader('Slow import');
  server.advanceClock(LISTED_AFTER);
  await poll();
  const slow = await startImport(business, NAMES);
  server.advanceClock(LISTED_AFTER + 5000);
  // On SQLite, other writes wait for the import.
  if (isPostgres) await send('POST', '/api/v1/crm/deals', { title: 'Deal', amount: '1', currency: 'GBP' });
  server.advanceClock(LISTED_AFTER);

  const meanwhile = await poll();
  const { isImported } = await slow.finish();
  const afterwards = await poll();

  assert.ok(isImported);
  assert.deepEqual(countsOf(meanwhile), []);
  assert.deepEqual(countsOf(afterwards), [
    ['contact.created', NAMES.length],
    ...(isPostgres ? [['deal.created', 1]] : []),
  ]);
});

test('an import that was killed does not delay the list of events', async () => {
  const { poll, send } = await newReader('Killed import');
  server.advanceClock(LISTED_AFTER);
  await poll();
  const db = server.storage().durable;
  await db
    .insertInto('long_transactions')
    .values({ id: newId(server.clock()), started_at: server.clock() })
    .execute();
  await send('POST', '/api/v1/crm/deals', { title: 'Deal', amount: '1', currency: 'GBP' });
  server.advanceClock(LISTED_AFTER);

  assert.deepEqual(countsOf(await poll()), [['deal.created', 1]]);
});

test('gatehouse listen receives the events of a long import', async () => {
  const { business, app } = await newReader('Listened import');
  const next = await watchEvents(server.storage().durable, app.id, server.clock);
  const slow = await startImport(business, NAMES);
  await next();
  server.advanceClock(60_000);
  assert.deepEqual(countsOf(await next()), []);
  await slow.finish();

  assert.deepEqual(countsOf(await next()), [['contact.created', NAMES.length]]);
});
