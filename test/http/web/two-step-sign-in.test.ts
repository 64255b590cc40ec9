import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DAY, MINUTE } from '../../../src/lib/clock.ts';
import { readAuditEntries } from '../../support/audit-entries.ts';
import { PASSWORD } from '../../support/fixtures.ts';
import { addUserWithPasskey, fetchSignInOptions, postSignIn } from '../../support/passkeys.ts';
import { startTestServer } from '../../support/test-server.ts';
import {
  addTwoStepUser,
  enterCode,
  enterPassword,
  isSignedIn,
  SECOND_STEP,
  setUpTwoStep,
} from '../../support/two-step.ts';

const server = await startTestServer({ LIMIT_SIGN_IN_PER_ADDRESS: '100000' });

test('after the password a code signs the user in and leads to the requested page', async () => {
  const { user, freshCode } = await addTwoStepUser(server, 'Ann');
  const browser = server.browse();

  const page = await enterPassword(browser, user, '/settings/account');
  const done = await enterCode(browser, page, freshCode());

  assert.equal(browser.cookies.has('__Host-second-step'), false);
  assert.match(done.url, /\/settings\/account$/);
  const started = (await readAuditEntries(server)).findLast(({ action }) => action === 'session.started');
  assert.equal(started?.detail, JSON.stringify({ with: 'password and a code' }));
});

test('the second step names the account, and leads to the sign-in of another one for the same page', async () => {
  const { user } = await addTwoStepUser(server, 'Abe');
  const browser = server.browse();

  const { text } = await enterPassword(browser, user, '/settings/account');
  const [, link = ''] = /<p class="small another"><a href="([^"]*)">Use another account<\/a><\/p>/.exec(text) ?? [];
  const other = await browser.open(link);

  assert.match(text, new RegExp(`to continue to <bdi>Gatehouse</bdi> as <strong><bdi>${user.email}</bdi></strong>`));
  assert.doesNotMatch(other.text, new RegExp(user.email));
  assert.match((await browser.signIn(server.ada.email, PASSWORD, other)).url, /\/settings\/account$/);
});

test('the password alone opens no page, and there is no session cookie before the code [E5]', async () => {
  const { user } = await addTwoStepUser(server, 'Ben');
  const browser = server.browse();

  await enterPassword(browser, user);

  assert.equal(browser.cookies.has('__Host-session'), false);
  for (const path of ['/settings/account', '/settings/connected-apps', '/settings/two-step', '/platform/users']) {
    const page = await browser.open(path);
    assert.ok(page.status === 404 || page.url.includes('/sign-in?'), path);
  }
  const authorize = await browser.open(server.authorizeUrl());
  assert.match(authorize.url, /\/sign-in\?/);
});

test('a code works once, also in the step before and after [E5]', async () => {
  const { user, freshCode, code } = await addTwoStepUser(server, 'Cat');
  const used = freshCode();
  const first = server.browse();
  assert.ok(isSignedIn(await enterCode(first, await enterPassword(first, user), used)));

  const again = server.browse();
  const replayed = await enterCode(again, await enterPassword(again, user), used);
  const older = await enterCode(again, replayed, code(-1));
  server.advanceClock(30_000);
  const late = await enterCode(again, older, used);
  const next = await enterCode(again, late, code());

  for (const page of [replayed, older, late]) {
    assert.equal(page.status, 401);
    assert.match(page.text, /This code is wrong, or has been used\./);
  }
  assert.ok(isSignedIn(next));
});

test('of two requests with one code at the same time, one signs in [E5]', async () => {
  const { user, freshCode } = await addTwoStepUser(server, 'Dan');
  const browsers = [1, 2, 3, 4].map(() => server.browse());
  const pages = await Promise.all(browsers.map((browser) => enterPassword(browser, user)));
  const code = freshCode();

  const results = await Promise.all(browsers.map((browser, i) => enterCode(browser, pages[i] as never, code)));

  assert.deepEqual(results.map(isSignedIn).filter(Boolean).length, 1);
});

