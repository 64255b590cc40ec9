import assert from 'node:assert/strict';
import { createKeyring } from '../../src/lib/keyring.ts';
import { insertEndpoint } from '../../src/webhooks/endpoints.ts';
import { assertAccessible, clickButton, clickLink, createFlowTest, waitForText } from '../support/browser-flow.ts';
import { launchChromium } from '../support/chromium.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const flowTest = createFlowTest(await launchChromium());

flowTest(
  'a developer sees new requests live, why one was rejected, and who connects',
  async ({ server, openSignedIn }) => {
    const { access_token } = await server.connect();
    const page = await openSignedIn(server.ada, `/settings/developer/${server.ledger.id}`);
    await assertAccessible(page);
    await clickLink(page, 'Requests');
    await page.getByRole('heading', { name: 'Activity' }).waitFor();
    await assertAccessible(page);

    const rejected = await server.listInvoices(access_token, { 'x-business-id': server.ledger.id });
    const requestId = rejected.headers.get('x-request-id') ?? 'none';
    // The page adds it without a reload.
    await waitForText(page, `…${requestId.slice(-8)}`);
    await page.getByRole('listitem').filter({ hasText: 'Errors 1' }).waitFor();
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await clickButton(page, `Copy request ID ending in ${requestId.slice(-8)}`);
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), requestId);
    await assertAccessible(page);
    await clickLink(page, 'Errors');
    await page.getByRole('listitem').filter({ hasText: 'business_mismatch' }).getByRole('link').click();
    await page.getByRole('heading', { name: 'Why it was rejected' }).waitFor();
    await page.getByText(requestId).waitFor();
    await assertAccessible(page);

    await clickLink(page, 'Connections');
    await page.getByRole('table').getByText('Acme').waitFor();
    await assertAccessible(page);
  },
);

flowTest(
  'a developer replaces a secret, and is warned while the old one is in use',
  async ({ server, openSignedIn }) => {
    await server.refresh('grt_whatever');
    const page = await openSignedIn(server.ada, `/settings/developer/${server.ledger.id}`);
    await clickButton(page, 'Add a second secret');
    await waitForText(page, 'Copy the secret now.');
    await assertAccessible(page);
    await clickLink(page, 'I have copied it');
    await waitForText(page, 'it is still in use');
    await assertAccessible(page);
  },
);

flowTest('a developer tries an app from Allow to Revoke', async ({ server, openSignedIn }) => {
  await server.addInvoice(server.acme, { number: 'INV-77' });
  const page = await openSignedIn(server.ada, `/settings/developer/${server.ledger.id}/try`);
  const assertShown = async (text: string) => {
    await waitForText(page, text);
    await assertAccessible(page);
  };
  await assertShown('Scopes to request');
  await clickButton(page, 'Add it to the redirect URIs');
  await clickButton(page, 'Show the request');
  await assertShown('Send the browser to the authorize endpoint');
  await clickLink(page, 'Open the authorize URL');
  await clickButton(page, 'Allow');
  await assertShown('The authorization server that responded');
  await page.getByLabel('client_secret').fill('gcs_wrong');
  await clickButton(page, 'Send the request');
  await assertShown('invalid_client');
  await page.getByLabel('client_secret').fill(server.ledger.secret);
  await clickButton(page, 'Send the request');
  await assertShown('"token_type": "bearer"');
  await clickButton(page, 'Call the API');
  await clickButton(page, 'List invoices');
  await assertShown('INV-77');
  await clickButton(page, 'Refresh');
  await clickButton(page, 'Revoke');
  await assertShown('The grant is revoked');
  await clickButton(page, 'Call the API');
  await assertShown('revoked_by_app');
});

flowTest(
  'a developer sends a test event, sees what was sent and received, and sends it again',
  async ({ server, openSignedIn }) => {
    const receiver = await startWebhookReceiver();
    const keys = createKeyring(server.settings.secretKeys);
    const addition = { appId: server.ledger.id, url: receiver.url, eventTypes: ['grant.created'] };
    const { endpoint } = await insertEndpoint(server.storage().durable, keys, addition, server.clock());
    const page = await openSignedIn(server.ada, `/settings/developer/${server.ledger.id}/endpoints/${endpoint.id}`);
    await assertAccessible(page);
    await clickButton(page, 'Send a test event');
    // Without scripts, the page has to be loaded again.
    const log = page.getByRole('list', { name: 'Deliveries' });
    const delivered = log.getByRole('listitem').filter({ hasText: 'Delivered' });
    while (!(await delivered.isVisible())) await page.reload();
    await assertAccessible(page);
    await delivered.getByRole('link').click();
    await page.getByText('webhook-signature').waitFor();
    await page.getByText('"type": "endpoint.test"').waitFor();
    await assertAccessible(page);
    await clickButton(page, 'Send again');
    await receiver.waitFor(2);
    while ((await page.locator('.attempt').count()) < 2) await page.reload();
    await page.getByText('200 OK').first().waitFor();
    await assertAccessible(page);
  },
  { worksWithoutScript: true, env: { WEBHOOKS_TO_LOOPBACK: 'yes' } },
);
