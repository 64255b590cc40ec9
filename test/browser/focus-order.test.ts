import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { en } from '../../src/languages/en.ts';
import { launchChromium } from '../support/chromium.ts';
import { openHostedPages } from '../support/hosted-pages.ts';

const chromium = await launchChromium();
const { server, pages } = await openHostedPages(en);
/** High enough that nothing scrolls or becomes sticky. */
const height = 4000;

for (const width of [360, 1280]) {
  test(`on every hosted page the Tab key follows the visual order, ${width} pixels wide`, async () => {
    const { page } = await chromium.newPage({ viewport: { width, height } });
    const wrong: string[] = [];
    for (const [name, { text }] of pages) {
      const url = `${server.web}/hosted/${encodeURIComponent(name)}`;
      // Chromium moves the focus when it renders the page, which may be after the first Tab.
      const body = text.replaceAll(' autofocus', '');
      await page.route(url, (route) => route.fulfill({ body, contentType: 'text/html; charset=utf-8' }));
      await page.goto(url);
      // Until then the text may be set in another font, and what is below it moves.
      await page.evaluate(() => document.fonts.ready.then(() => {}));
      wrong.push(...(await findJumps(page)).map((jump) => `${name}: ${jump}`));
    }
    assert.deepEqual(wrong, []);
  });
}

interface Stop {
  name: string;
  /** Excludes the menu and the footer. On wide screens, the consent screen has two columns. */
  part: 'around' | 'main' | 'decision';
  top: number;
  bottom: number;
  left: number;
}

/** The steps at which the focus moves up, or to the left within a row. */
async function findJumps(page: Page): Promise<string[]> {
  await page.locator('.skip').focus();
  const jumps: string[] = [];
  let last: Stop | undefined;
  for (;;) {
    await page.keyboard.press('Tab');
    const stop = await page.evaluate(readStop);
    if (!stop) return jumps;
    const isBelow = last && stop.top >= last.bottom - 1;
    const isBeside = last && stop.bottom > last.top && stop.left > last.left;
    if (last?.part === stop.part && !isBelow && !isBeside) jumps.push(`${last.name} → ${stop.name}`);
    last = stop;
  }
}

/** After the last element, the focus returns to the document or to the first one. */
function readStop(): Stop | undefined {
  const element = document.activeElement;
  if (!element || element.matches('body, .skip')) return undefined;
  const { top, bottom, left: shown } = element.getBoundingClientRect();
  const left = shown + (element.closest('nav')?.scrollLeft ?? 0);
  const inMain = element.closest('.decision') ? 'decision' : 'main';
  const name = element.textContent?.trim() || element.id || element.tagName;
  return { name, part: element.closest('main') ? inMain : 'around', top, bottom, left };
}
