import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DAY } from '../../../src/lib/clock.ts';
import type { Browser } from '../../support/browser.ts';
import { createCommandRunner } from '../../support/command-runner.ts';
import { PASSWORD } from '../../support/fixtures.ts';
import { startTestServer } from '../../support/test-server.ts';

async function attempt(browser: Browser, email: string, password: string, headers: Record<string, string> = {}) {
  return browser.submit(await browser.open('/sign-in'), '/sign-in', { email, password }, headers);
}

async function fail(browser: Browser, email: string, times: number): Promise<number[]> {
  const statuses = [];
  for (let i = 0; i < times; i++) statuses.push((await attempt(browser, email, `wrong password ${i}`)).status);
  return statuses;
}

test('after too many wrong passwords for an account even the right one waits, from any browser [S9]', async () => {
  const server = await startTestServer({ LIMIT_SIGN_IN_PER_ACCOUNT: '3' });
  const bob = await server.addUser('Bob', [[server.acme, 'member']]);
  const browser = server.browse();

  const statuses = await fail(browser, server.ada.email, 4);
  const right = await attempt(server.browse(), server.ada.email, PASSWORD);
  const inOtherCase = await attempt(server.browse(), ' ADA@EXAMPLE.COM ', PASSWORD);
  const another = await attempt(browser, bob.email, PASSWORD);

  assert.deepEqual(statuses, [401, 401, 401, 429]);
  assert.equal(right.status, 429);
  assert.match(right.text, /Too many attempts\. Try again in \d+ minutes\./);
  assert.equal(inOtherCase.status, 429);
  assert.equal(another.status, 200);
});

test('an account that does not exist is limited like one that does, so the limit reveals nothing [S4]', async () => {
  const server = await startTestServer({ LIMIT_SIGN_IN_PER_ACCOUNT: '2' });

  const unknown = await fail(server.browse(), 'nobody@example.com', 3);

  assert.deepEqual(unknown, [401, 401, 429]);
});

test('an email written in another Unicode form is the same account to the limit [S9]', async () => {
  const server = await startTestServer({ LIMIT_SIGN_IN_PER_ACCOUNT: '2' });
  await server.addUser('Ren\u00e9');

  await fail(server.browse(), 'ren\u00e9@example.com', 2);
  const decomposed = await attempt(server.browse(), 'rene\u0301@example.com', PASSWORD);

  assert.equal(decomposed.status, 429);
});

test('after too many wrong passwords from an address every account waits there [S9]', async () => {
  const server = await startTestServer({ LIMIT_SIGN_IN_PER_ADDRESS: '3' });
  const statuses = [];

  for (const name of ['a', 'b', 'c']) statuses.push(...(await fail(server.browse(), `${name}@example.com`, 1)));
  const right = await attempt(server.browse(), server.ada.email, PASSWORD);

  assert.deepEqual(statuses, [401, 401, 401]);
  assert.equal(right.status, 429);
});

test('an account is limited wherever the guesses come from, and an address is not limited with it [S9]', async () => {
  const server = await startTestServer({ LIMIT_SIGN_IN_PER_ACCOUNT: '2', TRUST_PROXY: '127.0.0.1,::1' });
  const bob = await server.addUser('Bob', [[server.acme, 'member']]);
  const from = (host: number) => ({ 'x-forwarded-for': `203.0.113.${host}` });
  const statuses = [];

  for (const host of [1, 2, 3]) {
    statuses.push((await attempt(server.browse(), server.ada.email, 'wrong password', from(host))).status);
  }
  const elsewhere = await attempt(server.browse(), server.ada.email, PASSWORD, from(4));
  const another = await attempt(server.browse(), bob.email, PASSWORD, from(3));

  assert.deepEqual(statuses, [401, 401, 429]);
  assert.equal(elsewhere.status, 429);
  assert.equal(another.status, 200);
});

