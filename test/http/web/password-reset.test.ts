import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashNewPassword } from '../../../src/accounts/passwords.ts';
import { resetAccount } from '../../../src/grants/account-reset.ts';
import { newAuthenticator } from '../../support/authenticator.ts';
import { newOperator } from '../../support/operator.ts';
import { addOwner, askToAdd, askToSignIn, PASSKEYS, passkeysOf, sendSignIn } from '../../support/passkeys.ts';
import { PASSWORD } from '../../support/people.ts';
import { newWorld } from '../../support/world.ts';

const world = await newWorld();
const operator = newOperator(world);
const NEW_PASSWORD = 'a whole new drawbridge';

test('an operator’s new password ends the sessions and removes the passkeys of the user [E1]', async () => {
  const { user, browser, key } = await addOwner(world, 'Pia');

  await operator('user set-password', { user: user.id, password: NEW_PASSWORD });

  assert.match((await browser.open('/settings/account')).url, /\/sign-in/);
  assert.deepEqual(await passkeysOf(world, user), []);
  const attacker = world.browse();
  const answer = await sendSignIn(attacker, key.get((await askToSignIn(attacker)).options));
  assert.equal(answer.status, 401);
});

test('an operator’s new password keeps the grants of the user, unless told to end them [E1]', async () => {
  const { user, browser } = await addOwner(world, 'Quin');
  const { refresh_token } = await world.connect({}, browser);

  await operator('user set-password', { user: user.id, password: NEW_PASSWORD });
  const kept = await world.refresh(refresh_token);
  await operator('user set-password', { user: user.id, password: PASSWORD, 'end-grants': '' });
  const ended = await world.refresh(kept.body.refresh_token);

  assert.equal(kept.status, 200);
  assert.equal(ended.body.reason, 'password_reset');
});

test('an operator removes the passkeys of a user, and nothing else', async () => {
  const { user, browser } = await addOwner(world, 'Rae');

  const { passkeysRemoved } = await operator('user remove-passkeys', { user: user.id });

  assert.equal(passkeysRemoved, 1);
  assert.deepEqual(await passkeysOf(world, user), []);
  assert.equal((await browser.open('/settings/account')).status, 200);
});

test('a passkey that is added while the password is reset does not survive the reset [E1]', async () => {
  const user = await world.addUser('Sly', [[world.acme, 'member']]);
  const browser = await world.signedInByPassword(user);
  const credential = newAuthenticator(world.web).create((await askToAdd(browser)).options);
  const csrf = await browser.csrf();
  const hash = await hashNewPassword(user, NEW_PASSWORD);

  await Promise.all([
    browser.post(PASSKEYS, { csrf, credential, passkey_name: 'Mine' }),
    world.storage().transaction((db) => resetAccount(db, { userId: user.id, hash, endsGrants: false }, world.clock())),
  ]);

  assert.deepEqual(await passkeysOf(world, user), []);
});
