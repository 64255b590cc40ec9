import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { newDoor } from '../../src/http/overload.ts';
import { PATIENCE } from '../../src/http/timeouts.ts';
import { Overloaded } from '../../src/lib/errors.ts';
import { newWorld } from '../support/world.ts';

test('of a crowd, who has waited too long is turned away at once, and the next are let in', async () => {
  let now = 0;
  const turnAway = newDoor({ ...PATIENCE, crowd: 3, turn: 500 }, () => now);
  const ask = () => turnAway('/api/v1/businesses');

  assert.deepEqual([ask(), ask(), ask(), ask()], [undefined, undefined, undefined, undefined]);
  now += 501;
  assert.ok(ask() instanceof Overloaded);
  assert.equal(turnAway('/healthz'), undefined);
  await setImmediate();
  assert.equal(ask(), undefined);
});

test('who waits long for a few only is not turned away: a slow moment is not a crowd', () => {
  let now = 0;
  const turnAway = newDoor({ ...PATIENCE, crowd: 3, turn: 500 }, () => now);

  const answers = [0, 1, 2].map(() => {
    now += 1000;
    return turnAway('/api/v1/businesses');
  });

  assert.deepEqual(answers, [undefined, undefined, undefined]);
});

test('when there is too much to do, every request is answered at once with 503 and Retry-After; health still tells', async () => {
  const world = await newWorld();
  const { access_token, refresh_token } = await world.connect();
  // With less than no patience, there is always too much to do.
  await world.restart({ settings: { patience: { ...PATIENCE, crowd: 0, turn: -1 } } });

  const refused = [await world.refresh(refresh_token), await world.listInvoices(access_token)];
  const page = await fetch(`${world.web}/sign-in`);
  const health = await Promise.all(['/healthz', '/readyz'].map((path) => fetch(world.api + path)));
  await world.restart();
  const after = await world.refresh(refresh_token);

  for (const { status, headers, body } of refused) {
    assert.deepEqual([status, body.error, headers.get('retry-after')], [503, 'temporarily_unavailable', '1']);
  }
  assert.deepEqual([page.status, page.headers.get('retry-after')], [503, '1']);
  assert.match(await page.text(), /Try again in a moment/);
  assert.deepEqual(
    health.map(({ status }) => status),
    [200, 200],
  );
  assert.equal(after.status, 200);
});
