import assert from 'node:assert/strict';
import { assertAccessible, clickButton, clickLink, createFlowTest, waitForText } from '../support/browser-flow.ts';
import { launchChromium } from '../support/chromium.ts';
import { createClient } from '../support/client.ts';
import { REDIRECT_URI } from '../support/fixtures.ts';

const flowTest = createFlowTest(await launchChromium());

flowTest('a user allows an app for seven days, and withdraws a permission later', async ({ server, openSignedIn }) => {
  const app = await server.addApp({ name: 'Ledgerly', ownerBusinessId: server.acme.id });
  const client = createClient({ ...server, user: server.ada, app, business: server.acme });
  const scope = 'read:invoices read:contacts';

  const page = await openSignedIn(server.ada, client.authorizeUrl({ scope }));
  await assertAccessible(page);
  await page.getByLabel('How long Ledgerly has access').selectOption('7 days');
  await page.route(`${REDIRECT_URI}**`, (route) => route.fulfill({ body: 'Back at the app.' }));
  await clickButton(page, 'Allow');
  await waitForText(page, 'Back at the app.');
  const code = new URL(page.url()).searchParams.get('code') ?? '';
  const { body: tokens } = await client.exchange(code);
  await page.goto(`${server.web}/businesses/${server.acme.id}/connected-apps`);
  await waitForText(page, /8 Jan 2030/);
  await clickLink(page, /^Change what Ledgerly may do/);
  await assertAccessible(page);
  await page.getByLabel('View CRM contacts and companies').uncheck();
  await clickButton(page, 'Save');
  await waitForText(page, /^Withdrawn/);

  const { body } = await client.refresh(tokens.refresh_token);
  assert.equal(body.scope, 'read:invoices');
});
