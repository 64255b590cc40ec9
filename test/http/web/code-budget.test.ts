import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer } from '../../support/test-server.ts';
import { addTwoStepUser, enterCode, enterPassword, isSignedIn, TWO_STEP } from '../../support/two-step.ts';

const LIMIT = 4;
const server = await startTestServer({
  LIMIT_SIGN_IN_PER_ACCOUNT: String(LIMIT),
  LIMIT_SIGN_IN_PER_ADDRESS: '100000',
});

/** A user, and an attacker who knows their password. */
async function startAttack(name: string) {
  const { user, browser, code, freshCode } = await addTwoStepUser(server, name);
  const attacker = server.browse();
  const page = await enterPassword(attacker, user);
  let next = 100_000;
  const guess = async () => {
    const valid = [-1, 0, 1].map((step) => code(step));
    do next += 1;
    while (valid.includes(String(next)));
    return (await enterCode(attacker, page, String(next))).status;
  };
  return { user, browser, guess, freshCode };
}

test('a right code of the user gives an attacker no further guesses that day [E5]', async () => {
  const { user, guess, freshCode } = await startAttack('Lea');
  const statuses: number[] = [];
  for (let i = 0; i < LIMIT; i++) {
    statuses.push(await guess());
    if (i === LIMIT - 1) continue;
    const own = server.browse();
    assert.ok(isSignedIn(await enterCode(own, await enterPassword(own, user), freshCode())));
  }
  const further = await guess();

  assert.deepEqual(statuses, [401, 401, 401, 401]);
  assert.equal(further, 429);
});

test('nor does a right code that confirms a change [E5]', async () => {
  const { browser, guess, freshCode } = await startAttack('Moe');
  for (let i = 1; i < LIMIT; i++) assert.equal(await guess(), 401);

  const renew = `${TWO_STEP}/recovery-codes`;
  const renewed = await browser.submit(await browser.open(renew), renew, { code: freshCode() });
  const statuses = [await guess(), await guess()];

  assert.equal(renewed.status, 200);
  assert.deepEqual(statuses, [401, 429]);
});

test('right codes use up no guesses [E5]', async () => {
  const { user, guess, freshCode } = await startAttack('Nia');
  const own = server.browse();

  for (let i = 0; i < 2 * LIMIT; i++) {
    const page = await enterPassword(own, user, '/sign-in');
    assert.ok(isSignedIn(await enterCode(own, page, freshCode())), String(i));
  }
  assert.equal(await guess(), 401);
});
