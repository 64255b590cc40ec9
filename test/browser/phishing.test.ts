import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { setAppPolicy } from '../support/app-rules.ts';
import { findAxeViolations, launchChromium, signIn } from '../support/chromium.ts';
import { externalRequest, startDocumentHost } from '../support/client-document-host.ts';
import { PASSWORD } from '../support/fixtures.ts';
import { startTestServer } from '../support/test-server.ts';

const chromium = await launchChromium();
const server = await startTestServer({ WEBHOOKS_TO_LOOPBACK: 'yes', DYNAMIC_REGISTRATION: 'on' });
const host = await startDocumentHost();
const strangers = await server.addBusiness('Strangers');
const mia = await server.addUser('Mia', [[server.acme, 'member']]);

/** The page that a stranger wants people to land on, with the name of their business. */
const FOREIGN = 'https://evil.example/sign-in';
const NAME = 'Acme';

async function register(): Promise<string> {
  const metadata = { client_name: NAME, redirect_uris: [FOREIGN] };
  return (await server.sendJson('POST', '/api/v1/oauth/register', metadata)).body.client_id;
}

function describe(): string {
  host.change({ client_name: NAME, redirect_uris: [FOREIGN] });
  return host.newClientId();
}

const mcp = `${server.api}/mcp`;
const CHANGES: Record<string, string | undefined>[] = [
  { resource: `${mcp}/${strangers.id}` },
  { resource: `${mcp}/0190b9a1-5e1a-7b22-9c33-1a2b3c4d5e6f` },
  { resource: `${mcp}/${strangers.id}`, prompt: 'login' },
  { resource: `${mcp}/${strangers.id}`, prompt: 'none' },
  { resource: 'https://evil.example/' },
  { resource: undefined },
  { prompt: 'none' },
  { prompt: 'login' },
  { prompt: 'other' },
  { scope: 'unknown' },
  { scope: 'read:employees' },
  { response_type: 'token' },
  { response_mode: 'fragment' },
  { code_challenge: undefined },
  { state: 'x'.repeat(9000) },
  {},
];

/** Records each request to a foreign host. The host does not exist, so nothing leaves this machine. */
async function openBrowser(): Promise<{ page: Page; visited: string[] }> {
  const { page } = await chromium.newPage();
  const visited: string[] = [];
  page.on('request', (request) => {
    const { origin, href } = new URL(request.url());
    if (![server.api, server.web].includes(origin)) visited.push(href);
  });
  return { page, visited };
}

/** Clicks, and waits until the browser leaves for the foreign page. */
async function clickAway(page: Page, name: string): Promise<void> {
  const left = page.waitForRequest((request) => request.url().startsWith(`${FOREIGN}?`));
  await page.getByRole('button', { name }).click();
  await left;
}

const CLIENTS = { 'describes itself': async () => describe(), 'has registered itself': register };

for (const [kind, newClientId] of Object.entries(CLIENTS)) {
  test(`no address that a stranger makes for an app that ${kind} leads to a foreign page without a click on a page that names it [G5]`, async () => {
    const clientId = await newClientId();
    const signedIn = await openBrowser();
    await signedIn.page.goto(`${server.web}/sign-in`);
    await signIn(signedIn.page, mia.email, PASSWORD);
    for (const changes of CHANGES) {
      const address = server.authorizeUrl({ ...externalRequest(server, clientId), redirect_uri: FOREIGN, ...changes });
      const signedOut = await openBrowser();

      for (const { page, visited } of [signedIn, signedOut]) {
        await page.goto(address);
        if (page.url().includes('/sign-in')) await signIn(page, mia.email, PASSWORD);
        const label = JSON.stringify(changes).slice(0, 100);
        assert.deepEqual(visited, [], label);
        const ways = await page.locator('#main form[action="/consent"]').count();
        const text = (await page.textContent('#main')) ?? '';
        if (ways > 0) assert.match(text, /You will be sent to\s*evil\.example/, label);
        assert.equal(await page.locator('a[href^="https://evil.example"]').count(), 0, label);
      }
      await signedOut.page.context().close();
    }

    const { page, visited } = signedIn;
    await clickAway(page, 'Deny');
    assert.equal(visited.length, 1, 'a click on the page that names it');
  });
}

test('where a business restricts apps, only a click on a page that names the foreign page leads there [G5]', async () => {
  const clientId = describe();
  await setAppPolicy(await server.signedIn(), 'admins');
  const { page, visited } = await openBrowser();
  const request = { ...externalRequest(server, clientId), redirect_uri: FOREIGN };
  await page.goto(server.authorizeUrl({ ...request, prompt: 'none' }));
  await page.goto(server.authorizeUrl(request));
  await signIn(page, mia.email, PASSWORD);
  await page.goto(server.authorizeUrl({ ...request, prompt: 'none' }));
  assert.match((await page.textContent('#main')) ?? '', /This app cannot be connected/);
  assert.deepEqual(await findAxeViolations(page), []);
  await page.goto(server.authorizeUrl(request));

  assert.match((await page.textContent('#main')) ?? '', /You will be sent to\s*evil\.example/);
  assert.deepEqual(visited, []);
  await clickAway(page, `Back to ${NAME}`);
});
