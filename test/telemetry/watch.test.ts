import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordHappenings } from '../../src/events/happenings.ts';
import { requestFollowUp } from '../../src/grants/follow-ups.ts';
import { DAY, MINUTE } from '../../src/lib/clock.ts';
import { newId } from '../../src/lib/ids.ts';
import { migrate } from '../../src/storage/migrate.ts';
import { openStorage } from '../../src/storage/open.ts';
import type { Database } from '../../src/storage/storage.ts';
import { countGrants, readBacklog } from '../../src/telemetry/database-counts.ts';
import { startTestServer } from '../support/test-server.ts';

const server = await startTestServer();
const now = server.clock();

/** Inserts rows of one kind in batches. */
async function addGrants(db: Database, count: number, kind: object): Promise<void> {
  const rows = Array.from({ length: count }, () => ({
    id: newId(now),
    salt: Buffer.alloc(16),
    app_id: server.ledger.id,
    user_id: server.ada.id,
    business_id: server.acme.id,
    scopes: 'read:invoices',
    created_at: now,
    code_expires_at: now + 10 * MINUTE,
    rotation: 0,
    removable_on: Math.ceil(now / DAY) + 32,
    ...kind,
  }));
  for (let index = 0; index < count; index += 100) {
    await db
      .insertInto('grants')
      .values(rows.slice(index, index + 100))
      .execute();
  }
}

test('grants are counted by state, slice by slice, and all of them', async () => {
  const db = server.storage().durable;
  const live = { exchanged_at: now, refresh_expires_at: now + DAY };
  await addGrants(db, 1200, live);
  await addGrants(db, 1100, { ...live, revoked_at: now });
  await addGrants(db, 300, { exchanged_at: now, refresh_expires_at: now - DAY });
  await addGrants(db, 7, {});
  await addGrants(db, 5, { code_expires_at: now - 1 });
  let rests = 0;

  const counts = await countGrants(
    db,
    async () => {
      rests += 1;
      return 'continue';
    },
    now,
  );

  assert.deepEqual(counts, { live: 1200, revoked: 1100, expired: 300, code_waiting: 7, code_expired: 5 });
  assert.equal(rests, 2);
  assert.equal(await countGrants(db, async () => 'stop', now), undefined);
});

async function addDeliveries(db: Database, count: number, createdAt: number): Promise<void> {
  const rows = Array.from({ length: count }, () => ({
    id: newId(now),
    endpoint_id: newId(now),
    event_id: newId(now),
    created_at: createdAt,
    due_at: now,
    attempts: 0,
  }));
  for (let index = 0; index < count; index += 100) {
    await db
      .insertInto('deliveries')
      .values(rows.slice(index, index + 100))
      .execute();
  }
}

test('backlogs are reported with their age, and counted up to 5,000 rows', async () => {
  const db = server.storage().durable;

  const none = await readBacklog(db, now);
  await addDeliveries(db, 1, now - MINUTE);
  const one = await readBacklog(db, now);
  await addDeliveries(db, 5100, now);
  const many = await readBacklog(db, now);

  assert.deepEqual([none.deliveries, none.oldestDelivery], [0, 0]);
  assert.deepEqual([one.deliveries, one.oldestDelivery], [1, 60]);
  assert.equal(many.deliveries, 5000);
});

test('happenings that are not spread yet are reported with the age of the oldest', async () => {
  // A server would spread them.
  const storage = await openStorage('sqlite::memory:');
  await migrate(storage);
  const happening = { type: 'contact.created', businessId: server.acme.id, data: {} } as const;

  const none = await readBacklog(storage.durable, now);
  await recordHappenings(storage.durable, [happening], now - MINUTE);
  await recordHappenings(storage.durable, [happening], now);
  const two = await readBacklog(storage.durable, now);
  await storage.close();

  assert.deepEqual([none.happenings, none.oldestHappening], [0, 0]);
  assert.deepEqual([two.happenings, two.oldestHappening], [2, 60]);
});

test('follow-ups of stops are reported with the age of the oldest', async () => {
  // A server would run them.
  const storage = await openStorage('sqlite::memory:');
  await migrate(storage);
  const followUp = { kind: 'end', appId: newId(now), reason: 'app_tokens_ended' } as const;

  const none = await readBacklog(storage.durable, now);
  await requestFollowUp(storage.durable, followUp, now - MINUTE);
  await requestFollowUp(storage.durable, followUp, now);
  const two = await readBacklog(storage.durable, now);
  await storage.close();

  assert.deepEqual([none.followUps, none.oldestFollowUp], [0, 0]);
  assert.deepEqual([two.followUps, two.oldestFollowUp], [2, 60]);
});

test('expired rows are counted by table until they are removed', async () => {
  const db = server.storage().durable;

  const { toRemove } = await readBacklog(db, now);
  const { toRemove: later } = await readBacklog(db, now + 100 * DAY);

  assert.deepEqual(toRemove, { grants: 0, sessions: 0, events: 0, deliveries: 0 });
  assert.equal(later.grants, 2612);
  assert.equal(later.deliveries, 5000);
});
