import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import type { Page } from 'playwright-core';
import { startGallery } from '../../docs/pictures/gallery.ts';
import { LOOKS, lookName } from '../../docs/pictures/looks.ts';
import { findAxeViolations, launchChromium } from '../support/chromium.ts';

const chromium = await launchChromium();
const gallery = await startGallery();
after(gallery.close);

/** Compares pictures by size, not by pixel: other machines render text differently. */
const TOLERANCE = 0.03;

for (const device of LOOKS) {
  test(`the components are accessible, and the stored picture shows them, ${lookName(device)}`, async () => {
    const { page, consoleErrors } = await chromium.newPage(device);
    await page.goto(gallery.url);

    assert.deepEqual(await findAxeViolations(page), []);
    assert.deepEqual(consoleErrors, []);
    const now = await sizeOf(page);
    const kept = pictureSize(`docs/pictures/gallery-${lookName(device)}.png`);
    assert.deepEqual([kept.width, now.width], [device.viewport.width, device.viewport.width]);
    const change = Math.abs(kept.height / now.height - 1);
    assert.ok(change < TOLERANCE, `${kept.height} before, ${now.height} now: run npm run pictures, and look at them`);
  });
}

test('titles, labels and fields have the sizes of the design', async () => {
  const { page } = await chromium.newPage({ viewport: { width: 1280, height: 800 } });
  await page.goto(gallery.url);
  const measured = await page.evaluate(async () => {
    await document.fonts.ready;
    const styleOf = (selector: string) => getComputedStyle(document.querySelector(selector) as Element);
    const boxOf = (selector: string) => (document.querySelector(selector) as Element).getBoundingClientRect();
    return {
      title: styleOf('#form h2').fontSize,
      label: styleOf('label[for="uri"]').fontSize,
      gap: boxOf('#uri').top - boxOf('label[for="uri"]').bottom,
      field: boxOf('#uri').height,
      font: document.fonts.check('16px Geist'),
    };
  });

  assert.deepEqual(measured, { title: '18px', label: '14px', gap: 6, field: 36, font: true });
});

test('on a screen of 1,920 pixels, a table is at most 1,200 pixels wide', async () => {
  const { page } = await chromium.newPage({ viewport: { width: 1920, height: 800 } });
  await page.goto(gallery.url);

  const width = await page.evaluate(() => document.querySelector('.table')?.getBoundingClientRect().width);

  assert.ok(width && width > 1000 && width <= 1200, `${width}`);
});

for (const list of ['.rows.log', '.rows:not(.log)']) {
  test(`the text of a row stays visible under the pointer, ${list}`, async () => {
    const { page } = await chromium.newPage({ viewport: { width: 1280, height: 800 } });
    await page.goto(gallery.url);
    const link = page.locator(`${list} > .entry > div > a`).first();
    await link.hover();

    const seen = await link.screenshot();
    await link.evaluate((element) => element.style.setProperty('color', 'transparent'));
    const without = await link.screenshot();

    assert.notDeepEqual(seen, without);
  });
}

test('a dialog opens and closes without a script', async () => {
  const { page } = await chromium.newPage({ javaScriptEnabled: false });
  await page.goto(gallery.url);

  await page.getByRole('button', { name: 'Disconnect…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Disconnect Ledgerly?' });
  await dialog.waitFor();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await dialog.waitFor({ state: 'hidden' });
});

function sizeOf(page: Page): Promise<{ width: number; height: number }> {
  return page.evaluate(() => ({
    width: document.documentElement.scrollWidth,
    height: document.documentElement.scrollHeight,
  }));
}

/** Reads the header of the PNG. */
function pictureSize(path: string): { width: number; height: number } {
  const png = readFileSync(new URL(`../../${path}`, import.meta.url));
  return { width: png.readUInt32BE(16), height: png.readUInt32BE(20) };
}
