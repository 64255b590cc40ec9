import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readLogo } from '../../src/apps/logos.ts';
import { FormError, TooManyRequests } from '../../src/lib/errors.ts';
import { makePng } from '../support/images.ts';

const of = (ownerBusinessId: string) => ({ ownerBusinessId });

test('businesses take turns with their logos, each has four at the same time, and a bad one passes the turn on', async () => {
  const done: string[] = [];
  const read = async (business: string, file = makePng()) => {
    await readLogo(file, of(business)).finally(() => done.push(business));
  };

  const all = [read('busy'), read('busy', Buffer.from('none')), read('busy'), read('busy'), read('other')];
  await assert.rejects(readLogo(makePng(), of('busy')), TooManyRequests);
  const results = await Promise.allSettled(all);

  assert.deepEqual(done, ['busy', 'other', 'busy', 'busy', 'busy']);
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled', 'fulfilled', 'fulfilled'],
  );
  assert.ok(results[1]?.status === 'rejected' && results[1].reason instanceof FormError);
});
