import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { launchChromium, signIn, signOut } from '../support/chromium.ts';
import { PASSWORD } from '../support/fixtures.ts';
import { startTestServer } from '../support/test-server.ts';

const chromium = await launchChromium();
const server = await startTestServer();
const other = await server.addBusiness('Borealis Logistics International');
const admin = await server.addUser(
  'Montgomery',
  [
    [server.acme, 'owner'],
    [other, 'member'],
  ],
  true,
);
const longest = await server.addUser('Bartholomew-Featherstonehaugh-Cholmondeley-Marjoribanks', [
  [server.acme, 'member'],
]);

async function openPage(path: string, width: number, options: BrowserContextOptions = {}) {
  const { page } = await chromium.newPage({ viewport: { width, height: 740 }, ...options });
  await page.goto(server.web + path);
  await signIn(page, admin.email, PASSWORD);
  await page.getByRole('navigation', { name: 'Settings' }).waitFor();
  return page;
}

for (const width of [320, 1280]) {
  test(`the first Tab on a page leads to “Skip to content”, ${width} pixels wide`, async () => {
    const page = await openPage('/settings/developer', width);
    await page.reload();

    await page.keyboard.press('Tab');

    assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'Skip to content');
  });
}

test('on wide screens the navigation is a sidebar, on a phone a bar with tabs that scroll and show the current one', async () => {
  const wide = await openPage('/settings/members', 1280);
  const phone = await openPage('/settings/developer', 360);
  const withoutScript = await openPage('/settings/developer', 360, { javaScriptEnabled: false });
  const measure = (page: Page, selector: string) =>
    page.evaluate((selector) => {
      const { left, right, top, bottom, width } = document.querySelector(selector)?.getBoundingClientRect() ?? {};
      return { left, right, top, bottom, width } as Record<'left' | 'right' | 'top' | 'bottom' | 'width', number>;
    }, selector);

  assert.deepEqual((await measure(wide, 'main')).left, (await measure(wide, '.bar')).right);
  assert.ok((await measure(phone, '.bar')).bottom < 110);
  for (const page of [phone, withoutScript]) {
    await page.goto(`${server.web}/platform/apps`);
    assert.ok((await measure(page, '.site-menu [aria-current]')).right <= 360);
  }
});

test('the menus open and close without a script, and lead to the account, to another business and to sign-out', async () => {
  const user = await server.addUser('Lou', [
    [server.acme, 'owner'],
    [other, 'member'],
  ]);
  const { page } = await chromium.newPage({ javaScriptEnabled: false });
  await page.goto(`${server.web}/settings/members`);
  await signIn(page, user.email, PASSWORD);

  await page.getByRole('button', { name: 'Current business: Acme' }).click();
  await page.getByRole('button', { name: 'Borealis Logistics International' }).click();
  await page.getByRole('button', { name: 'Current business: Borealis Logistics International' }).waitFor();

  await page.getByRole('button', { name: /^Account of Lou/ }).click();
  const account = page.getByRole('link', { name: 'Account' });
  await account.waitFor();
  await page.keyboard.press('Escape');
  await account.waitFor({ state: 'hidden' });
  await signOut(page);
});

test('nothing is cut off or scrolls sideways at 320 pixels, however long the name on a button is', async () => {
  const page = await openPage(`/settings/members/${longest.id}/remove`, 320);
  const assertFits = async () => {
    const spilled = await page.evaluate(() =>
      // Tabs scroll.
      [...document.querySelectorAll('button, a, h1, label')]
        .filter((element) => !element.closest('.site-menu, .tabs'))
        .filter((element) => element.getBoundingClientRect().right > innerWidth)
        .map((element) => element.textContent),
    );
    assert.deepEqual(spilled, [], page.url());
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 320, page.url());
  };

  await assertFits();
  for (const path of ['/settings/connected-apps', '/nowhere', `/settings/developer/${server.ledger.id}/try`]) {
    await page.goto(server.web + path);
    await assertFits();
  }
  await page.getByRole('button', { name: 'Add it to the redirect URIs' }).click();
  await page.getByRole('button', { name: 'Remove it from the redirect URIs' }).waitFor();
  await page.waitForLoadState();
  await assertFits();
});

test('on a phone, an entry of the audit log is a few lines', async () => {
  const page = await openPage('/settings/audit-log', 360);
  const heights = await page
    .locator('.audit tbody tr')
    .evaluateAll((rows) => rows.map((row) => row.getBoundingClientRect().height));

  assert.ok(heights.length > 0);
  assert.ok(Math.max(...heights) < 120, `${heights}`);
});

test('the fields of a section end where its facts end', async () => {
  const page = await openPage('/settings/account', 1600);
  const rightOf = async (selector: string) => {
    const box = await page.locator(`#profile ${selector}`).first().boundingBox();
    return box && Math.round(box.x + box.width);
  };

  assert.equal(await rightOf('.field input'), await rightOf('.facts > div'));
});

test('the consent screen shows the whole name of the business, however long and however narrow the screen', async () => {
  const name = 'The Extraordinarily Long Wholesale Coffee and Tea Importers of Harbour Ltd';
  const business = await server.addBusiness(name);
  const user = await server.addUser('Wide', [
    [business, 'owner'],
    [other, 'member'],
  ]);
  const app = await server.addApp({ ownerBusinessId: business.id, openToAnyBusiness: true });
  const { page } = await chromium.newPage({ viewport: { width: 320, height: 740 } });
  await page.goto(server.authorizeUrl({ client_id: app.id }));
  await signIn(page, user.email, PASSWORD);
  await page.getByLabel('Current business').selectOption(name);
  await page.getByRole('button', { name: 'Switch' }).click();
  await page.getByText(`You chose ${name}.`).waitFor();
  await page.waitForLoadState();

  const shown = page.locator('.facts div').filter({ hasText: 'Business' }).getByText(name, { exact: true });
  const whole = shown.and(page.locator('p'));
  const { right, isCut } = await whole.evaluate((element) => ({
    right: element.getBoundingClientRect().right,
    isCut: element.scrollWidth > element.clientWidth || element.scrollHeight > element.clientHeight,
  }));

  assert.ok(await whole.isVisible());
  assert.deepEqual([right <= 320, isCut], [true, false]);
});

test('if a passkey fails, the page shows our own message, whatever the browser reports', async () => {
  const { page } = await chromium.newPage();
  await page.goto(`${server.web}/sign-in`);
  await page.evaluate(() => {
    navigator.credentials.get = () => Promise.reject(new DOMException('0x80090029 NTE_FAIL', 'OperationError'));
  });

  await page.getByRole('button', { name: 'Use a passkey instead' }).click();

  await page.getByText('That did not work. Reload the page and try again.').waitFor();
  assert.equal(await page.getByText('0x80090029').count(), 0);
});
