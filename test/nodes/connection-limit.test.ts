import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { MAX_GRANTS } from '../../src/grants/connection-limit.ts';
import { hasFollowUps, requestFollowUp } from '../../src/grants/follow-ups.ts';
import { selectLiveGrants } from '../../src/grants/status.ts';
import { addExchangedGrants } from '../support/new-grants.ts';
import { ask, connectAt, openWorld, release, type World } from '../support/two-releases.ts';

const world = release && (await openWorld(release));
const skip = !world && 'a shallow clone';
let members = 0;

/** A connection with grants that were created before those that the nodes create. */
async function startWith(count: number) {
  const on = world as World;
  const { storage, addApp, addUser, acme } = on;
  const member = await addUser(`Member${++members}`, [[acme, 'member']]);
  const app = await addApp({ ownerBusinessId: acme.id });
  const connectOn = (node: World['old']) => connectAt(on, node, { app, member });
  const first = [await connectOn(on.old), await connectOn(on.current)];
  await addExchangedGrants(storage, { appId: app.id, userId: member.id, businessId: acme.id, count }, Date.now());
  return {
    on,
    first,
    connectOn,
    askOf: (tokens: (typeof first)[number]) => ask(on, { app, member }, tokens),
    async countLive() {
      const live = selectLiveGrants(storage.durable, Date.now())
        .select('grants.id')
        .where('grants.app_id', '=', app.id);
      return (await live.execute()).length;
    },
    async followUp() {
      while (await hasFollowUps(storage.durable)) await setTimeout(20);
    },
  };
}

test(`what a node of ${release?.name} creates beyond the limit works, until the next Allow of this release`, {
  skip,
}, async () => {
  const { on, first, connectOn, askOf, countLive } = await startWith(MAX_GRANTS - 2);

  const beyond = await connectOn(on.old);
  const counts = [await countLive()];
  const statuses = await Promise.all([...first, beyond].map(askOf));
  const next = await connectOn(on.current);

  assert.deepEqual([...counts, await countLive()], [MAX_GRANTS + 1, MAX_GRANTS]);
  assert.deepEqual(statuses, Array(3).fill([200, 200]));
  // Both nodes reject the two that expire first, whichever node created them.
  assert.deepEqual(await Promise.all(first.map(askOf)), Array(2).fill([401, 401]));
  assert.deepEqual(await Promise.all([beyond, next].map(askOf)), Array(2).fill([200, 200]));
});

test(`while a node of ${release?.name} runs, the job of an upgrade cuts a connection down, and ends nothing that is newer`, {
  skip,
}, async () => {
  const { on, first, connectOn, askOf, countLive, followUp } = await startWith(2 * MAX_GRANTS);
  const newest = [await connectOn(on.old), await connectOn(on.old)];

  await on.storage.transaction((tx) => requestFollowUp(tx, { kind: 'limit', reason: 'connection_limit' }, Date.now()));
  await followUp();

  assert.equal(await countLive(), MAX_GRANTS);
  assert.deepEqual(await Promise.all(first.map(askOf)), Array(2).fill([401, 401]));
  assert.deepEqual(await Promise.all(newest.map(askOf)), Array(2).fill([200, 200]));
});
