import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DAY, HOUR, MINUTE, SECOND } from '../../src/lib/clock.ts';
import { confirmReading, createPlausibleClock, readLastReading } from '../../src/storage/plausible-clock.ts';
import { startTestServer, type TestServer } from '../support/test-server.ts';

/** One node: its clock, its monotonic clock, and the time by which it removes data. */
function newNode(server: TestServer, start: number) {
  let [clock, passed] = [start, 0];
  const read = createPlausibleClock(
    server.storage().durable,
    () => clock,
    () => passed,
  );
  return {
    read,
    setClock: (time: number) => {
      clock = time;
    },
    pass: (time: number) => {
      clock += time;
      passed += time;
    },
  };
}

async function newReadings() {
  const server = await startTestServer();
  const start = server.clock();
  await confirmReading(server.storage().durable, start);
  return { server, start, node: () => newNode(server, start) };
}

test('the plausible time follows a clock that runs steadily, also over years', async () => {
  const { node, start } = await newReadings();
  const one = node();

  for (let year = 0; year < 3; year++) {
    await one.read();
    one.pass(365 * DAY);
  }

  assert.deepEqual(await one.read(), { time: start + 3 * 365 * DAY, jump: 0 });
});

test('the plausible time follows a jump of less than a day: the server was off, or the clock was set', async () => {
  const { node, start } = await newReadings();
  const one = node();
  await one.read();

  one.setClock(start + 23 * HOUR);

  assert.deepEqual(await one.read(), { time: start + 23 * HOUR, jump: 0 });
});

test('after a longer jump the plausible time continues from the last reading, until the clock is confirmed [X7]', async () => {
  const { server, node, start } = await newReadings();
  const one = node();
  await one.read();
  one.setClock(start + 40 * DAY);

  const before = await one.read();
  one.pass(2 * HOUR);
  const later = await one.read();
  one.pass(30 * SECOND);
  const soonAfter = await one.read();
  await confirmReading(server.storage().durable, start + 40 * DAY + 3 * HOUR);
  one.pass(HOUR);
  const confirmed = await one.read();

  assert.deepEqual(before, { time: start, jump: 40 * DAY });
  assert.deepEqual(later, { time: start + 2 * HOUR, jump: 40 * DAY });
  assert.deepEqual(soonAfter, { time: start + 2 * HOUR + 30 * SECOND, jump: 40 * DAY });
  assert.equal(confirmed.jump, 0);
  assert.equal(confirmed.time, start + 40 * DAY + 3 * HOUR + 30 * SECOND);
});

test('a jump while no server was running counts in the same way [X7]', async () => {
  const { server, start } = await newReadings();
  const restarted = newNode(server, start + 3 * DAY);

  assert.deepEqual(await restarted.read(), { time: start, jump: 3 * DAY });
});

test('the plausible time is never ahead of a clock that is behind, and the reading stays [X7]', async () => {
  const { server, node, start } = await newReadings();
  const one = node();
  await one.read();

  one.setClock(start - 40 * DAY);

  assert.deepEqual(await one.read(), { time: start - 40 * DAY, jump: 0 });
  assert.equal(await readLastReading(server.storage().durable), start);
});

test('a node with a wrong clock does not affect the others, and several nodes advance the reading no faster than one [X7]', async () => {
  const { server, node, start } = await newReadings();
  const [right, wrong, alsoWrong] = [node(), node(), node()];
  for (const one of [right, wrong, alsoWrong]) await one.read();
  wrong.setClock(start + 40 * DAY);
  alsoWrong.setClock(start + 50 * DAY);

  for (let minute = 1; minute <= 60; minute++) {
    for (const one of [wrong, alsoWrong]) {
      one.pass(MINUTE);
      await one.read();
    }
  }
  right.pass(HOUR);

  const reading = (await readLastReading(server.storage().durable)) ?? 0;
  assert.ok(reading <= start + HOUR, `${(reading - start) / MINUTE} minutes`);
  assert.deepEqual(await right.read(), { time: start + HOUR, jump: 0 });
  assert.ok((await wrong.read()).jump > 39 * DAY);
});
