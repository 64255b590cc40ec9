import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import { runCommand, startNode, type UpgradeNode } from '../../scripts/upgrade/nodes.ts';
import { checkOut, findReleases } from '../../scripts/upgrade/releases.ts';
import type { User } from '../../src/accounts/users.ts';
import { OPERATOR } from '../../src/audit/entries.ts';
import { setPassword } from '../../src/grants/account-reset.ts';
import { hasFollowUps } from '../../src/grants/follow-ups.ts';
import { openStorage } from '../../src/storage/open.ts';
import { createApiClient } from '../faults/support/api-client.ts';
import { fetchCsrf, post, signIn } from '../faults/support/businesses.ts';
import { connect } from '../faults/support/races.ts';
import { createBrowser } from '../support/browser.ts';
import type { Tokens } from '../support/client.ts';
import { databaseUrl, runAsAdmin, withLongConnectTimeout } from '../support/databases.ts';
import { createFixtures, type RegisteredApp } from '../support/fixtures.ts';
import { startPostgres } from '../support/postgres-server.ts';

const THIS = fileURLToPath(new URL('../..', import.meta.url));
const [release] = findReleases();
const world = release && (await openWorld(release));

/** A node of an earlier release, and one of this, on one database that is migrated for this. */
async function openWorld(earlier: NonNullable<typeof release>) {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-releases-'));
  const postgres = await startPostgres();
  const nodes: UpgradeNode[] = [];
  after(async () => {
    for (const node of nodes) node.kill();
    await postgres.remove();
    rmSync(folder, { recursive: true, force: true });
  });
  const checkout = checkOut(earlier, join(folder, 'earlier'));
  await runAsAdmin(postgres.url, ['create database shared']);
  // The earlier release may not know a parameter.
  const plain = databaseUrl(postgres.url, 'shared');
  const url = withLongConnectTimeout(plain);
  for (const each of [checkout, THIS]) {
    const { code, stderr } = await runCommand(each, ['migrate'], plain);
    assert.equal(code, 0, stderr);
  }
  nodes.push(await startNode('earlier', checkout, plain));
  nodes.push(await startNode('this', THIS, url));
  const storage = await openStorage(url);
  after(() => storage.close());
  const fixtures = await createFixtures(() => storage, Date.now);
  const root = await fixtures.addUser('Root', [], true);
  const [old, current] = nodes as [UpgradeNode, UpgradeNode];
  return { ...fixtures, root, storage, old, current, setPasswordOnOld };

  async function setPasswordOnOld(user: User): Promise<void> {
    const command = ['user', 'set-password', '--user', user.id, '--password', 'another long phrase', '--end-grants'];
    const { code, stderr } = await runCommand(checkout, command, plain);
    assert.equal(code, 0, stderr);
  }
}

type World = NonNullable<typeof world>;

interface Parties {
  app: RegisteredApp;
  member: User;
}

async function signInAt({ storage }: World, { api, web }: UpgradeNode, user: User) {
  const person = await signIn(storage, user, createBrowser(web, [api, web]));
  await fetchCsrf(person);
  return person;
}

async function connectAt(on: World, node: UpgradeNode, { app, member }: Parties): Promise<Tokens> {
  return connect({ apiClient: createApiClient(() => node.api), app }, await signInAt(on, node, member));
}

async function send(on: World, node: UpgradeNode, user: User, path: string): Promise<void> {
  const { status } = await post(await signInAt(on, node, user), path, { reason: 'A test.' });
  assert.equal(status, 303);
}

/** Of an API call and then of a refresh: of the earlier release, and of this one. */
async function ask({ old, current }: World, { app }: Parties, { access_token, refresh_token }: Tokens) {
  const statuses: (number | undefined)[] = [];
  for (const { api } of [old, current]) {
    const client = createApiClient(() => api);
    statuses.push((await client.use(access_token))?.status);
    if (statuses.at(-1) !== 200) assert.equal((await client.refresh(app, refresh_token))?.status, 400);
  }
  return statuses;
}

interface Act {
  what: string;
  act(on: World, parties: Parties): Promise<void>;
  /** What the two nodes answer until the follow-up has marked the rows. */
  atOnce: [number, number];
  /** Whether users may allow the app again. */
  isEnd: boolean;
  /** Whether this release counts it. */
  isCounted?: boolean;
}

const pausePath = ({ app }: Parties) => `/platform/apps/${app.id}/pause`;
const disconnectPath = ({ acme }: World, { app }: Parties) =>
  `/businesses/${acme.id}/connected-apps/${app.id}/disconnect`;

