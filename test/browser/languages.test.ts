import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { findAxeViolations, launchChromium } from '../support/chromium.ts';
import { PASSWORD } from '../support/fixtures.ts';
import { openHostedPages } from '../support/hosted-pages.ts';
import { LONG, RIGHT_TO_LEFT } from '../support/made-up-languages.ts';
import { startTestServer } from '../support/test-server.ts';

const chromium = await launchChromium();
const WIDTH = 360;
const viewport = { width: WIDTH, height: 740 };

for (const texts of [LONG, RIGHT_TO_LEFT]) {
  const what = texts === LONG ? 'is twice as long' : 'is written from right to left';
  test(`a language that ${what} breaks no hosted page on a phone`, async () => {
    const { server, pages } = await openHostedPages(texts);
    const { page } = await chromium.newPage({ viewport });
    const broken: string[] = [];
    for (const [name, { text }] of pages) {
      const url = `${server.web}/hosted/${encodeURIComponent(name)}`;
      await page.route(url, (route) => route.fulfill({ body: text, contentType: 'text/html; charset=utf-8' }));
      await page.goto(url);
      assert.equal(await page.evaluate('getComputedStyle(document.body).direction'), texts.direction, name);
      broken.push(...(await findBroken(page)).map((problem) => `${name}: ${problem}`));
    }
    assert.deepEqual(broken, []);
  });
}

test('a person who reads German signs in and allows an app in German, and both pages are accessible', async () => {
  const server = await startTestServer();
  for (const colorScheme of ['light', 'dark'] as const) {
    const { page, consoleErrors } = await chromium.newPage({ viewport, colorScheme, locale: 'de-DE' });
    await page.goto(server.authorizeUrl());
    assert.deepEqual(await findAxeViolations(page), []);
    await page.getByLabel('E-Mail-Adresse').fill(server.ada.email);
    await page.getByLabel('Passwort').fill(PASSWORD);
    await page.getByRole('button', { name: 'Anmelden' }).click();
    await page.getByRole('heading', { name: 'Ledger möchte auf Acme zugreifen' }).waitFor();
    assert.deepEqual(await findAxeViolations(page), []);
    assert.deepEqual(await findBroken(page), []);
    await page.getByRole('button', { name: 'Zugriff erlauben' }).waitFor();
    assert.deepEqual(consoleErrors, []);
  }
});

/** Elements that are outside the screen, cut off, or overlap others. */
function findBroken(page: Page): Promise<string[]> {
  return page.evaluate((width) => {
    const broken: string[] = [];
    const describe = (problem: string, element: Element) =>
      broken.push(`${problem}: ${element.outerHTML.replace(/\s+/g, ' ').slice(0, 120)}`);
    if (document.documentElement.scrollWidth > width) describe('scrolls sideways', document.documentElement);
    const isShown = (element: Element) =>
      element.checkVisibility() && !element.closest('.visually-hidden, .skip, nav.site-menu, [lang=en], svg');
    const all = [...document.body.querySelectorAll('*')].filter(isShown);
    for (const element of all) {
      const { left, right } = element.getBoundingClientRect();
      if (left < -1 || right > width + 1) describe('outside', element);
      const { overflowX } = getComputedStyle(element);
      const isCut = element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0;
      if (isCut && overflowX !== 'visible' && !element.matches('select, input')) describe('cut off', element);
    }
    const controls = all.filter((element) =>
      element.matches('button, a, input:not([type=hidden]), select, h1, summary'),
    );
    for (const [index, one] of controls.entries()) {
      for (const other of controls.slice(index + 1)) {
        if (one.contains(other) || other.contains(one) || isPinned(one) !== isPinned(other)) continue;
        const [a, b] = [one.getBoundingClientRect(), other.getBoundingClientRect()];
        const isApart =
          a.right <= b.left + 1 || b.right <= a.left + 1 || a.bottom <= b.top + 1 || b.bottom <= a.top + 1;
        if (!isApart) describe('overlaps', other);
      }
    }
    function isPinned(element: Element): boolean {
      for (let here: Element | null = element; here; here = here.parentElement) {
        if (['sticky', 'fixed'].includes(getComputedStyle(here).position)) return true;
      }
      return false;
    }
    return broken;
  }, WIDTH);
}
