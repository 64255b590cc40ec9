import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MINUTE } from '../../../src/lib/clock.ts';
import { readAuditEntries } from '../../support/audit-entries.ts';
import { createAuthenticator } from '../../support/authenticator.ts';
import type { Browser } from '../../support/browser.ts';
import { createCommandRunner } from '../../support/command-runner.ts';
import { PASSWORD } from '../../support/fixtures.ts';
import {
  addUserWithPasskey,
  fetchCreationOptions,
  PASSKEYS,
  passkeysOf,
  postNewPasskey,
} from '../../support/passkeys.ts';
import { startTestServer } from '../../support/test-server.ts';
import {
  addTwoStepUser,
  createApp,
  enterCode,
  enterPassword,
  isSignedIn,
  readRecoveryCodes,
  readSecret,
  setUpTwoStep,
  TWO_STEP,
} from '../../support/two-step.ts';

const server = await startTestServer({ LIMIT_SIGN_IN_PER_ADDRESS: '100000' });
const operator = createCommandRunner(server);

async function actionsOn(userId: string): Promise<string[]> {
  const entries = await readAuditEntries(server);
  return entries.filter(({ subject_id }) => subject_id === userId).map(({ action }) => action);
}

async function confirmedBy(browser: Browser, key: ReturnType<typeof createAuthenticator>, action: string) {
  const { text } = await browser.post('/settings/two-step/passkey-options', { csrf: await browser.csrf() });
  return browser.post(action, { csrf: await browser.csrf(), credential: key.get(JSON.parse(text)) });
}

test('two-step sign-in is set up with a code, which then does not sign in, and other browsers are signed out [E5]', async () => {
  const user = await server.addUser('Ann', [[server.acme, 'member']]);
  const [browser, other] = [await server.signedIn(user), await server.signedIn(user)];
  const page = await browser.open(TWO_STEP);
  const secret = readSecret(page);
  const app = createApp(server, secret);

  const wrong = await browser.submit(page, TWO_STEP, { code: '000000' });
  const stored = await server.storage().durable.selectFrom('authenticator_apps').selectAll().execute();
  const done = await browser.submit(wrong, TWO_STEP, { code: app.code() });
  const again = await browser.open(TWO_STEP);

  assert.match(page.text, /<svg class="qr"[^>]*role="img"/);
  assert.match(
    page.text,
    new RegExp(`otpauth://totp/Gatehouse:ann%40example.com\\?issuer=Gatehouse&amp;secret=${secret}`),
  );
  assert.equal(wrong.status, 400);
  assert.equal(readSecret(wrong), secret);
  assert.deepEqual(stored, []);
  assert.equal(readRecoveryCodes(done).length, 10);
  assert.match((await other.open('/settings/account')).url, /\/sign-in/);
  assert.match(again.text, /10 recovery codes left/);
  assert.doesNotMatch(again.text, new RegExp(secret));
  assert.deepEqual(await actionsOn(user.id), ['factor.added']);
  const fresh = server.browse();
  assert.equal((await enterCode(fresh, await enterPassword(fresh, user), app.code())).status, 401);
});

test('the secret is encrypted and the recovery codes are hashed where they are stored [E5]', async () => {
  const user = await server.addUser('Bea', [[server.acme, 'member']]);
  const browser = await server.signedIn(user);
  const page = await browser.open(TWO_STEP);
  const secret = readSecret(page);
  const codes = readRecoveryCodes(await browser.submit(page, TWO_STEP, { code: createApp(server, secret).code() }));
  const db = server.storage().durable;

  const rows = JSON.stringify([
    await db.selectFrom('authenticator_apps').selectAll().execute(),
    await db.selectFrom('recovery_codes').selectAll().execute(),
  ]);

  assert.equal(rows.includes(secret), false);
  for (const code of codes) assert.equal(rows.includes(code.replaceAll('-', '')) || rows.includes(code), false);
});