test('a recovery code signs in once, typed in any way, and leaves the others [E5]', async () => {
  const { user, recoveryCodes } = await addTwoStepUser(server, 'Eve');
  const [one = '', two = ''] = recoveryCodes;
  const browser = server.browse();

  const done = await enterCode(browser, await enterPassword(browser, user), one.toUpperCase().replaceAll('-', ' - '));
  const again = server.browse();
  const replayed = await enterCode(again, await enterPassword(again, user), one);
  const other = await enterCode(again, replayed, two);
  const account = await again.open('/settings/account');

  assert.ok(isSignedIn(done));
  assert.equal(replayed.status, 401);
  assert.match(replayed.text, /<details class="apart" open>/);
  assert.ok(isSignedIn(other));
  assert.match(account.text, /8 recovery codes left/);
});

test('of two requests with one recovery code at the same time, one signs in [E5]', async () => {
  const { user, recoveryCodes } = await addTwoStepUser(server, 'Fay');
  const browsers = [1, 2, 3, 4].map(() => server.browse());
  const pages = await Promise.all(browsers.map((browser) => enterPassword(browser, user)));

  const results = await Promise.all(
    browsers.map((browser, i) => enterCode(browser, pages[i] as never, recoveryCodes[0] ?? '')),
  );

  assert.deepEqual(results.map(isSignedIn).filter(Boolean).length, 1);
});

test('the second step belongs to one user, one browser and one password, and lasts ten minutes [E5]', async () => {
  const gus = await addTwoStepUser(server, 'Gus');
  const hal = await addTwoStepUser(server, 'Hal');
  const [browser, attacker] = [server.browse(), server.browse()];
  const page = await enterPassword(browser, gus.user);
  const step = browser.cookies.get('__Host-second-step') ?? '';

  const wrongUser = await enterCode(browser, page, hal.freshCode());
  await attacker.open('/sign-in');
  attacker.cookies.set('__Host-second-step', step);
  const stolen = await attacker.post(SECOND_STEP, { csrf: await attacker.csrf(), code: gus.freshCode() });
  const [payload = '', signature = ''] = step.split('.');
  const forged = { ...JSON.parse(Buffer.from(payload, 'base64url').toString()), userId: hal.user.id };
  browser.cookies.set(
    '__Host-second-step',
    `${Buffer.from(JSON.stringify(forged)).toString('base64url')}.${signature}`,
  );
  const swapped = await browser.post(SECOND_STEP, { csrf: await browser.csrf(), code: hal.freshCode() });
  browser.cookies.set('__Host-second-step', step);
  server.advanceClock(10 * MINUTE);
  const late = await browser.post(SECOND_STEP, { csrf: await browser.csrf(), code: gus.freshCode() });

  assert.equal(wrongUser.status, 401);
  for (const { url } of [stolen, swapped, late]) assert.match(url, /\/sign-in\?return_to/);
  for (const each of [browser, attacker]) assert.equal(each.cookies.has('__Host-session'), false);
});

test('a new password ends a second step that has begun [E5]', async () => {
  const { user, browser: own, freshCode } = await addTwoStepUser(server, 'Ida');
  const attacker = server.browse();
  const page = await enterPassword(attacker, user);
  const account = await own.open('/settings/account');
  await own.submit(account, '/settings/account/password', {
    current_password: PASSWORD,
    password: 'a whole new drawbridge',
  });

  const late = await enterCode(attacker, page, freshCode());

  assert.match(late.url, /\/sign-in\?return_to/);
  assert.ok(isSignedIn(await own.open('/settings/account')), 'the session continues, with its second factor');
});

