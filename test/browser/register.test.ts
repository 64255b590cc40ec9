import assert from 'node:assert/strict';
import { test } from 'node:test';
import { launchChromium, signIn, startCallbackServer } from '../support/chromium.ts';
import { PASSWORD } from '../support/fixtures.ts';
import { startTestServer } from '../support/test-server.ts';

const chromium = await launchChromium();
const server = await startTestServer();
const { uri } = await startCallbackServer();

test('an owner registers an app in the dashboard, and its secret works', async () => {
  const { page, consoleErrors } = await chromium.newPage();
  await page.goto(`${server.web}/settings/developer`);
  await signIn(page, server.ada.email, PASSWORD);
  assert.equal(page.url(), server.web + server.acmePath('developer'));

  await page.getByRole('link', { name: 'New app' }).click();
  await page.getByLabel('App name').fill('Tallyho');
  await page.getByLabel('Redirect URI 1').fill('http://example.com/not-secure');
  await page.getByRole('checkbox', { name: 'read:invoices' }).check();
  await page.getByRole('button', { name: 'Register app' }).click();
  await page.getByText('Use https, or http on localhost').waitFor();
  assert.equal(await page.getByLabel('App name').inputValue(), 'Tallyho');
  await page.getByLabel('Redirect URI 1').fill(uri);
  await page.getByRole('button', { name: 'Register app' }).click();

  const client_id = (await page.textContent('#client-id')) ?? '';
  const client_secret = (await page.textContent('#client-secret')) ?? '';
  await page.getByRole('link', { name: 'I have copied it' }).click();
  assert.ok(!(await page.content()).includes(client_secret));

  await page.goto(server.authorizeUrl({ client_id, redirect_uri: uri }));
  await page.getByRole('button', { name: 'Allow' }).click();
  const code = new URL(page.url()).searchParams.get('code') ?? '';
  const tokens = await server.exchange(code, { client_id, client_secret, redirect_uri: uri });
  assert.equal(tokens.status, 200, JSON.stringify(tokens.body));
  // Chromium logs the expected 400 for the invalid form. All other errors fail the test.
  assert.deepEqual(
    consoleErrors.filter((text) => !text.includes('400 (Bad Request)')),
    [],
  );
});

test('a person disconnects an app, and its tokens stop at once', async () => {
  const tokens = await server.connect();
  const { page } = await chromium.newPage();
  await page.goto(`${server.web}/settings/connected-apps`);
  await signIn(page, server.ada.email, PASSWORD);

  await page.getByRole('button', { name: 'Disconnect Ledger from Acme' }).click();
  await page.getByRole('dialog', { name: 'Disconnect Ledger?' }).getByRole('button', { name: 'Disconnect' }).click();
  await page.waitForLoadState();

  assert.equal((await server.listInvoices(tokens.access_token)).status, 401);
  const rejected = await server.refresh(tokens.refresh_token);
  assert.match(rejected.body.error_description, /disconnected_by_user/);
});