test('a set-up belongs to one session and one hour, and needs a sign-in within the last 15 minutes [E5]', async () => {
  const [cy, di] = [await server.addUser('Cy'), await server.addUser('Di')];
  const [browser, other] = [await server.signedIn(cy), await server.signedIn(di)];
  const page = await browser.open(TWO_STEP);
  const app = createApp(server, readSecret(page));
  const set_up = /name="set_up" value="([^"]*)"/.exec(page.text)?.[1] ?? '';

  const foreign = await other.post(TWO_STEP, { csrf: await other.csrf(), set_up, code: app.code() });
  const forged = await browser.post(TWO_STEP, { csrf: await browser.csrf(), set_up: `${set_up}x`, code: app.code() });
  server.advanceClock(15 * MINUTE);
  const late = await browser.submit(page, TWO_STEP, { code: app.code() });
  const shown = await browser.open(TWO_STEP);

  assert.deepEqual([foreign.status, forged.status, late.status], [404, 404, 400]);
  assert.match(shown.text, /sign in again<\/a> first/);
  assert.doesNotMatch(shown.text, /<svg class="qr"/);
});

test('without recovery codes, the page warns of being locked out', async () => {
  const { user, browser } = await addTwoStepUser(server, 'Una');
  const before = await browser.open(TWO_STEP);
  await server.storage().durable.deleteFrom('recovery_codes').where('user_id', '=', user.id).execute();

  const { text } = await browser.open(TWO_STEP);

  assert.doesNotMatch(before.text, /locked out/);
  assert.match(text, /class="notice caution".*You have no recovery codes\..*you will be locked out until/);
});

test('every page that asks for a code can be cancelled', async () => {
  const { browser } = await addTwoStepUser(server, 'Uma');

  const { text } = await browser.open(`${TWO_STEP}/remove`);

  assert.match(
    text,
    /<a class="button secondary" href="\/settings\/account">Cancel<\/a><button class="danger">Remove</,
  );
});

test('the authenticator app is removed with a code or a recovery code only, once each [E5]', async () => {
  const { user, browser, freshCode, recoveryCodes } = await addTwoStepUser(server, 'Eli');
  const remove = `${TWO_STEP}/remove`;
  const used = freshCode();
  const elsewhere = server.browse();
  assert.ok(isSignedIn(await enterCode(elsewhere, await enterPassword(elsewhere, user), used)));

  const page = await browser.open(remove);
  const without = await browser.submit(page, remove, {});
  const wrong = await browser.submit(page, remove, { code: '123456' });
  const replayed = await browser.submit(page, remove, { code: used });
  const kept = await browser.open(TWO_STEP);
  const done = await browser.submit(page, remove, { recovery_code: recoveryCodes[3] ?? '' });
  const withPassword = await server.browse().signIn(user.email, PASSWORD);

  assert.deepEqual([without.status, wrong.status, replayed.status], [400, 400, 400]);
  assert.match(kept.text, /10 recovery codes left/);
  assert.match(done.text, /The authenticator app has been removed/);
  assert.ok(isSignedIn(withPassword));
  assert.deepEqual(await actionsOn(user.id), ['factor.added', 'factor.recovery_code_used', 'factor.removed']);
});

test('where a code confirms a change, the field for recovery codes allows no further guesses of one [E5]', async () => {
  const limited = await startTestServer({ LIMIT_SIGN_IN_PER_ACCOUNT: '3' });
  const { browser, freshCode } = await addTwoStepUser(limited, 'Gil');
  const remove = `${TWO_STEP}/remove`;
  const page = await browser.open(remove);
  for (const guess of ['123456', '123457', '123458']) await browser.submit(page, remove, { code: guess });

  const right = await browser.submit(page, remove, { recovery_code: freshCode() });

  assert.equal(right.status, 429);
  assert.match((await browser.open(TWO_STEP)).text, /recovery codes left/);
});

test('recovery codes are renewed with a code, and the old ones stop working [E5]', async () => {
  const { user, browser, freshCode, recoveryCodes } = await addTwoStepUser(server, 'Flo');
  const renew = `${TWO_STEP}/recovery-codes`;

  const wrong = await browser.submit(await browser.open(renew), renew, { code: '123456' });
  const done = await browser.submit(wrong, renew, { code: freshCode() });
  const fresh = readRecoveryCodes(done);
  const guest = server.browse();
  const old = await enterCode(guest, await enterPassword(guest, user), recoveryCodes[0] ?? '');
  const signedIn = await enterCode(guest, old, fresh[0] ?? '');

  assert.equal(wrong.status, 400);
  assert.equal(fresh.length, 10);
  assert.equal(old.status, 401);
  assert.ok(isSignedIn(signedIn));
});

