import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startDemoApp } from '../../demo/app.ts';
import { SECOND } from '../../src/lib/clock.ts';
import { launchChromium, signIn, startCallbackServer } from '../support/chromium.ts';
import { PASSWORD } from '../support/fixtures.ts';
import { freePort } from '../support/ports.ts';
import { startTestServer } from '../support/test-server.ts';

const chromium = await launchChromium();
const server = await startTestServer();
const { uri } = await startCallbackServer();
const loopback = { redirectUris: ['http://127.0.0.1/callback'] };
const thirdParty = await server.addApp({ ...loopback, name: 'Ledgerly', ownerBusinessId: server.acme.id });
const firstParty = await server.addApp({ ...loopback, name: 'Workbench' });
await server.addInvoice(server.acme, { number: 'INV-2001', total: '99.90' });

function requestOf(app: { id: string }, changes: Record<string, string> = {}): string {
  return server.authorizeUrl({ client_id: app.id, redirect_uri: uri, ...changes });
}

async function startApp(app: { id: string; secret: string }, name: string) {
  const port = await freePort();
  const running = await startDemoApp({
    port,
    scope: 'read:invoices',
    branding: { id: name, name, tagline: 'A demo', about: 'It lists invoices.' },
    connection: {
      baseUrl: server.api,
      clientId: app.id,
      clientSecret: app.secret,
      redirectUri: `http://127.0.0.1:${port}/callback`,
    },
  });
  return { url: `http://127.0.0.1:${port}/`, close: () => running.close() };
}

test('a person connects a third-party app, sees the invoices in it, refreshes and disconnects', async () => {
  const app = await startApp(thirdParty, 'Ledgerly');
  const { page, consoleErrors } = await chromium.newPage();

  await page.goto(app.url);
  await page.getByRole('link', { name: 'Connect to Gatehouse' }).click();
  assert.match(page.url(), /\/sign-in\?return_to=/);
  await signIn(page, server.ada.email, PASSWORD);
  assert.match((await page.textContent('h1')) ?? '', /Ledgerly wants to access Acme/);
  await page.getByRole('button', { name: 'Allow' }).click();

  assert.equal(page.url(), app.url);
  await page.getByText('INV-2001').waitFor();
  await page.getByRole('button', { name: 'Refresh the tokens' }).click();
  await page.getByText('replaced 1 time').waitFor();
  await page.getByRole('button', { name: 'Disconnect' }).click();
  await page.getByRole('link', { name: 'Connect to Gatehouse' }).waitFor();
  assert.deepEqual(consoleErrors, []);
  await app.close();
});

test('Allow ignores a click that comes right after the page appears, or appears again', async () => {
  const { page } = await chromium.newPage();
  const cara = await server.addUser('Cara', [[server.acme, 'member']]);
  await page.goto(server.authorizeUrl());
  await signIn(page, cara.email, PASSWORD);
  const consent = page.url();
  const allow = page.getByRole('button', { name: 'Allow' });
  await allow.and(page.locator(':not([aria-disabled])')).waitFor();

  // These are the events when a window in front of this one closes between two clicks.
  // All in one call: half a second later, Allow works again.
  const [isClicked, disabled] = await allow.evaluate((button) => {
    dispatchEvent(new Event('focus'));
    const isClicked = button.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true }));
    return [isClicked, button.getAttribute('aria-disabled')];
  });
  assert.deepEqual([isClicked, disabled], [false, 'true']);
  assert.equal(page.url(), consent);

  const callback = page.waitForRequest(/\/callback\?code=/);
  await allow.click();
  await callback;
});

test('Deny sends the person back to the app, which receives access_denied', async () => {
  const bob = await server.addUser('Bob', [[server.acme, 'member']]);
  const { page, consoleErrors } = await chromium.newPage();

  await page.goto(requestOf(thirdParty, { state: 'denied it' }));
  await signIn(page, bob.email, PASSWORD);
  await page.getByRole('button', { name: 'Deny' }).click();

  const response = new URL(page.url());
  assert.equal(response.origin + response.pathname, uri);
  assert.equal(response.searchParams.get('error'), 'access_denied');
  assert.equal(response.searchParams.get('state'), 'denied it');
  assert.deepEqual(consoleErrors, []);
});

test('a first-party app shows no consent screen, even straight after sign-in', async () => {
  const app = await startApp(firstParty, 'Workbench');
  const { page, consoleErrors } = await chromium.newPage();

  await page.goto(app.url);
  await page.getByRole('link', { name: 'Connect to Gatehouse' }).click();
  await signIn(page, server.ada.email, PASSWORD);

  assert.equal(page.url(), app.url);
  await page.getByText('INV-2001').waitFor();
  assert.deepEqual(consoleErrors, []);
  await app.close();
});

test('prompt=none shows no page: without a session the app receives login_required, with one a code', async () => {
  const { page } = await chromium.newPage();

  await page.goto(requestOf(firstParty, { prompt: 'none' }));
  assert.equal(new URL(page.url()).searchParams.get('error'), 'login_required');

  await page.goto(`${server.web}/sign-in`);
  await signIn(page, server.ada.email, PASSWORD);
  await page.goto(requestOf(firstParty, { prompt: 'none' }));
  assert.match(new URL(page.url()).searchParams.get('code') ?? '', /^gac_/);
});

test('prompt=login asks for the password exactly once, even with a session', async () => {
  const { page } = await chromium.newPage();
  await page.goto(`${server.web}/sign-in`);
  await signIn(page, server.ada.email, PASSWORD);
  server.advanceClock(SECOND);

  await page.goto(requestOf(firstParty, { prompt: 'login' }));
  assert.match(page.url(), /\/sign-in/);
  server.advanceClock(SECOND);
  await signIn(page, server.ada.email, PASSWORD);

  assert.match(new URL(page.url()).searchParams.get('code') ?? '', /^gac_/);
});

test('a person connects an app without JavaScript, with the keyboard alone', async () => {
  const cleo = await server.addUser('Cleo', [[server.acme, 'member']]);
  const { page } = await chromium.newPage({ javaScriptEnabled: false });

  await page.goto(requestOf(thirdParty));
  await page.locator('#email:focus').waitFor();
  await page.keyboard.type(cleo.email);
  await page.keyboard.press('Tab');
  await page.keyboard.type(PASSWORD);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Deny' }).focus();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');

  await page.waitForURL(/code=gac_/);
});
