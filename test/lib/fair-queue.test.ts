import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { ClientGone, TooManyRequests } from '../../src/lib/errors.ts';
import { fairQueue } from '../../src/lib/fair-queue.ts';

const newQueue = () => fairQueue({ maxMembers: 300, counted: 'searches' });

/** Work that records its name, and how much of it ran at once. */
function newWork() {
  const seen = { order: [] as string[], now: 0, most: 0 };
  const work = (name: string) => async () => {
    seen.order.push(name);
    seen.now += 1;
    seen.most = Math.max(seen.most, seen.now);
    await setImmediate();
    seen.now -= 1;
    return name;
  };
  return { seen, work };
}

test('one piece of work runs at a time, and each returns its result', async () => {
  const join = newQueue();
  const { seen, work } = newWork();

  const results = await Promise.all(['a', 'b', 'c'].map((name) => join(name).run(work(name))));

  assert.deepEqual(results, ['a', 'b', 'c']);
  assert.equal(seen.most, 1);
});

test('each piece of a group waits for at most one of another, however many members that one has', async () => {
  const join = newQueue();
  const { seen, work } = newWork();
  const many = Array.from({ length: 300 }, async () => {
    const member = join('many');
    for (let step = 0; step < 3; step += 1) await member.run(work('many'));
  });

  const one = join('one');
  for (let step = 0; step < 5; step += 1) await one.run(work('one'));
  const order = seen.order.slice(0, 10);
  await Promise.all(many);

  assert.deepEqual(order, Array.from({ length: 5 }, () => ['many', 'one']).flat());
  assert.equal(seen.order.length, 905);
});

test('members of one group take turns', async () => {
  const join = newQueue();
  const { seen, work } = newWork();
  const runTwice = async (name: string) => {
    const member = join('group');
    for (let step = 0; step < 2; step += 1) await member.run(work(name));
  };

  await Promise.all(['a', 'b', 'c'].map(runTwice));

  assert.deepEqual(seen.order, ['a', 'b', 'c', 'a', 'b', 'c']);
});

test('a group with as many members as it may have is refused another until one leaves, and other groups are not', () => {
  const join = fairQueue({ maxMembers: 2, counted: 'searches of this log' });
  const [first] = [join('full'), join('full')];

  assert.throws(
    () => join('full'),
    (error) => error instanceof TooManyRequests && /^Too many searches of this log\. Try again in/.test(error.message),
  );
  join('other');
  first.leave();
  first.leave();
  join('full');
  assert.throws(() => join('full'), TooManyRequests);
});

test('a member whose client has gone never gets its turn, and makes room', async () => {
  const join = fairQueue({ maxMembers: 2, counted: 'searches' });
  const { seen, work } = newWork();
  const client = new AbortController();
  const running = join('group').run(work('running'));
  const gone = join('group', client.signal);
  const waiting = gone.run(work('waiting'));

  client.abort();

  await assert.rejects(waiting, ClientGone);
  await assert.rejects(gone.run(work('later')), ClientGone);
  assert.deepEqual(await Promise.all([running, join('group').run(work('next'))]), ['running', 'next']);
  assert.deepEqual(seen.order, ['running', 'next']);
  await assert.rejects(join('another', client.signal).run(work('too late')), ClientGone);
});

test('work that fails passes the turn on', async () => {
  const join = newQueue();
  const failing = join('a').run(() => Promise.reject(new Error('It failed.')));
  const next = join('a').run(async () => 'next');

  await assert.rejects(failing, /It failed/);
  assert.equal(await next, 'next');
});

test('other events of the process run between two pieces of work', async () => {
  const join = newQueue();
  let events = 0;
  let isOver = false;
  const count = async () => {
    for (; !isOver; events += 1) await setImmediate();
  };
  const counting = count();

  await Promise.all(Array.from({ length: 10 }, () => join('a').run(async () => undefined)));
  isOver = true;
  await counting;

  assert.ok(events >= 9, String(events));
});
