import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { retentionSteps } from '../../../src/jobs.ts';
import { DAY, HOUR } from '../../../src/lib/clock.ts';
import { newRandomId } from '../../../src/lib/ids.ts';
import { hourOf, listCounts, listScopeUses } from '../../../src/request-log/counts.ts';
import type { RequestContext } from '../../../src/request-log/log.ts';
import { createRequestRecorder } from '../../../src/request-log/recorder.ts';
import { migrate } from '../../../src/storage/migrate.ts';
import { openStorage } from '../../../src/storage/open.ts';
import { removeExpired } from '../../../src/storage/retention.ts';
import { createTestDatabase } from '../../support/databases.ts';

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-test-'));
const database = await createTestDatabase(folder);
const storage = await openStorage(database.url);
await migrate(storage);
const db = storage.durable;
after(async () => {
  await storage.close();
  await database.remove();
  rmSync(folder, { recursive: true, force: true });
});

const START = Date.UTC(2030, 0, 1);

interface Noted extends RequestContext {
  status?: number;
  reason?: string | null;
}

/** A recorder with its own clock, and a function that records requests of one app. */
function newRecorder() {
  const reported: unknown[] = [];
  let now = START;
  const recorder = createRequestRecorder(
    storage,
    () => now,
    (error) => reported.push(error),
  );
  after(() => recorder.stop());
  const parties = { appId: newRandomId(), userId: newRandomId(), businessId: newRandomId() };
  const note = ({ status = 200, reason = null, ...context }: Noted = {}) => {
    const request = { method: 'GET', route: '/api/v1/accounting/invoices', requestId: newRandomId(), took: 3 };
    recorder.record({ ...request, status, reason }, { ...parties, scope: 'read:invoices', ...context });
  };
  const logged = (appId = parties.appId) =>
    db.selectFrom('logged_requests').selectAll().where('app_id', '=', appId).orderBy('id').execute();
  const counts = () => listCounts(db, parties.appId, START);
  const advanceClock = (milliseconds: number) => {
    now += milliseconds;
  };
  return { ...parties, recorder, reported, note, logged, counts, advanceClock };
}

test('recorded requests are stored by the next flush, and counted by hour, scope and day', async () => {
  const { recorder, note, logged, counts, advanceClock, businessId, userId, appId } = newRecorder();

  note();
  note({ status: 403, reason: 'insufficient_scope' });
  advanceClock(HOUR);
  note();
  await recorder.flush();
  advanceClock(DAY);
  note();
  await recorder.flush();

  assert.equal((await logged()).length, 4);
  assert.deepEqual(
    (await counts()).map(({ hour, requests, errors }) => [hour - hourOf(START), requests, errors]),
    [
      [0, 2, 1],
      [1, 1, 0],
      [25, 1, 0],
    ],
  );
  const list = async (query: Parameters<typeof listScopeUses>[1], since: number) =>
    (await listScopeUses(db, query, since)).map((row) => ({ ...row }));
  const used = { appId, userId, scope: 'read:invoices' };
  assert.deepEqual(await list({ businessId }, START), [{ ...used, uses: 3, lastAt: START + HOUR + DAY }]);
  assert.deepEqual(await list({ businessId, userId }, START + DAY), [{ ...used, uses: 1, lastAt: START + HOUR + DAY }]);
  assert.deepEqual(await list({ businessId, userId: newRandomId() }, START), []);
});

test('a refresh is counted only if it returned tokens', async () => {
  const { recorder, note, counts } = newRecorder();

  note({ grantType: 'refresh_token' });
  note({ grantType: 'refresh_token', status: 400, reason: 'token_unknown' });
  note({ grantType: 'authorization_code' });
  await recorder.flush();

  const [{ requests, errors, refreshes } = {}] = await counts();
  assert.deepEqual({ requests, errors, refreshes }, { requests: 3, errors: 1, refreshes: 1 });
});

test('two recorders that add to the same rows at once lose nothing', async () => {
  const [one, other] = [newRecorder(), newRecorder()];

  for (let i = 0; i < 20; i++) {
    one.note();
    other.note({ appId: one.appId });
    one.note({ appId: other.appId });
    other.note();
    await Promise.all([one.recorder.flush(), other.recorder.flush()]);
  }

  for (const { counts } of [one, other]) assert.equal((await counts())[0]?.requests, 40);
  assert.deepEqual([...one.reported, ...other.reported], []);
});

test('of a burst of requests, the newest hundred are logged and all are counted', async () => {
  const { recorder, note, logged, counts, advanceClock } = newRecorder();

  for (let i = 0; i < 250; i++) {
    note();
    advanceClock(1);
  }
  await recorder.flush();

  const rows = await logged();
  assert.deepEqual(
    rows.map(({ at }) => at - START),
    Array.from({ length: 100 }, (_, index) => 150 + index),
  );
  assert.equal((await counts())[0]?.requests, 250);
});

test('a busy app keeps about its newest thousand requests, and does not displace those of another', async () => {
  const { recorder, note, logged, advanceClock } = newRecorder();
  const quiet = newRandomId();
  note({ appId: quiet });

  for (let i = 0; i < 2000; i++) {
    note();
    advanceClock(1);
    if (i % 100 === 99) await recorder.flush();
  }

  const rows = await logged();
  assert.ok(rows.length >= 1000 && rows.length < 1500, String(rows.length));
  assert.equal(rows.at(-1)?.at, START + 1999);
  assert.equal((await logged(quiet)).length, 1);
});

