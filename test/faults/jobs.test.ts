import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { OPERATOR } from '../../src/audit/entries.ts';
import { recordHappenings } from '../../src/events/happenings.ts';
import { MAX_GRANTS } from '../../src/grants/connection-limit.ts';
import { endForEveryone } from '../../src/grants/connections.ts';
import { hasFollowUps, requestFollowUp, runFollowUp } from '../../src/grants/follow-ups.ts';
import { selectLiveGrants } from '../../src/grants/status.ts';
import { pauseApp } from '../../src/grants/suspension.ts';
import { createKeyring } from '../../src/lib/keyring.ts';
import { ensureMigrated } from '../../src/storage/migrate.ts';
import { openStorage } from '../../src/storage/open.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { insertEndpoint } from '../../src/webhooks/endpoints.ts';
import { addLiveGrants } from '../support/bulk-data.ts';
import { connectApps } from '../support/connected-apps.ts';
import { databaseUrl, runAsAdmin, TEMPLATE, withLongConnectTimeout } from '../support/databases.ts';
import { createFixtures } from '../support/fixtures.ts';
import { spreadAll } from '../support/happenings.ts';
import { createTemplate, startPostgres } from '../support/postgres-server.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';
import { expireLeases, untilDelivered } from './support/deliveries.ts';
import { concurrency, createProgress, POINTS, timeFor } from './support/progress.ts';
import { createServeProcess, KEY, newAddresses, type ServeProcess } from './support/serve-process.ts';

const PRELOAD = fileURLToPath(new URL('support/kill-after-statements.ts', import.meta.url));
/** Each job executes more statements than this. */
const ALL_POINTS = 20;
/** Two batches. */
const GRANTS = 600;
const [APPS, HAPPENINGS] = [4, 100];
/** After every fifth point a server continues, which also delivers the events; after the others this process does, sooner. */
const DELIVERED = 5;

/** Adds an endpoint to the app, or does nothing. */
type Listen = (appId: string) => Promise<void>;
type World = Awaited<ReturnType<typeof openWorld>>;

/** What a job has to do. */
interface Work {
  appIds: string[];
  /** What exactly one event says, for each app. */
  expected: string[];
  /** No grant of the apps may be active, from now on. */
  isStop: boolean;
}

interface Job {
  what: string;
  /** A part of its first statement. */
  from: string;
  table: 'follow_ups' | 'happenings';
  request(world: World, listen: Listen): Promise<Work>;
}

const JOBS: Job[] = [
  {
    what: 'the follow-up of a stop',
    from: '"follow_ups" order by "done"',
    table: 'follow_ups',
    request: ({ storage, stopGrants, acme }, listen) =>
      stopGrants('disconnected_by_owner', listen, ({ id: appId }) =>
        storage.transaction((tx) =>
          endForEveryone(tx, { appId, businessId: acme.id }, 'disconnected_by_owner', Date.now()),
        ),
      ),
  },
  {
    what: 'the notices of a pause',
    from: '"follow_ups" order by "done"',
    table: 'follow_ups',
    request: ({ storage, stopGrants }, listen) =>
      stopGrants('app_paused', listen, (app) =>
        storage.transaction((tx) => pauseApp(OPERATOR, tx, { app }, Date.now())),
      ),
  },
  {
    what: 'the cut of a connection to its limit',
    from: '"follow_ups" order by "done"',
    table: 'follow_ups',
    async request({ storage, acme, ada, addApp }, listen) {
      const { id: appId } = await addApp({ ownerBusinessId: acme.id });
      await listen(appId);
      const parties = { appId, businessId: acme.id, userId: ada.id };
      const grantIds = await addLiveGrants(storage, Array(MAX_GRANTS + GRANTS).fill(parties), Date.now());
      const limit = { kind: 'limit', ...parties, reason: 'connection_limit' } as const;
      await storage.transaction((tx) => requestFollowUp(tx, limit, Date.now()));
      const expected = grantIds.slice(0, GRANTS).map((id) => `${id} ${limit.reason}`);
      return { appIds: [appId], expected, isStop: false };
    },
  },
  {
    what: 'the spreading of happenings',
    from: 'insert into "leases"',
    table: 'happenings',
    async request({ storage, acme, ada }, listen) {
      const appIds = await connectApps(storage, { businessId: acme.id, userId: ada.id, count: APPS }, Date.now());
      for (const appId of appIds) await listen(appId);
      const names = Array.from({ length: HAPPENINGS }, (_, index) => `Contact ${index}`);
      const happenings = names.map(
        (contactId) => ({ type: 'contact.created', businessId: acme.id, data: { contactId } }) as const,
      );
      await recordHappenings(storage.durable, happenings, Date.now());
      return { appIds, expected: names, isStop: false };
    },
  },
];

