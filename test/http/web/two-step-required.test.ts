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
  fetchSignInOptions,
  PASSKEYS,
  passkeysOf,
  postCredential,
  postSignIn,
} from '../../support/passkeys.ts';
import { submitConfirmed } from '../../support/questions.ts';
import { startTestServer } from '../../support/test-server.ts';
import {
  createApp,
  enterCode,
  enterPassword,
  isSignedIn,
  readSecret,
  setUpTwoStep,
  TWO_STEP,
} from '../../support/two-step.ts';

/** A server whose business Acme requires two-step sign-in. Its owner Ada has set it up. */
async function startStrictServer() {
  const server = await startTestServer({ LIMIT_SIGN_IN_PER_ADDRESS: '100000' });
  const owner = await server.signedIn();
  await setUpTwoStep(server, owner);
  const decide = async (required: 'yes' | 'no') =>
    required === 'yes'
      ? submitConfirmed(owner, await owner.open('/settings/business'), '/settings/business/two-step')
      : owner.submit(await owner.open('/settings/business'), '/settings/business/two-step', { required });
  return { ...server, decide };
}

const server = await startStrictServer();
await server.decide('yes');

async function setUpIn(browser: Browser) {
  const page = await browser.open('/settings/connected-apps');
  assert.match(page.url, /\/settings\/two-step\?/);
  return { page, app: createApp(server, readSecret(page)) };
}

test('a member without a second factor sets one up before any page of the business is shown [E5]', async () => {
  const user = await server.addUser('Bea', [[server.acme, 'member']]);
  const browser = server.browse();

  const page = await browser.signIn(user.email, PASSWORD, await browser.open('/settings/members'));
  const others = ['/settings/account', '/settings/developer', '/settings/connected-apps', `${TWO_STEP}/remove`];
  for (const path of others) assert.match((await browser.open(path)).url, /\/settings\/two-step\?return_to=/, path);
  const change = await browser.post('/settings/account/name', { csrf: await browser.csrf(), name: 'Changed' });
  const done = await browser.submit(page, TWO_STEP, { code: createApp(server, readSecret(page)).code() });
  const members = await browser.open('/settings/members');

  assert.match(page.text, /requires two-step sign-in\. Set it up to continue\./);
  assert.doesNotMatch(page.text, /Acme/);
  assert.match(change.url, /\/settings\/two-step/);
  assert.match(done.text, /href="\/(?:settings|businesses\/[^/"]+)\/members">I have saved them/);
  assert.match(members.text, /Bea/);
});

test('a member can add a passkey instead, and then sees the requested page [E5]', async () => {
  const user = await server.addUser('Cal', [[server.acme, 'member']]);
  const browser = await server.signedIn(user);
  const { page } = await setUpIn(browser);

  const credential = createAuthenticator(server.web).create((await fetchCreationOptions(browser, 'Passkey')).options);
  const done = await postCredential(browser, PASSKEYS, credential, {
    passkey_name: 'Passkey',
    return_to: '/settings/members',
  });

  assert.match(page.text, /Add a passkey instead/);
  assert.match(done.url, /\/businesses\/[^/]+\/members$/);
});

test('a user who has a passkey only cannot sign in by password, nor add another factor by it [E5]', async () => {
  const open = await startStrictServer();
  const { user, key, browser: older } = await addUserWithPasskey(open, 'Deb');
  await open.decide('yes');
  const browser = open.browse();

  const page = await enterPassword(browser, user);
  const noSession = browser.cookies.has('__Host-session');
  const unproven = open.browse();
  unproven.cookies.set('__Host-session', await open.startSession(user));
  const setUp = await unproven.open(TWO_STEP);
  const credential = createAuthenticator(open.web).create((await fetchCreationOptions(unproven)).options);
  const added = await postCredential(unproven, PASSKEYS, credential, { passkey_name: 'Thief' });
  const done = await postSignIn(browser, key.get((await fetchSignInOptions(browser)).options));

  assert.equal(noSession, false);
  assert.doesNotMatch(page.text, /name="code"/);
  assert.match(page.text, /Sign in with your passkey\./);
  assert.match(setUp.url, /\/sign-in\?.*second_step_required/);
  assert.match(added.url, /\/sign-in\?/);
  assert.equal((await passkeysOf(open, user)).length, 1);
  assert.ok(isSignedIn(done));
  assert.ok(
    isSignedIn(await older.open('/settings/account')),
    'the browser that added the passkey has the second factor',
  );
});

