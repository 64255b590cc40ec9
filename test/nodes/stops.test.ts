import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { sql } from 'kysely';
import type { User } from '../../src/accounts/users.ts';
import { OPERATOR } from '../../src/audit/entries.ts';
import { setPassword } from '../../src/grants/account-reset.ts';
import { hasFollowUps } from '../../src/grants/follow-ups.ts';
import { post } from '../faults/support/businesses.ts';
import { ask, connectAt, openWorld, type Parties, release, signInAt, type World } from '../support/two-releases.ts';

const world = release && (await openWorld(release));

async function send(on: World, node: World['old'], user: User, path: string): Promise<void> {
  const { status } = await post(await signInAt(on, node, user), path, { reason: 'A test.' });
  assert.equal(status, 303);
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