const WRONG_SECRET = { status: 401, reason: 'credentials_wrong' };
const REJECTED = {
  status: 303,
  reason: 'scope_unknown',
  rejected: { name: 'scope', redirectOrigin: null, difference: null },
};
type Stored = { reason: string | null; parameter: string | null };
const BY_ANYONE: [name: string, noted: Noted, isSuch: (row: Stored) => boolean][] = [
  ['requests with wrong secrets', WRONG_SECRET, ({ reason }) => reason === 'credentials_wrong'],
  ['rejected authorize requests', REJECTED, ({ parameter }) => parameter !== null],
];

for (const [name, noted, isSuch] of BY_ANYONE) {
  test(`${name} do not displace the app’s own, and are not in the chart`, async () => {
    const { recorder, note, logged, counts, advanceClock } = newRecorder();
    const others = BY_ANYONE.filter((each) => each[1] !== noted);

    for (let i = 0; i < 90; i++) note();
    for (const [, other] of others) note(other);
    advanceClock(1);
    for (let i = 0; i < 3000; i++) note(noted);
    await recorder.flush();
    const once = await logged();
    for (let round = 0; round < 60; round++) {
      for (let i = 0; i < 50; i++) note(noted);
      advanceClock(1);
      await recorder.flush();
    }
    const later = await logged();

    assert.deepEqual([once.filter(isSuch).length, once.length], [20, 111]);
    assert.equal(later.length - later.filter(isSuch).length, 91);
    assert.ok(later.filter(isSuch).length < 700, String(later.length));
    assert.deepEqual(
      (await counts()).map(({ requests, errors }) => [requests, errors]),
      [[90, 0]],
    );
  });

  test(`${name} of ten thousand apps leave room for the requests of others`, async () => {
    const { recorder, note, logged } = newRecorder();

    for (let i = 0; i < 10_001; i++) note({ ...noted, appId: newRandomId() });
    note();
    await recorder.flush();

    assert.equal((await logged()).length, 1);
  });
}

test('while the database rejects writes nothing is lost or thrown, and one error is logged', async () => {
  const { recorder, reported, note, logged, counts } = newRecorder();
  const allowWrites = await database.rejectWrites(storage);

  note();
  await recorder.flush();
  note();
  await recorder.flush();
  await allowWrites();
  note();
  await recorder.flush();

  assert.equal((await logged()).length, 3);
  assert.equal((await counts())[0]?.requests, 3);
  assert.equal(reported.length, 1);
});

test('during a long outage memory use is bounded, and the number of dropped entries is logged', async () => {
  const { recorder, reported, note } = newRecorder();
  const allowWrites = await database.rejectWrites(storage);

  for (let i = 0; i < 20_010; i++) note({ appId: newRandomId() });
  await recorder.flush();
  for (let i = 0; i < 10; i++) note({ appId: newRandomId() });
  await allowWrites();
  await recorder.flush();

  assert.equal(reported.length, 2);
  assert.match(String(reported[1]), /buffers were full: \d+ requests/);
  const { count } = await db
    .selectFrom('logged_requests')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  assert.ok(Number(count) < 15_000, String(count));
});

test('entries that were stored before an outage are not stored again', async () => {
  const { recorder, note, counts, businessId } = newRecorder();
  for (let i = 0; i < 5000; i++) note({ userId: newRandomId() });

  const flushed = recorder.flush();
  while ((await listScopeUses(db, { businessId }, START)).length === 0) await setImmediate();
  const allowWrites = await database.rejectWrites(storage);
  await flushed;
  await allowWrites();
  const before = await listScopeUses(db, { businessId }, START);
  await recorder.flush();

  const uses = await listScopeUses(db, { businessId }, START);
  assert.ok(before.length > 0);
  assert.deepEqual([uses.length, new Set(uses.map(({ uses }) => Number(uses)))], [5000, new Set([1])]);
  assert.equal((await counts())[0]?.requests, 5000);
});

test('while many entries are stored, other queries run in between', async () => {
  const { recorder, note } = newRecorder();
  for (let i = 0; i < 2000; i++) note({ userId: newRandomId() });

  let [isStored, turns] = [false, 0];
  const stored = recorder.flush().then(() => {
    isStored = true;
  });
  for (; !isStored; turns += 1) {
    await db.selectFrom('apps').select('id').limit(1).execute();
    await setImmediate();
  }
  await stored;

  // PostgreSQL runs the queries of several connections at once, whatever the recorder does.
  assert.ok(turns >= (storage.engine === 'sqlite' ? 20 : 2), String(turns));
});

test('a request of an unknown app is not recorded', async () => {
  const { recorder } = newRecorder();
  const before = await db.selectFrom('logged_requests').select('id').execute();

  recorder.record({ method: 'POST', route: '/x', status: 401, reason: null, requestId: newRandomId(), took: 1 }, {});
  await recorder.flush();

  assert.equal((await db.selectFrom('logged_requests').select('id').execute()).length, before.length);
});

test('requests are removed after 7 days, counts and uses after 31, and younger ones stay', async () => {
  const { recorder, note, logged, counts, advanceClock, businessId } = newRecorder();
  const uses = () => listScopeUses(db, { businessId }, START);
  note();
  advanceClock(20 * DAY);
  note();
  await recorder.flush();

  await removeExpired(db, retentionSteps(), START + 20 * DAY);
  const afterTwenty = [(await logged()).length, (await counts()).length, (await uses())[0]?.uses];
  await removeExpired(db, retentionSteps(), START + 33 * DAY);
  const afterMonth = [(await logged()).length, (await counts()).length, (await uses())[0]?.uses];

  assert.deepEqual(afterTwenty, [1, 2, 2]);
  assert.deepEqual(afterMonth, [0, 1, 1]);
});
