import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { findAxeViolations, launchChromium, signIn } from '../support/chromium.ts';
import { PASSWORD } from '../support/fixtures.ts';
import { JPEG, makePng } from '../support/images.ts';
import { startTestServer } from '../support/test-server.ts';

const chromium = await launchChromium();
const server = await startTestServer();
const identityPage = `${server.web}${server.acmePath('developer')}/${server.ledger.id}/identity`;

async function openIdentity(options = {}): Promise<{ page: Page; consoleErrors: string[] }> {
  const opened = await chromium.newPage(options);
  await opened.page.goto(identityPage);
  await signIn(opened.page, server.ada.email, PASSWORD);
  return opened;
}

const sizeOf = (page: Page, selector: string) =>
  page.locator(selector).evaluate(async (image: HTMLImageElement) => {
    // Until the image has loaded, both sizes are 0.
    await image.decode();
    return [image.naturalWidth, image.naturalHeight];
  });

test('an owner uploads a logo without a script, and the browser shows the stored one', async () => {
  const { page } = await openIdentity({ javaScriptEnabled: false });
  await page.getByLabel('Logo file').setInputFiles({ name: 'logo.png', mimeType: 'image/png', buffer: makePng() });
  await page.getByRole('button', { name: 'Upload logo' }).click();
  await page.getByText('Saved.').waitFor();

  assert.deepEqual(await sizeOf(page, 'main img.logo.lg'), [64, 64]);
  const topOf = async (name: string) => (await page.getByRole('button', { name }).boundingBox())?.y;
  assert.equal(await topOf('Remove logo'), await topOf('Upload logo'));
});

test('a file that is no PNG is rejected at its field, and the page stays accessible', async () => {
  const { page } = await openIdentity({ viewport: { width: 360, height: 700 } });
  await page.getByLabel('Logo file').setInputFiles({ name: 'logo.jpg', mimeType: 'image/jpeg', buffer: JPEG });

  await page.getByRole('button', { name: 'Upload logo' }).click();
  await page.getByText('This is a JPEG file.').waitFor();

  assert.deepEqual(await findAxeViolations(page), []);
  const [width, shown] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.equal(width, shown);
});

test('the consent screen shows the logo, the links and the badge, under the policy of the page', async () => {
  const { page, consoleErrors } = await openIdentity();
  await page.getByLabel('Homepage').fill('https://ledger.example/');
  await page.getByLabel('Privacy policy').fill('https://ledger.example/privacy');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByLabel('Logo file').setInputFiles({ name: 'a.png', mimeType: 'image/png', buffer: makePng() });
  await page.getByRole('button', { name: 'Upload logo' }).click();
  await page.getByText('Saved.').waitFor();

  await page.goto(server.authorizeUrl());

  assert.deepEqual(await sizeOf(page, '.parties img'), [64, 64]);
  const link = page.getByRole('link', { name: 'Privacy policy' });
  assert.equal(await link.getAttribute('rel'), 'noreferrer noopener');
  assert.deepEqual(await findAxeViolations(page), []);
  assert.deepEqual(consoleErrors, []);
});