test('no grant is created without the second factor, and existing grants continue [E5]', async () => {
  const open = await startStrictServer();
  const user = await open.addUser('Eli', [[open.acme, 'member']]);
  const browser = await open.signedIn(user);
  const tokens = await open.connect({}, browser);
  const screen = await open.signedIn(user);
  const consent = await screen.open(open.authorizeUrl({ scope: 'read:invoices write:invoices' }));
  await open.decide('yes');

  const silent = await browser.open(open.authorizeUrl());
  const none = await browser.open(open.authorizeUrl({ prompt: 'none' }));
  const allowed = await screen.submit(consent, '/consent', { decision: 'allow' });
  const refreshed = await open.refresh(tokens.refresh_token);
  const app = createApp(open, readSecret(silent));
  const codes = await browser.submit(silent, TWO_STEP, { code: app.code() });
  const target = /href="([^"]*)">I have saved them/.exec(codes.text)?.[1]?.replaceAll('&amp;', '&') ?? '';
  const connected = await browser.open(target);

  assert.match(silent.url, /\/settings\/two-step\?return_to=%2Fconsent/);
  assert.equal(none.leftTo?.searchParams.get('error'), 'login_required');
  assert.match(allowed.url, /\/settings\/two-step\?/);
  assert.equal(refreshed.status, 200);
  assert.ok(connected.leftTo?.searchParams.get('code'), connected.text);
});

test('while it is required, the last factor cannot be removed, also not by two requests at once [E5]', async () => {
  const user = await server.addUser('Fay', [[server.acme, 'member']]);
  const browser = await server.signedIn(user);
  const { page, app } = await setUpIn(browser);
  await browser.submit(page, TWO_STEP, { code: app.code() });
  const remove = `${TWO_STEP}/remove`;

  const last = await browser.submit(await browser.open(remove), remove, { code: app.freshCode() });
  const key = createAuthenticator(server.web);
  await postCredential(browser, PASSKEYS, key.create((await fetchCreationOptions(browser)).options), {
    passkey_name: 'Phone',
  });
  const [passkey] = await passkeysOf(server, user);
  const csrf = await browser.csrf();
  const results = await Promise.all([
    browser.post(remove, { csrf, code: app.freshCode() }),
    browser.post(`${PASSKEYS}/${passkey?.id}/remove`, { csrf, code: app.code(1) }),
  ]);
  const [apps, passkeys] = [
    await server
      .storage()
      .durable.selectFrom('authenticator_apps')
      .select('user_id')
      .where('user_id', '=', user.id)
      .execute(),
    await passkeysOf(server, user),
  ];

  assert.equal(last.status, 400);
  assert.match(last.text, /this is your only second step/);
  assert.deepEqual(results.map(({ status }) => status).sort(), [200, 400]);
  assert.equal(apps.length + passkeys.length, 1);
});

test('the only passkey cannot be removed while it is required [E5]', async () => {
  const user = await server.addUser('Gus', [[server.acme, 'member']]);
  const browser = await server.signedIn(user);
  await setUpIn(browser);
  const key = createAuthenticator(server.web);
  await postCredential(browser, PASSKEYS, key.create((await fetchCreationOptions(browser)).options), {
    passkey_name: 'Phone',
  });
  const [passkey] = await passkeysOf(server, user);
  const { text } = await browser.post('/settings/two-step/passkey-options', { csrf: await browser.csrf() });

  const rejected = await postCredential(browser, `${PASSKEYS}/${passkey?.id}/remove`, key.get(JSON.parse(text)));

  assert.equal(rejected.status, 400);
  assert.match(rejected.text, /this is your only second step/);
  assert.equal((await passkeysOf(server, user)).length, 1);
});

test('a person who joins a business that requires it sets it up next [E5]', async () => {
  const other = await server.addBusiness('Borealis');
  const user = await server.addUser('Hal', [[other, 'owner']]);
  const browser = await server.signedIn(user);
  const before = await browser.open('/settings/members');

  await server.addMember(user, server.acme);
  const after = await browser.open('/settings/members');

  assert.ok(isSignedIn(before));
  assert.match(after.url, /\/settings\/two-step\?/);
});

