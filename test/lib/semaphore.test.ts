import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { Overloaded } from '../../src/lib/errors.ts';
import { HASHING, verifyPassword } from '../../src/lib/passwords.ts';
import { semaphore } from '../../src/lib/semaphore.ts';
import { hashCheaply } from '../support/cheap-hash.ts';

/** Work that ends on demand, and records how much of it ran at once. */
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

test('no more work runs at once than the concurrency allows, in order of arrival', async () => {
  const limit = semaphore({ concurrency: 2, maxQueue: 10 });
  const { work, do: doWork, endAll } = newWork();

  const all = [1, 2, 3, 4, 5].map((name) => limit(doWork(name)));
  await endAll();

  assert.deepEqual(await Promise.all(all), [1, 2, 3, 4, 5]);
  assert.deepEqual(work.order, [1, 2, 3, 4, 5]);
  assert.equal(work.most, 2);
});

test('work that finds the queue full is rejected at once, and no other work is', async () => {
  const limit = semaphore({ concurrency: 1, maxQueue: 1 });
  const { do: doWork, endAll } = newWork();
  const within = [1, 2].map((name) => limit(doWork(name)));

  await assert.rejects(limit(doWork(3)), Overloaded);
  await endAll();
  const later = limit(doWork(4));
  await endAll();

  assert.deepEqual(await Promise.all([...within, later]), [1, 2, 4]);
});

test('work that fails releases its slot', async () => {
  const limit = semaphore({ concurrency: 1, maxQueue: 0 });

  await assert.rejects(
    limit(() => Promise.reject(new Error('It failed.'))),
    /It failed/,
  );

  assert.equal(await limit(async () => 'done'), 'done');
});

test('password checks beyond the queue are rejected, and the rest are performed [S10]', async () => {
  const stored = hashCheaply('correct horse');
  const surplus = 7;
  const many = HASHING.concurrency + HASHING.maxQueue + surplus;

  const results = await Promise.allSettled(Array.from({ length: many }, () => verifyPassword('correct horse', stored)));
  const rejected = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));

  assert.equal(rejected.length, surplus);
  for (const reason of rejected) assert.ok(reason instanceof Overloaded);
  assert.ok(results.every((result) => result.status === 'rejected' || result.value));
  assert.equal(await verifyPassword('correct horse', stored), true);
});