test('successful sign-ins do not count towards the limits [S9]', async () => {
  const server = await startTestServer({ LIMIT_SIGN_IN_PER_ACCOUNT: '2', LIMIT_SIGN_IN_PER_ADDRESS: '2' });
  const statuses = [];

  for (let i = 0; i < 5; i++) statuses.push((await attempt(server.browse(), server.ada.email, PASSWORD)).status);

  assert.deepEqual(statuses, [200, 200, 200, 200, 200]);
});

test('of 200 wrong passwords sent at once, only as many as the limit are checked [S10]', async () => {
  const server = await startTestServer({ LIMIT_SIGN_IN_PER_ACCOUNT: '10' });
  const browser = server.browse();
  const form = await browser.open('/sign-in');
  const guesses = Array.from({ length: 200 }, (_, i) => `wrong password ${i}`);

  const responses = await Promise.all(
    guesses.map((password) => browser.submit(form, '/sign-in', { email: server.ada.email, password })),
  );
  const right = await browser.signIn(server.ada.email, PASSWORD);

  const count = (status: number) => responses.filter((response) => response.status === status).length;
  assert.equal(count(401), 10);
  assert.equal(count(429), 190);
  assert.equal(right.status, 429);
});

test('a limit ends within its 15 minutes, and further attempts do not extend it [S11]', async () => {
  const server = await startTestServer({ LIMIT_SIGN_IN_PER_ACCOUNT: '1' });
  const browser = server.browse();
  const waits = [];

  await fail(browser, server.ada.email, 1);
  for (let i = 0; i < 5; i++) {
    const { headers } = await attempt(browser, server.ada.email, 'wrong password');
    waits.push(Number(headers.get('retry-after')));
  }

  assert.ok(
    waits.every((wait) => wait > 0 && wait <= 15 * 60),
    String(waits),
  );
  assert.deepEqual(
    waits,
    waits.toSorted((a, b) => b - a),
  );
});

test('a signed-in user stays signed in while someone else guesses their password [S11]', async () => {
  const server = await startTestServer({ LIMIT_SIGN_IN_PER_ACCOUNT: '1' });
  const signedIn = await server.signedInByPassword();

  await fail(server.browse(), server.ada.email, 3);

  assert.equal((await signedIn.open('/settings/account')).url, `${server.web}/settings/account`);
});

test('X-Forwarded-For changes neither the limit nor the address on record while no proxy is trusted [S12]', async () => {
  const server = await startTestServer({ LIMIT_SIGN_IN_PER_ADDRESS: '2' });
  const forged = (i: number) => ({ 'x-forwarded-for': `203.0.113.${i}`, forwarded: `for=203.0.113.${i}` });
  const browser = server.browse();
  await attempt(browser, server.ada.email, PASSWORD, forged(9));
  const { text } = await browser.open('/settings/account');
  const statuses = [];

  for (let i = 0; i < 3; i++) {
    statuses.push((await attempt(server.browse(), `${i}@example.com`, 'wrong password', forged(i))).status);
  }

  assert.deepEqual(statuses, [401, 401, 429]);
  assert.doesNotMatch(text, /203\.0\.113/);
});

test('behind a trusted proxy the address is the one the proxy saw, whatever the client put before it [S12]', async () => {
  const server = await startTestServer({ LIMIT_SIGN_IN_PER_ADDRESS: '2', TRUST_PROXY: '127.0.0.1,::1' });
  const from = (chain: string) => ({ 'x-forwarded-for': chain });
  const browser = server.browse();
  await attempt(browser, server.ada.email, PASSWORD, from('203.0.113.7'));
  const statuses = [];

  for (let i = 0; i < 3; i++) {
    const chain = `198.51.100.${i}, 203.0.113.5`;
    statuses.push((await attempt(server.browse(), `${i}@example.com`, 'wrong password', from(chain))).status);
  }
  const elsewhere = await attempt(server.browse(), '3@example.com', 'wrong password', from('203.0.113.6'));

  assert.deepEqual(statuses, [401, 401, 429]);
  assert.equal(elsewhere.status, 401);
  assert.match((await browser.open('/settings/account')).text, /203\.0\.113\.7/);
});