test('wrong codes are limited for a day, also in parallel, and known browsers have a reserve [E5]', async () => {
  const limited = await startTestServer({ LIMIT_SIGN_IN_PER_ACCOUNT: '4' });
  const { user, code, freshCode, recoveryCodes } = await addTwoStepUser(limited, 'Jim');
  const known = limited.browse();
  assert.ok(isSignedIn(await enterCode(known, await enterPassword(known, user), freshCode())));
  const attacker = limited.browse();
  const page = await enterPassword(attacker, user);

  const valid = [code(-1), code(0), code(1)];
  const wrong = Array.from({ length: 23 }, (_, i) => String(100_000 + i)).filter((each) => !valid.includes(each));
  const guesses = await Promise.all(wrong.slice(0, 20).map((each) => enterCode(attacker, page, each)));
  const right = await enterCode(attacker, page, freshCode());
  limited.advanceClock(5 * MINUTE);
  const own = await enterCode(known, await enterPassword(known, user, '/sign-in'), freshCode());
  const recovery = await enterCode(attacker, page, recoveryCodes[0] ?? '');

  assert.equal(guesses.filter(({ status }) => status === 401).length, 4);
  assert.equal(guesses.filter(({ status }) => status === 429).length, 16);
  assert.equal(right.status, 429);
  assert.match(right.text, /Too many attempts\./);
  assert.ok(isSignedIn(own));
  assert.ok(isSignedIn(recovery), 'a recovery code cannot be guessed, so it has its own limit');
});

test('the field for recovery codes allows no further guesses of a code [E5]', async () => {
  const limited = await startTestServer({ LIMIT_SIGN_IN_PER_ACCOUNT: '4' });
  const { user, code, freshCode } = await addTwoStepUser(limited, 'Joe');
  const attacker = limited.browse();
  const page = await enterPassword(attacker, user);
  const valid = [code(-1), code(0), code(1)];
  const wrong = ['100000', '100001', '100002', '100003', '100004', '100005', '100006'];
  const guesses = wrong.filter((each) => !valid.includes(each)).slice(0, 4);
  for (const guess of guesses) await enterCode(attacker, page, guess);

  const right = await attacker.submit(page, SECOND_STEP, { recovery_code: freshCode() });

  assert.equal(right.status, 429);
  assert.match(right.text, /Too many attempts\./);
});

test('wrong codes are recorded as failed sign-ins, and the user sees them', async () => {
  const { user, browser: own } = await addTwoStepUser(server, 'Kim');
  const browser = server.browse();

  await enterCode(browser, await enterPassword(browser, user), '000000');
  const account = await own.open('/settings/account');

  assert.match(account.text, /Failed sign-ins[\s\S]*With a code/);
});

test('a passkey is both steps in one', async () => {
  const { user, key, browser: own } = await addUserWithPasskey(server, 'Lea');
  await setUpTwoStep(server, own);
  const browser = server.browse();

  const offered = await enterPassword(browser, user);
  const done = await postSignIn(browser, key.get((await fetchSignInOptions(browser)).options));

  assert.match(offered.text, /Use a passkey instead/);
  assert.ok(isSignedIn(done));
});

test('prompt=login asks for both steps, and then continues to the app [E5]', async () => {
  const { user, browser, freshCode } = await addTwoStepUser(server, 'Max');
  server.advanceClock(MINUTE);
  const signIn = await browser.open(server.authorizeUrl({ prompt: 'login' }));

  const page = await browser.signIn(user.email, PASSWORD, signIn);
  const consent = await enterCode(browser, page, freshCode());
  const done = await browser.submit(consent, '/consent', { decision: 'allow' });

  assert.match(page.url, /\/sign-in\/second-step/);
  assert.match(page.text, /to continue to <bdi>Ledger/);
  assert.ok(done.leftTo?.searchParams.get('code'));
});

test('a code that was used while the clock was days ahead does not lock the user out [X7]', async () => {
  const { user, freshCode } = await addTwoStepUser(server, 'Nat');
  const ahead = server.browse();
  const page = await enterPassword(ahead, user);
  server.advanceClock(3 * DAY);
  await enterPassword(ahead, user);
  assert.ok(isSignedIn(await enterCode(ahead, page, freshCode())));
  server.advanceClock(-3 * DAY);

  const browser = server.browse();
  const done = await enterCode(browser, await enterPassword(browser, user), freshCode());

  assert.ok(isSignedIn(done));
});
