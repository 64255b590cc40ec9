import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findAxeViolations, launchChromium, signIn } from '../support/chromium.ts';
import { CALLBACK, externalRequest, startDocumentHost } from '../support/client-document-host.ts';
import { PASSWORD } from '../support/fixtures.ts';
import { startTestServer } from '../support/test-server.ts';

const chromium = await launchChromium();
const server = await startTestServer({ WEBHOOKS_TO_LOOPBACK: 'yes', DYNAMIC_REGISTRATION: 'on' });
const host = await startDocumentHost();

async function register(): Promise<string> {
  const { body } = await server.sendJson('POST', '/api/v1/oauth/register', {
    client_name: 'Assistant',
    redirect_uris: [CALLBACK, 'http://127.0.0.1/callback'],
  });
  return body.client_id;
}

const WIDTHS = { phone: { width: 360, height: 740 }, desktop: { width: 1280, height: 900 } };

for (const [device, viewport] of Object.entries(WIDTHS)) {
  test(`on a ${device}, the consent screen says where an external app comes from and what to watch out for`, async () => {
    const { page, consoleErrors } = await chromium.newPage();
    await page.setViewportSize(viewport);
    const open = async (clientId: string, redirect_uri: string) => {
      await page.goto(server.authorizeUrl({ ...externalRequest(server, clientId), redirect_uri }));
      if (page.url().includes('/sign-in')) await signIn(page, server.ada.email, PASSWORD);
      assert.deepEqual(await findAxeViolations(page), []);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      assert.ok(overflow <= 0, `${overflow} pixels too wide`);
      return (await page.textContent('main')) ?? '';
    };

    const described = await open(host.newClientId(), 'http://127.0.0.1:5123/callback');
    const elsewhere = await open(host.newClientId(), CALLBACK);
    const registered = await open(await register(), CALLBACK);

    assert.match(described, /Assistant is an app from 127\.0\.0\.1:\d+\. It is not made or checked by Gatehouse/);
    assert.match(described, /You will be sent to a program on this device, and any program can call itself Assistant/);
    assert.match(elsewhere, /You will be sent to assistant\.example, which is a different site from 127\.0\.0\.1/);
    assert.match(registered, /This app registered itself; its name is not verified/);
    assert.deepEqual(consoleErrors, []);
  });
}
