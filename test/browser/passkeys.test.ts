import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HOUR } from '../../src/lib/clock.ts';
import {
  addVirtualAuthenticator,
  findAxeViolations,
  launchChromium,
  signIn,
  signOut,
  startCallbackServer,
} from '../support/chromium.ts';
import { PASSWORD } from '../support/fixtures.ts';
import { startTestServer } from '../support/test-server.ts';

const chromium = await launchChromium();
const server = await startTestServer();
const account = `${server.web}/settings/account`;

test('a person adds a passkey, connects an app with it instead of the password, and removes it', async () => {
  const { uri } = await startCallbackServer();
  const app = await server.addApp({ name: 'Ledgerly', redirectUris: [uri], ownerBusinessId: server.acme.id });
  const { page, consoleErrors } = await chromium.newPage({
    viewport: { width: 360, height: 740 },
    colorScheme: 'dark',
  });
  await addVirtualAuthenticator(page);
  await page.goto(account);
  await signIn(page, server.ada.email, PASSWORD);

  await page.getByLabel('Name of the new passkey').fill('Ada’s phone');
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  await page.getByText('The passkey has been added.').waitFor();
  assert.deepEqual(await findAxeViolations(page), []);
  await signOut(page);

  await page.goto(server.authorizeUrl({ client_id: app.id, redirect_uri: uri }));
  await page.getByRole('button', { name: 'Use a passkey instead' }).click();
  await page.getByRole('button', { name: 'Allow' }).click();
  await page.waitForURL(`${uri}?**`);
  assert.ok(new URL(page.url()).searchParams.get('code'));

  await page.goto(account);
  await page.getByText(/^Added .* last used/).waitFor();
  await page.getByRole('button', { name: 'Remove the passkey Ada’s phone' }).click();
  await page.getByText('The passkey has been removed and no longer works.').waitFor();
  assert.deepEqual(consoleErrors, []);
});

test('a removed passkey or a failed user verification is reported beside the button', async () => {
  const bob = await server.addUser('Bob', [[server.acme, 'member']]);
  const { page } = await chromium.newPage();
  const device = await addVirtualAuthenticator(page);
  await page.goto(account);
  await signIn(page, bob.email, PASSWORD);
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  await page.getByText('The passkey has been added.').waitFor();
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  await page.getByText('This device already has a passkey for your account.').waitFor();
  await page.getByRole('button', { name: /Remove the passkey/ }).click();
  await page.getByText('The passkey has been removed').waitFor();
  await signOut(page);

  await page.getByRole('button', { name: 'Use a passkey instead' }).click();
  await page.getByText('This passkey did not sign you in. Try again, or use your password.').waitFor();
  assert.deepEqual(await findAxeViolations(page), []);
  await device.failUserVerification();
  await page.getByRole('button', { name: 'Use a passkey instead' }).click();
  await page.getByText('No passkey was used. You can try again.').waitFor();
  await signIn(page, bob.email, PASSWORD);
  await page.waitForURL(/connected-apps/);
});

test('a person changes their name, ends another session, and signs in again before adding a passkey', async () => {
  const cleo = await server.addUser('Cleo', [[server.acme, 'member']]);
  await server.signedIn(cleo);
  const { page, consoleErrors } = await chromium.newPage();
  await addVirtualAuthenticator(page);
  await page.goto(account);
  await signIn(page, cleo.email, PASSWORD);
  await page.getByLabel('Name', { exact: true }).fill('Cleo Clark');
  await page.getByRole('button', { name: 'Change name' }).click();
  await page.getByText('Your name has been changed.').waitFor();
  await page.getByRole('button', { name: /^End the session of/ }).click();
  await page.getByText('The session has ended.').waitFor();
  assert.equal(await page.getByRole('button', { name: /^End the session of/ }).count(), 0);

  server.advanceClock(HOUR);
  await page.goto(account);
  await page.getByRole('link', { name: 'sign in again' }).click();
  await signIn(page, cleo.email, PASSWORD);
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  await page.getByText('The passkey has been added.').waitFor();
  assert.deepEqual(await findAxeViolations(page), []);
  assert.deepEqual(consoleErrors, []);
});

test('without JavaScript passkeys are not offered, and everything else works', async () => {
  const { page } = await chromium.newPage({ javaScriptEnabled: false });
  await page.goto(account);
  assert.equal(await page.getByRole('button', { name: 'Use a passkey instead' }).isVisible(), false);
  await signIn(page, server.ada.email, PASSWORD);
  assert.equal(await page.getByRole('button', { name: 'Add a passkey' }).isVisible(), false);
  await page.getByText('Adding a passkey needs JavaScript').waitFor();
});