test('a passkey confirms the removal; a passkey of someone else, or a challenge for signing in, does not [E5]', async () => {
  const { user, browser, key } = await addUserWithPasskey(server, 'Gil');
  await setUpTwoStep(server, browser);
  const stranger = await addUserWithPasskey(server, 'Hob');
  const remove = `${TWO_STEP}/remove`;

  const foreign = await confirmedBy(browser, stranger.key, remove);
  const { text } = await browser.post('/sign-in/passkey/options', { csrf: await browser.csrf() });
  const signIn = await browser.post(remove, { csrf: await browser.csrf(), credential: key.get(JSON.parse(text)) });
  const stillOn = await browser.open(TWO_STEP);
  const done = await confirmedBy(browser, key, remove);

  assert.deepEqual([foreign.status, signIn.status], [400, 400]);
  assert.match(stillOn.text, /recovery codes left/);
  assert.match(done.text, /The authenticator app has been removed/);
  assert.deepEqual((await actionsOn(user.id)).at(-1), 'factor.removed');
});

test('with an authenticator app, a passkey is removed with a code, and one is added after both steps only [E5]', async () => {
  const { user, browser, key } = await addUserWithPasskey(server, 'Ira');
  const { freshCode } = await setUpTwoStep(server, browser);
  const [passkey] = await passkeysOf(server, user);
  const remove = `${PASSKEYS}/${passkey?.id}/remove`;
  const unproven = server.browse();
  unproven.cookies.set('__Host-session', await server.startSession(user));
  const credential = createAuthenticator(server.web).create((await fetchCreationOptions(unproven)).options);
  const added = await postNewPasskey(unproven, credential);

  const without = await browser.post(remove, { csrf: await browser.csrf() });
  const done = await browser.submit(await browser.open(remove), remove, { code: freshCode() });

  assert.match(added.url, /\/sign-in\?/);
  assert.equal(without.status, 400);
  assert.match(done.text, /The passkey has been removed/);
  assert.deepEqual(await passkeysOf(server, user), []);
  assert.ok(key);
});

test('a session without the second step of its user opens no page: it leads to sign-in [E5]', async () => {
  const { user } = await addTwoStepUser(server, 'Jan');
  const browser = server.browse();
  browser.cookies.set('__Host-session', await server.startSession(user));

  for (const path of ['/settings/account', '/settings/connected-apps', TWO_STEP, `${TWO_STEP}/remove`]) {
    assert.match((await browser.open(path)).url, /\/sign-in\?.*done=second_step_required/, path);
  }
  const silent = await browser.open(server.authorizeUrl({ prompt: 'none' }));
  assert.equal(silent.leftTo?.searchParams.get('error'), 'login_required');
  assert.match((await browser.open(server.authorizeUrl())).url, /\/sign-in\?/);
});

test('a new password with the link of an owner removes the second step, which the link and the audit log say [E1] [E5]', async () => {
  const { user } = await addTwoStepUser(server, 'Kai');
  const owner = await server.signedIn();
  const created = await owner.post(`/settings/members/${user.id}/password-link`, {
    csrf: await owner.csrf(),
    business: server.acme.id,
  });
  const path = /\/password\/[\w-]{43}/.exec(created.text)?.[0] ?? '';
  const browser = server.browse();

  const page = await browser.open(path);
  await browser.submit(page, path, { password: PASSWORD });
  const signedIn = await browser.signIn(user.email, PASSWORD);

  assert.match(page.text, /authenticator app/);
  assert.ok(isSignedIn(signedIn));
  const reset = (await readAuditEntries(server)).findLast(({ action }) => action === 'user.password_reset');
  assert.equal(JSON.parse(reset?.detail ?? '{}').two_step_sign_in, 'removed');
});

test('an operator’s new password removes the second step [E1] [E5]', async () => {
  const { user } = await addTwoStepUser(server, 'Kit');

  await operator('user set-password', { user: user.id, password: 'a whole new drawbridge' });

  assert.ok(isSignedIn(await server.browse().signIn(user.email, 'a whole new drawbridge')));
});

test('an operator removes the second step of a user, and nothing else', async () => {
  const { user, browser } = await addTwoStepUser(server, 'Lou');

  const first = await operator('user remove-second-factor', { user: user.id });
  const second = await operator('user remove-second-factor', { user: user.id });

  assert.deepEqual([first.removed, second.removed], [true, false]);
  assert.equal((await browser.open('/settings/account')).status, 200);
  assert.ok(isSignedIn(await server.browse().signIn(user.email, PASSWORD)));
  assert.deepEqual((await actionsOn(user.id)).sort(), ['factor.added', 'factor.removed']);
});
