import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { recordHappenings } from '../../src/events/happenings.ts';
import { SECOND } from '../../src/lib/clock.ts';
import { openStorage } from '../../src/storage/open.ts';
import { spreadHappenings } from '../../src/webhooks/spreading.ts';
import { connectApps } from '../support/connected-apps.ts';
import { databaseUrl, TEMPLATE, withLongConnectTimeout } from '../support/databases.ts';
import { createFixtures } from '../support/fixtures.ts';
import { spreadAll } from '../support/happenings.ts';
import { createTemplate, startPostgres } from '../support/postgres-server.ts';

const postgres = await startPostgres();
after(() => postgres.remove());
await createTemplate(postgres.url);
const url = withLongConnectTimeout(databaseUrl(postgres.url, TEMPLATE));
const [storage, other] = await Promise.all([openStorage(url), openStorage(url)]);
after(() => Promise.all([storage.close(), other.close()]));
const db = storage.durable;
const { acme, ada } = await createFixtures(() => storage, Date.now);
const apps = await connectApps(storage, { businessId: acme.id, userId: ada.id, count: 7 }, Date.now());

const PROCESS = fileURLToPath(new URL('../support/spreading-process.ts', import.meta.url));
const happening = (contactId: string) =>
  ({ type: 'contact.created', businessId: acme.id, data: { contactId } }) as const;
const namesOf = (count: number) => Array.from({ length: count }, (_, index) => `Contact ${index}`);

async function record(names: string[]): Promise<void> {
  await db.deleteFrom('events').execute();
  await recordHappenings(db, names.map(happening), Date.now());
}

/** What each app was told, in the order of the ids of its events. */
async function assertToldOnce(names: string[]): Promise<void> {
  const rows = await db.selectFrom('events').selectAll().orderBy('id').execute();
  const byApp = Map.groupBy(rows, ({ app_id }) => app_id);
  assert.deepEqual([...byApp.keys()].sort(), apps);
  for (const events of byApp.values()) {
    assert.deepEqual(
      events.map(({ data }) => JSON.parse(data).contactId),
      names,
    );
  }
}

test('two nodes never spread the same happening', async () => {
  const names = namesOf(300);
  await record(names);

  let turns = [0, 0];
  const spread = async (index: 0 | 1) => {
    const deps = { storage: index === 0 ? storage : other, clock: Date.now, batchSize: 20 };
    // Leaves the rest to the other node after each transaction.
    for (let idle = 0; idle < 20; ) {
      let isOver = false;
      const isMine = await spreadHappenings(
        deps,
        () => {
          isOver = true;
          turns = turns.with(index, (turns[index] ?? 0) + 1);
        },
        () => isOver,
      );
      idle = isMine ? 0 : idle + 1;
      if ((await db.selectFrom('happenings').select('id').limit(1).execute()).length === 0) return;
      await setTimeout(5);
    }
  };
  await Promise.all([spread(0), spread(1)]);
  await spreadAll({ storage, clock: Date.now });

  await assertToldOnce(names);
  assert.ok(
    turns.every((count) => count > 0),
    String(turns),
  );
});

test('a job that is killed again and again neither loses nor doubles an event', { timeout: 120 * SECOND }, async () => {
  const names = namesOf(200);
  await record(names);
  let kills = 0;

  for (const lines of [1, 3, 8]) {
    const child = spawn(process.execPath, [PROCESS, url], { stdio: ['ignore', 'pipe', 'inherit'] });
    for (let seen = 0; seen < lines; ) seen += String(await once(child.stdout, 'data')).split('\n').length - 1;
    child.kill('SIGKILL');
    await once(child, 'close');
    kills += 1;
    assert.notDeepEqual(await db.selectFrom('happenings').select('id').execute(), []);
    // As after half a minute.
    await db.updateTable('leases').set({ expires_at: 0 }).execute();
  }
  await spreadAll({ storage, clock: Date.now });

  assert.equal(kills, 3);
  await assertToldOnce(names);
});

test('a happening that is committed after later ones were spread is not lost', async () => {
  await record([]);
  await storage.transaction(async (tx) => {
    await recordHappenings(tx, [happening('Slow')], Date.now() - 20 * SECOND);
    await recordHappenings(other.durable, [happening('Fast')], Date.now());
    await spreadAll({ storage: other, clock: Date.now });
  });
  await spreadAll({ storage: other, clock: Date.now });

  await assertToldOnce(['Fast', 'Slow']);
});
