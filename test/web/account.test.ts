import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Browser } from '../support/browser.ts';
import { PASSWORD } from '../support/people.ts';
import { newWorld } from '../support/world.ts';

const PATH = '/settings/account';
const NEXT = 'a much better password';
const world = await newWorld();

async function newcomer(name: string) {
  const user = await world.addUser(name, [[world.acme, 'member']]);
  return { user, browser: await world.signedIn(user) };
}

async function changePassword(browser: Browser, current_password: string, password: string) {
  return browser.submit(await browser.open(PATH), `${PATH}/password`, { current_password, password });
}

async function isSignedIn(browser: Browser): Promise<boolean> {
  return (await browser.open(PATH)).url === world.web + PATH;
}

test('the account page says who is signed in, and with which role in which business', async () => {
  const { browser } = await newcomer('Ann');

  const { text } = await browser.open(PATH);

  assert.match(text, /<dd>Ann<\/dd>.*<dd>ann@example\.com<\/dd>.*Acme <span class="badge">member</s);
});

test('changing the password needs the current one [D3]', async () => {
  const { user, browser } = await newcomer('Ben');

  const page = await changePassword(browser, 'not the password', NEXT);

  assert.equal(page.status, 400);
  assert.match(page.text, /id="current_password-problem">This is not your current password\./);
  assert.equal((await world.browse().signIn(user.email, NEXT)).status, 401);
  assert.equal((await world.browse().signIn(user.email, PASSWORD)).status, 200);
});

test('after a change only the new password signs in [D3]', async () => {
  const { user, browser } = await newcomer('Cid');

  const page = await changePassword(browser, PASSWORD, NEXT);

  assert.equal(page.url, world.web + PATH);
  assert.equal((await world.browse().signIn(user.email, PASSWORD)).status, 401);
  assert.equal((await world.browse().signIn(user.email, NEXT)).status, 200);
});

test('changing the password ends every other session, and not this one [D3]', async () => {
  const { user, browser } = await newcomer('Dee');
  const other = await world.signedIn(user);
  const stranger = await world.signedIn();

  await changePassword(browser, PASSWORD, NEXT);

  assert.equal(await isSignedIn(other), false);
  assert.equal(await isSignedIn(browser), true);
  assert.equal(await isSignedIn(stranger), true);
});

test('a new password that is refused says why beside its field, and changes nothing [S13]', async () => {
  const { user, browser } = await newcomer('Eli');
  const other = await world.signedIn(user);
  const cases: [string, RegExp][] = [
    ['short', /Use at least 8 characters\./],
    ['password1', /attackers try first/],
    ['eli@example.com', /other than the email/],
    ['x'.repeat(1025), /at most 1,024/],
  ];

  for (const [password, sentence] of cases) {
    const page = await changePassword(browser, PASSWORD, password);
    const [, problem = ''] = /id="password-problem">([^<]*)</.exec(page.text) ?? [];
    assert.equal(page.status, 400);
    assert.match(problem, sentence);
    assert.ok(!page.text.includes(`value="${password}"`));
  }
  assert.equal(await isSignedIn(other), true);
  assert.equal((await world.browse().signIn(user.email, PASSWORD)).status, 200);
});

test('guessing at the current password in a session left open is limited like signing in [S9]', async () => {
  const small = await newWorld({ LIMIT_SIGN_IN_PER_ACCOUNT: '2' });
  const browser = await small.signedIn();
  const statuses = [];

  for (const guess of ['one guess', 'two guesses', 'three guesses']) {
    statuses.push((await changePassword(browser, guess, NEXT)).status);
  }

  assert.deepEqual(statuses, [400, 400, 429]);
});

test('a user sees where they are signed in, and which of it is here [D3]', async () => {
  const { user, browser } = await newcomer('Fay');
  const phone = world.browse();
  const form = await phone.open('/sign-in');
  await phone.submit(
    form,
    '/sign-in',
    { email: user.email, password: PASSWORD },
    { 'user-agent': 'Telephone/1.0 (pocket)' },
  );

  const here = await browser.open(PATH);
  const there = await phone.open(PATH);

  assert.match(here.text, /Telephone\/1\.0 \(pocket\) <p class="muted small">(?:127\.0\.0\.1|::1), last seen/);
  assert.match(there.text, /Telephone\/1\.0 \(pocket\) <span class="badge">This browser</);
  assert.equal(here.text.split('This browser').length, 2);
});

test('the list of sessions shows nothing that would open one [D3]', async () => {
  const { user, browser } = await newcomer('Gus');
  const other = await world.signedIn(user);

  const { text } = await browser.open(PATH);

  for (const { cookies } of [browser, other]) assert.ok(!text.includes(cookies.get('__Host-session') ?? '-'));
});

test('a user ends all their other sessions with one button [D3]', async () => {
  const { user, browser } = await newcomer('Hal');
  const others = [await world.signedIn(user), await world.signedIn(user)];
  const stranger = await world.signedIn();

  const page = await browser.submit(await browser.open(PATH), `${PATH}/end-other-sessions`);

  assert.equal(page.url, world.web + PATH);
  assert.deepEqual(await Promise.all(others.map(isSignedIn)), [false, false]);
  assert.equal(await isSignedIn(browser), true);
  assert.equal(await isSignedIn(stranger), true);
  assert.doesNotMatch(page.text, /Sign out everywhere else/);
});

test('ending sessions leaves what was connected alone', async () => {
  const { user, browser } = await newcomer('Ida');
  await world.signedIn(user);
  const { access_token } = await world.connect({}, browser);

  await browser.submit(await browser.open(PATH), `${PATH}/end-other-sessions`);

  assert.equal((await world.listInvoices(access_token)).status, 200);
});
