import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MINUTE } from '../../../src/lib/clock.ts';
import { type AuthenticatorOverrides, createAuthenticator } from '../../support/authenticator.ts';
import {
  ACCOUNT,
  addUserWithPasskey,
  fetchCreationOptions,
  fetchSignInOptions,
  PASSKEYS,
  passkeysOf,
  postNewPasskey,
} from '../../support/passkeys.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();

test('only a user who signed in within the last 15 minutes can add a passkey', async () => {
  const user = await server.addUser('Mia', [[server.acme, 'member']]);
  const browser = await server.signedIn(user);
  server.advanceClock(15 * MINUTE);

  const { status, options } = await fetchCreationOptions(browser);
  const page = await browser.open(ACCOUNT);

  assert.equal(status, 400);
  assert.match(options.problem, /sign in again/);
  assert.equal(options.challenge, undefined);
  assert.match(page.text, /<a href="\/sign-in\?return_to=%2Fsettings%2Faccount">sign in again<\/a>/);
  assert.doesNotMatch(page.text, /Add a passkey/);
});

test('a passkey is added once, for one user, in the session that requested it, and false fields are ignored', async () => {
  const { user, browser, key } = await addUserWithPasskey(server, 'Ned');
  const other = await server.signedIn(await server.addUser('Nan', [[server.acme, 'member']]));
  const again = await postNewPasskey(browser, key.create((await fetchCreationOptions(browser)).options));
  const foreign = await postNewPasskey(other, key.create((await fetchCreationOptions(other)).options));
  const elsewhere = await postNewPasskey(
    other,
    createAuthenticator(server.web).create((await fetchCreationOptions(browser)).options),
  );
  const overrides: AuthenticatorOverrides[] = [
    { origin: 'https://evil.example' },
    { rpId: 'evil.example' },
    { type: 'webauthn.get' },
    { isVerified: false },
  ];
  const lied = [];
  for (const override of overrides) {
    lied.push(
      await postNewPasskey(
        browser,
        createAuthenticator(server.web).create((await fetchCreationOptions(browser)).options, override),
      ),
    );
  }
  const late = createAuthenticator(server.web).create((await fetchCreationOptions(browser)).options);
  server.advanceClock(5 * MINUTE);

  for (const page of [again, foreign, elsewhere, ...lied, await postNewPasskey(browser, late)]) {
    assert.equal(page.status, 400);
    assert.match(page.text, /id="passkey-problem">This passkey could not be added\./);
  }
  const rows = await server.storage().durable.selectFrom('passkeys').selectAll().execute();
  assert.deepEqual(
    rows.filter(({ created_at }) => created_at >= server.clock() - 5 * MINUTE).map(({ user_id }) => user_id),
    [user.id],
  );
});

test('replaying the request that added a passkey does not restore it after its removal', async () => {
  const user = await server.addUser('Ola', [[server.acme, 'member']]);
  const browser = await server.signedIn(user);
  const response = createAuthenticator(server.web).create((await fetchCreationOptions(browser)).options);
  await postNewPasskey(browser, response);
  const [row] = await passkeysOf(server, user);
  await browser.submit(await browser.open(ACCOUNT), `${PASSKEYS}/${row?.id}/remove`);

  const page = await postNewPasskey(browser, response);

  assert.equal(page.status, 400);
  assert.deepEqual(await passkeysOf(server, user), []);
});

test('the passkey of another user cannot be removed, and the response is the same as for an unknown one [D5]', async () => {
  const { user } = await addUserWithPasskey(server, 'Pam');
  const other = await server.signedIn();
  const [row] = await passkeysOf(server, user);
  const csrf = await other.csrf();

  for (const id of [row?.id ?? '', 'x', '%00', "' or 1=1 --"]) {
    const path = `${PASSKEYS}/${encodeURIComponent(id)}/remove`;
    assert.equal((await other.post(path, { csrf })).status, 404);
  }
  assert.equal((await passkeysOf(server, user)).length, 1);
});

test('an unreadable name is rejected before the device creates a key for it, and again after', async () => {
  const { user, browser } = await addUserWithPasskey(server, 'Quy');
  const key = createAuthenticator(server.web);

  const before = await fetchCreationOptions(browser, ' \u202e ');
  const page = await postNewPasskey(browser, key.create((await fetchCreationOptions(browser)).options), '<b>\u0007');

  assert.equal(before.status, 400);
  assert.match(before.options.problem, /can be read|visible characters/);
  assert.equal(page.status, 400);
  assert.match(page.text, /value="&lt;b&gt;/);
  assert.match(page.text, /id="passkey_name-problem">Use visible characters only\./);
  assert.equal((await passkeysOf(server, user)).length, 1);
});

test('a user has at most 20 passkeys, even if several are added at once', async () => {
  const user = await server.addUser('Ray', [[server.acme, 'member']]);
  const browser = await server.signedIn(user);
  const csrf = await browser.csrf();
  const responses = [];
  for (let i = 0; i < 22; i++)
    responses.push(createAuthenticator(server.web).create((await fetchCreationOptions(browser)).options));

  await Promise.all(responses.map((credential) => browser.post(PASSKEYS, { csrf, credential, passkey_name: 'Key' })));

  assert.equal((await passkeysOf(server, user)).length, 20);
});

test('requests for a challenge, additions, removals and sign-ins need a CSRF token [S6] [D1]', async () => {
  const { browser } = await addUserWithPasskey(server, 'Sam');

  for (const path of [`${PASSKEYS}/options`, PASSKEYS, '/sign-in/passkey/options', '/sign-in/passkey']) {
    assert.equal((await browser.post(path, {})).status, 403, path);
    const foreign = { origin: 'https://evil.example' };
    assert.equal((await browser.post(path, { csrf: await browser.csrf() }, foreign)).status, 403, path);
  }
});

test('the sign-in options name no passkey, and the registration options exclude known ones', async () => {
  const { browser, key } = await addUserWithPasskey(server, 'Tia');

  const { options: request } = await fetchSignInOptions(server.browse());
  const { options: creation } = await fetchCreationOptions(browser);

  assert.equal(request.allowCredentials, undefined);
  assert.equal(request.userVerification, 'required');
  assert.equal(request.rpId, 'localhost');
  assert.deepEqual(creation.excludeCredentials, [{ id: key.id, transports: ['internal'], type: 'public-key' }]);
  assert.equal(creation.authenticatorSelection.residentKey, 'required');
  assert.equal(creation.attestation, 'none');
});
