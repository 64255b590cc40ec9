import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MINUTE } from '../../src/lib/clock.ts';
import { LeaseLost, withLease } from '../../src/storage/leases.ts';
import { startTestServer } from '../support/test-server.ts';

const server = await startTestServer();
const storage = () => server.storage();
const isTaken = async (name: string) => (await withLease(storage(), name, async () => 'taken')) === 'taken';

const setEnd = (name: string, expires_at: number) =>
  storage().durable.updateTable('leases').set({ expires_at }).where('name', '=', name).execute();

test('while one process has a lease, no other takes it, and all others are free', async () => {
  const result = await withLease(storage(), 'one', async () => [await isTaken('one'), await isTaken('two')]);

  assert.deepEqual(result, [false, true]);
});

test('a lease is free after the work, also if that failed', async () => {
  await assert.rejects(
    withLease(storage(), 'failing', () => Promise.reject(new Error('It failed.'))),
    /It failed/,
  );

  assert.ok(await isTaken('failing'));
});

test('the lease of a killed process is taken over once it has expired, and the process can then change nothing', async () => {
  await withLease(storage(), 'killed', async (lease) => {
    await storage().transaction((tx) => lease.confirm(tx));
    assert.ok(lease.isHeld());
    await setEnd('killed', Date.now() - 1);
    assert.ok(await isTaken('killed'));

    await assert.rejects(
      storage().transaction((tx) => lease.confirm(tx)),
      LeaseLost,
    );
  });
});

test('the end of the work of a process that has lost the lease does not free it', async () => {
  const later = Promise.withResolvers<void>();
  let second: Promise<unknown> | undefined;
  await withLease(storage(), 'lost', async () => {
    await setEnd('lost', 0);
    const begun = Promise.withResolvers<void>();
    second = withLease(storage(), 'lost', () => {
      begun.resolve();
      return later.promise;
    });
    await begun.promise;
  });
  const whileTaken = await isTaken('lost');
  later.resolve();
  await second;

  assert.equal(whileTaken, false);
});

test('a lease that ends in an hour was taken before the clock was set back, and is free', async () => {
  await withLease(storage(), 'set-back', async () => {
    await setEnd('set-back', Date.now() + 60 * MINUTE);

    assert.ok(await isTaken('set-back'));
  });
});

test('a transaction keeps other processes out of an expired lease until it ends', async () => {
  await withLease(storage(), 'slow', async (lease) => {
    await setEnd('slow', 0);
    let taking: Promise<boolean> | undefined;
    await storage().transaction(async (tx) => {
      await lease.confirm(tx);
      taking = isTaken('slow');
    });

    assert.equal(await taking, false);
  });
});
