import { launchChromium } from '../support/chromium.ts';
import { assertOpen, follow, newJourneys, press, read } from '../support/journey.ts';

const journey = newJourneys(await launchChromium());

journey(
  'a developer sees a request as it is made, why it was refused, and who connects',
  async ({ server, arrive }) => {
    const { access_token } = await server.connect();
    const page = await arrive(server.ada, `/settings/developer/${server.ledger.id}`);
    await assertOpen(page);
    await follow(page, 'Requests');
    await page.getByRole('heading', { name: 'Activity' }).waitFor();
    await assertOpen(page);

    const refused = await server.listInvoices(access_token, { 'x-business-id': server.ledger.id });
    // It comes by itself: nobody reloads the page.
    await read(page, refused.headers.get('x-request-id') ?? 'none');
    await page.getByRole('listitem').filter({ hasText: 'Errors 1' }).waitFor();
    await follow(page, 'Errors only');
    await page.getByRole('link', { name: 'business_mismatch' }).waitFor();

    await follow(page, 'Connections');
    await page.getByRole('rowheader', { name: 'Acme' }).waitFor();
    await assertOpen(page);
  },
);

journey('a developer replaces a secret, and is warned while the old one is in use', async ({ server, arrive }) => {
  await server.refresh('grt_whatever');
  const page = await arrive(server.ada, `/settings/developer/${server.ledger.id}`);
  await press(page, 'Add a second secret');
  await read(page, 'Copy the secret now.');
  await assertOpen(page);
  await follow(page, 'I have copied it');
  await read(page, 'it is still in use');
  await assertOpen(page);
});

journey('a developer tries an app from Allow to Revoke', async ({ server, arrive }) => {
  await server.addInvoice(server.acme, { number: 'INV-77' });
  const page = await arrive(server.ada, `/settings/developer/${server.ledger.id}/try`);
  const look = async (text: string) => {
    await read(page, text);
    await assertOpen(page);
  };
  await look('Scopes to request');
  await press(page, 'Add it to the redirect URIs');
  await press(page, 'Show the request');
  await look('Send the browser to the authorize endpoint');
  await follow(page, 'Open the authorize URL');
  await press(page, 'Allow');
  await look('The authorization server that responded');
  await page.getByLabel('client_secret').fill('gcs_wrong');
  await press(page, 'Send the request');
  await look('invalid_client');
  await page.getByLabel('client_secret').fill(server.ledger.secret);
  await press(page, 'Send the request');
  await look('"token_type": "bearer"');
  await press(page, 'Call the API');
  await press(page, 'List invoices');
  await look('INV-77');
  await press(page, 'Refresh');
  await press(page, 'Revoke');
  await look('The grant is revoked');
  await press(page, 'Call the API');
  await look('revoked_by_app');
});