async function openWorld(url: string, receiverUrl: string) {
  const storage = await openStorage(url);
  after(() => storage.close());
  await ensureMigrated(storage);
  const { acme, ada, addApp } = await createFixtures(() => storage, Date.now);
  const keys = createKeyring([KEY]);
  const listen = async (appId: string) => {
    const eventTypes = ['grant.revoked', 'contact.created'];
    await insertEndpoint(storage.durable, keys, { appId, url: receiverUrl, eventTypes }, Date.now());
  };
  const stopGrants = async (
    reason: string,
    listenTo: Listen,
    stop: (app: Awaited<ReturnType<typeof addApp>>) => Promise<unknown>,
  ) => {
    const app = await addApp({ ownerBusinessId: acme.id });
    await listenTo(app.id);
    const parties = { appId: app.id, businessId: acme.id, userId: ada.id };
    const grantIds = await addLiveGrants(storage, Array(GRANTS).fill(parties), Date.now());
    await stop(app);
    return { appIds: [app.id], expected: grantIds.map((id) => `${id} ${reason}`), isStop: true };
  };
  return { storage, acme, ada, addApp, listen, stopGrants };
}

async function isWaiting({ durable }: Storage, table: Job['table']): Promise<boolean> {
  return (await durable.selectFrom(table).select('id').limit(1).execute()).length > 0;
}

async function assertStopped({ durable }: Storage, { appIds, isStop }: Work): Promise<void> {
  if (!isStop) return;
  const alive = selectLiveGrants(durable, Date.now()).select('grants.id').where('grants.app_id', 'in', appIds);
  assert.deepEqual(await alive.execute(), []);
}

/** The ids of the events. */
async function assertToldOnce({ durable }: Storage, { appIds, expected }: Work): Promise<string[]> {
  const told = durable.selectFrom('events').select(['id', 'app_id', 'data']).where('app_id', 'in', appIds);
  const rows = await told.where('type', 'in', ['grant.revoked', 'contact.created']).execute();
  const byApp = Map.groupBy(rows, ({ app_id }) => app_id);
  assert.deepEqual([...byApp.keys()].sort(), appIds);
  for (const events of byApp.values()) {
    const said = events
      .map(({ data }) => JSON.parse(data))
      .map(({ contactId, grantId, reason }) => contactId ?? `${grantId} ${reason}`);
    assert.deepEqual(said.sort(), expected.toSorted());
  }
  return rows.map(({ id }) => id);
}

/** As another node does. */
async function finish(storage: Storage): Promise<void> {
  while (await hasFollowUps(storage.durable)) await runFollowUp(storage.durable, Date.now());
  await spreadAll({ storage, clock: Date.now });
}

async function finishOnServer(serving: ServeProcess, storage: Storage, table: Job['table']): Promise<void> {
  await serving.start();
  while (await isWaiting(storage, table)) await setTimeout(20);
  await untilDelivered(storage);
  await serving.kill();
}

async function killAtEachPoint({ what, from, table, request }: Job, url: string, where: string): Promise<void> {
  const delivered = new Set<string>();
  const receiver = await startWebhookReceiver(({ headers }, response) => {
    delivered.add(String(headers['webhook-id']));
    response.end();
  });
  const world = await openWorld(url, receiver.url);
  const { storage } = world;
  const [addresses, env] = [await newAddresses(), { WEBHOOKS_TO_LOOPBACK: 'yes' }];
  const progress = createProgress(`Kills amid ${what} ${where}`, POINTS);
  const due: string[] = [];
  const serving = createServeProcess(addresses, url, { env });

  for (let killed = 0; killed < POINTS; ) {
    const point = 1 + Math.floor((killed * ALL_POINTS) / POINTS);
    const isDelivered = killed % DELIVERED === 0;
    const work = await request(world, isDelivered ? world.listen : async () => {});
    const doomed = { env: { ...env, KILL_FROM: from, KILL_AFTER: String(point) }, preload: PRELOAD };

    const { code, stderr } = await createServeProcess(addresses, url, doomed).waitForExit();

    assert.equal(code, null, `not killed: ${stderr}`);
    assert.ok(await isWaiting(storage, table), `amid the job, after ${point} statements`);
    await assertStopped(storage, work);
    await storage.durable.updateTable('leases').set({ expires_at: 0 }).execute();
    await expireLeases(storage);
    if (isDelivered) await finishOnServer(serving, storage, table);
    else await finish(storage);
    const told = await assertToldOnce(storage, work);
    await assertStopped(storage, work);
    if (isDelivered) due.push(...told);
    killed += 1;
    progress(killed);
  }

  assert.ok(due.length > 0);
  assert.deepEqual(
    due.filter((id) => !delivered.has(id)),
    [],
  );
}

const postgres = await startPostgres();
after(() => postgres.remove());
await createTemplate(postgres.url);

suite('kill -9 amid a job', concurrency(2), () => {
  for (const [index, job] of JOBS.entries()) {
    const sure = 'leaves no grant alive, and each event is recorded once and delivered';
    test(`kill -9 at ${POINTS} points of ${job.what} on SQLite ${sure}`, { timeout: timeFor(POINTS) }, async () => {
      const folder = mkdtempSync(join(tmpdir(), 'gatehouse-faults-'));
      after(() => rmSync(folder, { recursive: true, force: true }));
      await killAtEachPoint(job, `sqlite:${join(folder, 'gatehouse.db')}`, 'on SQLite');
    });

    test(`kill -9 at ${POINTS} points of ${job.what} on PostgreSQL ${sure}`, { timeout: timeFor(POINTS) }, async () => {
      const name = `job_${index}`;
      await runAsAdmin(postgres.url, [`create database ${name} template ${TEMPLATE}`]);
      await killAtEachPoint(job, withLongConnectTimeout(databaseUrl(postgres.url, name)), 'on PostgreSQL');
    });
  }
});
