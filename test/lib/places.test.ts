import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { Overloaded } from '../../src/lib/errors.ts';
import { hashPassword, isPassword, PASSWORDS } from '../../src/lib/passwords.ts';
import { newPlaces } from '../../src/lib/semaphore.ts';

/** Work that ends when it is told to, and how much of it there has been at once. */
function newWork() {
  const open: (() => void)[] = [];
  const work = { most: 0, now: 0, order: [] as number[] };
  return {
    work,
    do: (name: number) => async () => {
      work.now += 1;
      work.most = Math.max(work.most, work.now);
      work.order.push(name);
      await new Promise<void>((resolve) => open.push(resolve));
      work.now -= 1;
      return name;
    },
    async endAll() {
      await setImmediate();
      for (let next = open.shift(); next; next = open.shift()) {
        next();
        await setImmediate();
      }
    },
  };
}

test('there is never more at once than there are places, and who came first is next', async () => {
  const places = newPlaces({ atOnce: 2, inTurn: 10 });
  const { work, do: doWork, endAll } = newWork();

  const all = [1, 2, 3, 4, 5].map((name) => places.take(doWork(name)));
  await endAll();

  assert.deepEqual(await Promise.all(all), [1, 2, 3, 4, 5]);
  assert.deepEqual(work.order, [1, 2, 3, 4, 5]);
  assert.equal(work.most, 2);
});

test('whoever finds every place taken and every turn given is refused at once, and nobody else is', async () => {
  const places = newPlaces({ atOnce: 1, inTurn: 1 });
  const { do: doWork, endAll } = newWork();
  const within = [1, 2].map((name) => places.take(doWork(name)));

  await assert.rejects(places.take(doWork(3)), Overloaded);
  await endAll();
  const later = places.take(doWork(4));
  await endAll();

  assert.deepEqual(await Promise.all([...within, later]), [1, 2, 4]);
});

test('work that fails gives its place back', async () => {
  const places = newPlaces({ atOnce: 1, inTurn: 0 });

  await assert.rejects(
    places.take(() => Promise.reject(new Error('It failed.'))),
    /It failed/,
  );

  assert.equal(await places.take(async () => 'done'), 'done');
});

test('of more passwords than have a place or a turn the surplus is refused, and the rest are checked [S10]', async () => {
  const stored = await hashPassword('correct horse');
  const surplus = 7;
  const many = PASSWORDS.atOnce + PASSWORDS.inTurn + surplus;

  const answers = await Promise.allSettled(Array.from({ length: many }, () => isPassword('correct horse', stored)));
  const refused = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : []));

  assert.equal(refused.length, surplus);
  for (const reason of refused) assert.ok(reason instanceof Overloaded);
  assert.ok(answers.every((answer) => answer.status === 'rejected' || answer.value));
  assert.equal(await isPassword('correct horse', stored), true);
});
