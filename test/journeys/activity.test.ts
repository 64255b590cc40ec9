import assert from 'node:assert/strict';
import { test } from 'node:test';
import { launchChromium, signIn } from '../support/chromium.ts';
import { PASSWORD } from '../support/people.ts';
import { newWorld } from '../support/world.ts';

const chromium = await launchChromium();
const world = await newWorld();
const path = `${world.web}/settings/developer/${world.ledger.id}`;
const { access_token } = await world.connect();
await world.listInvoices(access_token, { 'x-business-id': 'nonsense' });

test('a developer who watches the request log sees a request arrive, with its reason, without doing anything', async () => {
  const { page, complaints } = await chromium.newPage();
  await page.goto(`${path}/requests`);
  await signIn(page, world.ada.email, PASSWORD);
  await page.getByText('business_id_malformed').waitFor();

  await world.refresh('grt_nonsense');

  await page.getByRole('link', { name: 'token_unknown' }).waitFor({ timeout: 10_000 });
  await page.getByRole('link', { name: 'Errors only' }).click();
  await page.getByRole('row', { name: /token_unknown/ }).waitFor();
  assert.equal(await page.getByRole('row', { name: /oauth\/authorize/ }).count(), 0);
  await page.getByRole('link', { name: 'Connections' }).click();
  await page.getByRole('row', { name: /Acme 1/ }).waitFor();
  assert.deepEqual(complaints, []);
});
