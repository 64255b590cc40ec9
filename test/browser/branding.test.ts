import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findAxeViolations, launchChromium, signIn } from '../support/chromium.ts';
import { PASSWORD } from '../support/fixtures.ts';
import { makePng } from '../support/images.ts';
import { startTestServer } from '../support/test-server.ts';

const chromium = await launchChromium();
const server = await startTestServer({
  PLATFORM_NAME: 'Acme Cloud',
  PLATFORM_LOGO: `data:image/png;base64,${makePng({ width: 96, height: 32 }).toString('base64')}`,
  ACCENT_COLOR: '#0b6e4f,#7fe0c0',
  FOOTER_LINKS: 'Privacy=https://acme.example/privacy,Imprint=https://acme.example/imprint',
});

for (const [colorScheme, fill, ink] of [
  ['light', 'rgb(11, 110, 79)', 'rgb(255, 255, 255)'],
  ['dark', 'rgb(127, 224, 192)', 'rgb(0, 0, 0)'],
] as const) {
  for (const width of [1280, 360]) {
    test(`the pages of a platform have its logo, color and links, in the ${colorScheme} theme at ${width} pixels`, async () => {
      const { page, consoleErrors } = await chromium.newPage({ colorScheme, viewport: { width, height: 800 } });
      await page.goto(`${server.web}/sign-in`);
      const button = page.getByRole('button', { name: 'Sign in' });
      const colors = await button.evaluate((element) => {
        const { backgroundColor, color } = getComputedStyle(element);
        return [backgroundColor, color];
      });
      assert.deepEqual(colors, [fill, ink]);
      assert.deepEqual(await findAxeViolations(page), []);

      await signIn(page, server.ada.email, PASSWORD);
      for (const path of [page.url(), `${server.web}/settings/account`, server.authorizeUrl()]) {
        await page.goto(path);
        const logo = page.locator('.brand-logo');
        assert.equal(await logo.evaluate((image: HTMLImageElement) => image.naturalWidth), 96);
        await page.getByRole('contentinfo').getByRole('link', { name: 'Privacy' }).waitFor();
        assert.deepEqual(await findAxeViolations(page), []);
        const [scrolled, shown] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
        assert.equal(scrolled, shown, path);
      }
      assert.deepEqual(consoleErrors, []);
    });
  }
}
