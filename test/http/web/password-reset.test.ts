import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashNewPassword } from '../../../src/accounts/passwords.ts';
import { resetAccount } from '../../../src/grants/account-reset.ts';
import { createAuthenticator } from '../../support/authenticator.ts';
import { createCommandRunner } from '../../support/command-runner.ts';
import { PASSWORD } from '../../support/fixtures.ts';
import {
  addUserWithPasskey,
  fetchCreationOptions,
  fetchSignInOptions,
  PASSKEYS,
  passkeysOf,
  postSignIn,
} from '../../support/passkeys.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const operator = createCommandRunner(server);
const NEW_PASSWORD = 'a whole new drawbridge';

test('an operator’s new password ends the sessions and removes the passkeys of the user [E1]', async () => {
  const { user, browser, key } = await addUserWithPasskey(server, 'Pia');

  await operator('user set-password', { user: user.id, password: NEW_PASSWORD });

  assert.match((await browser.open('/settings/account')).url, /\/sign-in/);
  assert.deepEqual(await passkeysOf(server, user), []);
  const attacker = server.browse();
  const response = await postSignIn(attacker, key.get((await fetchSignInOptions(attacker)).options));
  assert.equal(response.status, 401);
});

test('an operator’s new password keeps the grants of the user, unless the option ends them [E1]', async () => {
  const { user, browser } = await addUserWithPasskey(server, 'Quin');
  const { refresh_token } = await server.connect({}, browser);

  await operator('user set-password', { user: user.id, password: NEW_PASSWORD });
  const kept = await server.refresh(refresh_token);
  await operator('user set-password', { user: user.id, password: PASSWORD, 'end-grants': '' });
  const ended = await server.refresh(kept.body.refresh_token);

  assert.equal(kept.status, 200);
  assert.equal(ended.body.reason, 'password_reset');
});

test('an operator removes the passkeys of a user, and nothing else', async () => {
  const { user, browser } = await addUserWithPasskey(server, 'Rae');

  const { passkeysRemoved } = await operator('user remove-passkeys', { user: user.id });

  assert.equal(passkeysRemoved, 1);
  assert.deepEqual(await passkeysOf(server, user), []);
  assert.equal((await browser.open('/settings/account')).status, 200);
});

test('a passkey that is added while the password is reset does not survive the reset [E1]', async () => {
  const user = await server.addUser('Sly', [[server.acme, 'member']]);
  const browser = await server.signedInByPassword(user);
  const credential = createAuthenticator(server.web).create((await fetchCreationOptions(browser)).options);
  const csrf = await browser.csrf();
  const hash = await hashNewPassword(user, NEW_PASSWORD);

  await Promise.all([
    browser.post(PASSKEYS, { csrf, credential, passkey_name: 'Mine' }),
    server
      .storage()
      .transaction((db) => resetAccount(db, { userId: user.id, hash, endsGrants: false }, server.clock())),
  ]);

  assert.deepEqual(await passkeysOf(server, user), []);
});