test('only owners decide for their business, and the audit log records it', async () => {
  const other = await server.addBusiness('Cumulus');
  const admin = await server.addUser('Ira', [[other, 'admin']]);
  const owner = await server.addUser('Jan', [[other, 'owner']]);
  const [asAdmin, asOwner] = [await server.signedIn(admin), await server.signedIn(owner)];
  const fields = { required: 'yes' };

  const page = await asAdmin.open('/settings/business');
  const post = await asAdmin.post('/settings/business/two-step', { csrf: await asAdmin.csrf(), ...fields });
  const foreign = await asOwner.post(server.acmePath('settings/two-step'), {
    csrf: await asOwner.csrf(),
    required: 'no',
  });
  const shown = await asOwner.open('/settings/business');
  await submitConfirmed(asOwner, shown, '/settings/business/two-step');

  assert.deepEqual([page.status, post.status, foreign.status], [404, 404, 404]);
  assert.match(shown.text, /With an authenticator app or a passkey: 0 of 2 members\./);
  const entries = (await readAuditEntries(server)).filter(({ business_id }) => business_id === other.id);
  assert.deepEqual(
    entries.map(({ action, actor_name }) => [action, actor_name]),
    [['factor.required', 'Jan']],
  );
  assert.match((await asOwner.open('/settings/business')).url, /\/settings\/two-step/, 'the owner also needs it');
});

test('a requirement of platform admins applies to all users, with or without a business [E5]', async () => {
  const open = await startTestServer();
  const admin = await open.signedIn(await open.addUser('Root', [], true));
  const withoutBusiness = await open.signedIn(await open.addUser('Kai'));
  const member = await open.signedIn();

  const decided = await submitConfirmed(admin, await admin.open('/platform/settings'), '/platform/settings/two-step');
  const pages = [
    await withoutBusiness.open('/settings/account'),
    await member.open('/settings/members'),
    await admin.open('/platform/users'),
  ];
  await setUpTwoStep(open, admin);
  const optional = await admin.submit(await admin.open('/platform/settings'), '/platform/settings/two-step', {
    required: 'no',
  });

  for (const { url } of [decided, ...pages]) assert.match(url, /\/settings\/two-step\?return_to=/);
  assert.match(optional.text, /Two-step sign-in is now optional\./);
  assert.ok(isSignedIn(await member.open('/settings/members')));
  const actions = (await readAuditEntries(open)).map(({ action, actor_kind }) => `${action} ${actor_kind}`);
  assert.ok(actions.includes('factor.required platform') && actions.includes('factor.optional platform'));
});

test('after a sign-in of more than 15 minutes ago, the set-up asks to sign in again, and then continues [E5]', async () => {
  const user = await server.addUser('Lou', [[server.acme, 'member']]);
  const browser = await server.signedIn(user);
  server.advanceClock(20 * MINUTE);

  const page = await browser.open('/settings/members');
  const again = await browser.signIn(
    user.email,
    PASSWORD,
    await browser.open('/sign-in?return_to=%2Fsettings%2Fmembers'),
  );
  const app = createApp(server, readSecret(again));
  await browser.submit(again, TWO_STEP, { code: app.code() });
  const fresh = server.browse();
  const done = await enterCode(fresh, await enterPassword(fresh, user), app.freshCode());

  assert.match(page.text, /sign in again<\/a> first/);
  assert.ok(isSignedIn(done));
});

test('an operator requires two-step sign-in of a business and of everyone, and makes it optional', async () => {
  const open = await startTestServer();
  const operator = createCommandRunner(open);
  const browser = await open.signedIn();
  const isRedirected = async () => (await browser.open('/settings/members')).url.includes('/settings/two-step');
  const decide = async (business: string, everyone: string) => {
    await operator('business change', { business: open.acme.id, 'require-second-factor': business });
    await operator('platform change', { 'require-second-factor': everyone });
    return isRedirected();
  };

  assert.deepEqual(
    [await decide('yes', 'no'), await decide('no', 'yes'), await decide('no', 'no')],
    [true, true, false],
  );
  await assert.rejects(operator('platform change', { 'require-second-factor': 'maybe' }), /Use yes or no\./);
});
