import assert from 'node:assert/strict';
import { assertAccessible, clickButton, clickLink, createFlowTest, waitForText } from '../support/browser-flow.ts';
import { launchChromium, startCallbackServer } from '../support/chromium.ts';

const flowTest = createFlowTest(await launchChromium());
const { uri } = await startCallbackServer();

flowTest(
  'a user allows an app for seven days, and withdraws a permission later',
  async ({ server, openSignedIn }) => {
    const app = await server.addApp({ name: 'Ledgerly', redirectUris: [uri], ownerBusinessId: server.acme.id });
    const credentials = { client_id: app.id, client_secret: app.secret };
    const request = { client_id: app.id, redirect_uri: uri, scope: 'read:invoices read:contacts' };

    const page = await openSignedIn(server.ada, server.authorizeUrl(request));
    await assertAccessible(page);
    await page.getByLabel('How long Ledgerly has access').selectOption('7 days');
    await clickButton(page, 'Allow');
    const code = new URL(page.url()).searchParams.get('code') ?? '';
    const { body: tokens } = await server.exchange(code, { redirect_uri: uri, ...credentials });
    await page.goto(`${server.web}/businesses/${server.acme.id}/connected-apps`);
    await waitForText(page, /8 Jan 2030|Jan 8, 2030/);
    await clickLink(page, 'Ledgerly, Ada, Acme');
    await assertAccessible(page);
    await clickLink(page, /^Change what Ledgerly may do/);
    await assertAccessible(page);
    await page.getByLabel('View CRM contacts and companies').uncheck();
    await clickButton(page, 'Save');
    await waitForText(page, /^Permissions withdrawn/);

    const { body } = await server.refresh(tokens.refresh_token, credentials);
    assert.equal(body.scope, 'read:invoices');
  },
  { worksWithoutScript: true },
);
