import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { OPERATOR } from '../../../src/audit/entries.ts';
import { importRecords } from '../../../src/business/import/import.ts';
import { watchEvents } from '../../../src/cli/listen.ts';
import { LISTED_AFTER } from '../../../src/events/events.ts';
import { newId } from '../../../src/lib/ids.ts';
import { contacts } from '../../../src/resources/contacts.ts';
import { openStorage } from '../../../src/storage/open.ts';
import type { Database } from '../../../src/storage/storage.ts';
import { connectBusiness } from '../../support/business-api.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const isPostgres = !server.settings.databaseUrl.startsWith('sqlite:');
const otherProcess = await openStorage(server.database.url);
after(() => otherProcess.close());

/** An import in another process, which pauses in its transaction until `finish` is called. */
async function startImport(business: Parameters<typeof importRecords>[2]['business'], names: string[]) {
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
  const done = importRecords(OPERATOR, otherProcess.durable, job, server.clock);
  await Promise.race([paused.promise, done]);
  return {
    finish() {
      resumed.resolve();
      return done;
    },
  };
}

/** A transaction in which 0.1.0 imports records: it records the events itself, and says before when it began. */
async function startImportOfEarlierRelease(appId: string, businessId: string) {
  const [paused, resumed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const began = { id: newId(server.clock()), started_at: server.clock() };
  await otherProcess.durable.insertInto('long_transactions').values(began).execute();
  const recordEvent = (tx: Database) => {
    const row = { type: 'contact.created', app_id: appId, business_id: businessId, data: '{}', dispatched_at: 0 };
    const now = server.clock();
    return tx
      .insertInto('events')
      .values({ ...row, id: newId(now), created_at: now })
      .execute();
  };
  const done = otherProcess.transaction(async (tx) => {
    await tx.deleteFrom('long_transactions').where('id', '=', began.id).execute();
    await recordEvent(tx);
    paused.resolve();
    await resumed.promise;
  });
  await Promise.race([paused.promise, done]);
  return {
    finish() {
      resumed.resolve();
      return done;
    },
  };
}

const NAMES = Array.from({ length: 1001 }, (_, index) => `Contact ${index}`);

async function newReader(name: string) {
  const api = await connectBusiness(server, name);
  const authorization = `Basic ${Buffer.from(`${api.app.id}:${api.app.secret}`).toString('base64')}`;
  let cursor = '';
  /** The events since the last call, as an app that polls would read them. */
  const poll = async (): Promise<Listed[]> => {
    const query = cursor && `&cursor=${cursor}`;
    const { status, body } = await server.get(`/api/v1/events?limit=200${query}`, { authorization });
    assert.equal(status, 200);
    if (body.length === 0) return [];
    cursor = body.at(-1).id;
    return [...body, ...(await poll())];
  };
  return { ...api, poll };
}

interface Listed {
  id: string;
  type: string;
  timestamp: string;
}

const typesOf = (events: { type: string }[]) => Object.entries(Object.groupBy(events, ({ type }) => type));
const countsOf = (events: { type: string }[]) => typesOf(events).map(([type, found]) => [type, found?.length]);

test('an app that polls during an import reads every event exactly once, however long the import takes', async () => {
  const { business, poll, send } = await newReader('Slow import');
  server.advanceClock(LISTED_AFTER);
  await poll();
  const beganAt = server.clock();
  const slow = await startImport(business, NAMES);
  server.advanceClock(LISTED_AFTER + 5000);
  // On SQLite, other writes wait for the import.
  if (isPostgres) await send('POST', '/api/v1/crm/deals', { title: 'Deal', amount: '1', currency: 'GBP' });
  if (isPostgres) await server.spreadHappenings();
  server.advanceClock(LISTED_AFTER);

  const meanwhile = await poll();
  const { isImported } = await slow.finish();
  const afterwards: Listed[] = [];
  for (let polls = 0; polls < 3; polls++) {
    await server.spreadHappenings();
    afterwards.push(...(await poll()));
    server.advanceClock(LISTED_AFTER);
  }

  assert.ok(isImported);
  // What the import did not delay is listed while it runs.
  assert.deepEqual(countsOf(meanwhile), isPostgres ? [['deal.created', 1]] : []);
  assert.deepEqual(countsOf(afterwards), [['contact.created', NAMES.length]]);
  assert.equal(new Set(afterwards.map(({ id }) => id)).size, NAMES.length);
  assert.ok(afterwards.every(({ timestamp }) => Date.parse(timestamp) === beganAt));
});

test('an app that polls during an import by an earlier release misses none of its events', async () => {
  const { business, app, poll, send } = await newReader('Earlier import');
  server.advanceClock(LISTED_AFTER);
  await poll();
  const slow = await startImportOfEarlierRelease(app.id, business.id);
  server.advanceClock(LISTED_AFTER + 5000);
  if (isPostgres) await send('POST', '/api/v1/crm/deals', { title: 'Deal', amount: '1', currency: 'GBP' });
  if (isPostgres) await server.spreadHappenings();
  server.advanceClock(LISTED_AFTER);

  const meanwhile = await poll();
  await slow.finish();
  const afterwards = await poll();

  assert.deepEqual(countsOf(meanwhile), []);
  assert.deepEqual(countsOf(afterwards), [['contact.created', 1], ...(isPostgres ? [['deal.created', 1]] : [])]);
});

test('an import of an earlier release that was killed does not delay the list of events', async () => {
  const { poll, send } = await newReader('Killed import');
  server.advanceClock(LISTED_AFTER);
  await poll();
  const db = server.storage().durable;
  await db
    .insertInto('long_transactions')
    .values({ id: newId(server.clock()), started_at: server.clock() })
    .execute();
  await send('POST', '/api/v1/crm/deals', { title: 'Deal', amount: '1', currency: 'GBP' });
  await server.spreadHappenings();
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
  await server.spreadHappenings();

  assert.deepEqual(countsOf(await next()), [['contact.created', NAMES.length]]);
});