test('an attacker who keeps guessing cannot lock out a user with a known browser [S11]', async () => {
  const server = await startTestServer({ LIMIT_SIGN_IN_PER_ACCOUNT: '3' });
  const known = await server.signedInByPassword();
  await fail(server.browse(), server.ada.email, 4);

  const stranger = await attempt(server.browse(), server.ada.email, PASSWORD);
  const owner = await attempt(known, server.ada.email, PASSWORD);

  assert.equal(stranger.status, 429);
  assert.equal(owner.status, 200);
});

test('a known browser has a small reserve beside the limit, and is known for one account only [S9]', async () => {
  const server = await startTestServer({ LIMIT_SIGN_IN_PER_ACCOUNT: '8' });
  const bob = await server.addUser('Bob', [[server.acme, 'member']]);
  const known = await server.signedInByPassword();

  const own = await fail(known, server.ada.email, 11);
  const others = await fail(known, bob.email, 9);

  assert.deepEqual(own, [...Array(10).fill(401), 429]);
  assert.deepEqual(others, [...Array(8).fill(401), 429]);
  assert.equal((await attempt(server.browse(), bob.email, PASSWORD)).status, 429);
});

test('however many known browsers there are, they share one budget with everyone else [S9]', async () => {
  const server = await startTestServer({ LIMIT_SIGN_IN_PER_ACCOUNT: '8' });
  const hoarded = [];
  for (let i = 0; i < 4; i++) hoarded.push(await server.signedInByPassword());
  const statuses: number[] = [];

  for (const browser of [server.browse(), ...hoarded]) statuses.push(...(await fail(browser, server.ada.email, 8)));

  assert.equal(statuses.filter((status) => status === 401).length, 10);
  assert.equal(statuses.filter((status) => status === 429).length, 30);
});

test('a known browser is forgotten on the server after 90 days, whatever cookie it sends [S9]', async () => {
  const server = await startTestServer({ LIMIT_SIGN_IN_PER_ACCOUNT: '4' });
  const known = await server.signedInByPassword();
  server.advanceClock(90 * DAY);
  await fail(server.browse(), server.ada.email, 4);

  assert.equal((await attempt(known, server.ada.email, PASSWORD)).status, 429);
});

test('a browser that was known before a reset is not known after it, and neither is a forged one [E1]', async () => {
  const server = await startTestServer({ LIMIT_SIGN_IN_PER_ACCOUNT: '4' });
  const [known, forged] = [await server.signedInByPassword(), server.browse()];
  forged.cookies.set('__Host-known', `${known.cookies.get('__Host-known')}x`);
  await createCommandRunner(server)('user set-password', { user: server.ada.id, password: 'a whole new drawbridge' });
  await fail(server.browse(), server.ada.email, 4);

  for (const browser of [known, forged]) {
    assert.equal((await attempt(browser, server.ada.email, 'a whole new drawbridge')).status, 429);
  }
});

test('a password change keeps this browser known, and no other [S11]', async () => {
  const server = await startTestServer({ LIMIT_SIGN_IN_PER_ACCOUNT: '4' });
  const [here, elsewhere] = [await server.signedInByPassword(), await server.signedInByPassword()];
  const page = await here.open('/settings/account');
  const fields = { current_password: PASSWORD, password: 'a whole new drawbridge' };
  await here.submit(page, '/settings/account/password', fields);
  await fail(server.browse(), server.ada.email, 4);

  assert.equal((await attempt(elsewhere, server.ada.email, 'a whole new drawbridge')).status, 429);
  assert.equal((await attempt(here, server.ada.email, 'a whole new drawbridge')).status, 200);
});