const ACTS: Act[] = [
  {
    what: 'a pause by the earlier release',
    act: (on, parties) => send(on, on.old, on.root, pausePath(parties)),
    atOnce: [401, 401],
    isEnd: false,
  },
  {
    what: 'a pause by this release',
    act: (on, parties) => send(on, on.current, on.root, pausePath(parties)),
    atOnce: [401, 401],
    isEnd: false,
  },
  {
    what: 'a disconnect for everyone by the earlier release',
    act: (on, parties) => send(on, on.old, on.ada, disconnectPath(on, parties)),
    atOnce: [401, 401],
    isEnd: true,
  },
  {
    what: 'a disconnect for everyone by this release',
    act: (on, parties) => send(on, on.current, on.ada, disconnectPath(on, parties)),
    atOnce: [200, 401],
    isEnd: true,
    isCounted: true,
  },
  {
    what: 'a password reset by the earlier release',
    act: (on, { member }) => on.setPasswordOnOld(member),
    atOnce: [401, 401],
    isEnd: true,
  },
  {
    what: 'a password reset by this release',
    act: ({ storage }, { member: user }) =>
      setPassword(OPERATOR, storage.durable, { user, password: 'another long phrase', endsGrants: true }, Date.now()),
    atOnce: [401, 401],
    isEnd: true,
    isCounted: true,
  },
  {
    what: 'the end of every token of an app',
    act: (on, { app }) => send(on, on.current, on.ada, `/businesses/${on.acme.id}/developer/${app.id}/end-tokens`),
    atOnce: [200, 401],
    isEnd: true,
    isCounted: true,
  },
];

/** While a transaction has this lock, no follow-up can mark a grant. */
const GATE = 1;

async function createGate({ storage }: World): Promise<void> {
  await sql`create function wait_at_gate() returns trigger language plpgsql as
    ${sql.raw(`$$ begin perform pg_advisory_xact_lock_shared(${GATE}); return new; end $$`)}`.execute(storage.durable);
  await sql`create trigger gate before update of revoked_at on grants for each row execute function wait_at_gate()`.execute(
    storage.durable,
  );
}

if (world) await createGate(world);

for (const { what, act, atOnce, isEnd, isCounted = false } of world ? ACTS : []) {
  const on = world as World;
  const isMarkedLater = atOnce[0] === 200;
  const inTime = isMarkedLater ? 'and after its follow-up' : 'at once also';
  const where = isCounted ? 'works there only' : 'works on both';
  let members = 0;

  async function begin() {
    members += 1;
    const member = await on.addUser(`Member ${members} of ${what}`, [[on.acme, 'member']]);
    const parties = { member, app: await on.addApp({ ownerBusinessId: on.acme.id }) };
    const tokens = [await connectAt(on, on.old, parties), await connectAt(on, on.current, parties)];
    return { parties, askAll: () => Promise.all(tokens.map((each) => ask(on, parties, each))) };
  }

  async function followUp(): Promise<void> {
    while (await hasFollowUps(on.storage.durable)) await setTimeout(20);
  }

  test(`${what} ends what a node of either release created, ${inTime} on the node of ${release?.name}`, async () => {
    const { parties, askAll } = await begin();
    const before = await askAll();

    const [first] = await on.storage.transaction(async (tx) => {
      if (isMarkedLater) await sql`select pg_advisory_xact_lock(${sql.lit(GATE)})`.execute(tx);
      await act(on, parties);
      return [await askAll()];
    });
    await followUp();

    assert.deepEqual(before, [
      [200, 200],
      [200, 200],
    ]);
    assert.deepEqual(first, [atOnce, atOnce]);
    assert.deepEqual(await askAll(), [
      [401, 401],
      [401, 401],
    ]);
  });

  if (!isEnd) continue;
  test(`after ${what}, a grant that the node of ${release?.name} creates ${where}, and one of this release works on both`, async () => {
    const { parties } = await begin();
    await act(on, parties);
    await followUp();

    const [fromOld, fromCurrent] = [await connectAt(on, on.old, parties), await connectAt(on, on.current, parties)];

    assert.deepEqual(await ask(on, parties, fromOld), isCounted ? [200, 401] : [200, 200]);
    assert.deepEqual(await ask(on, parties, fromCurrent), [200, 200]);
  });
}

test('this clone has the release', { skip: !release && 'a shallow clone' }, () => assert.ok(world));
