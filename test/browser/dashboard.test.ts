import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { launchChromium, signIn } from '../support/chromium.ts';
import { PASSWORD } from '../support/fixtures.ts';
import { startTestServer } from '../support/test-server.ts';

const chromium = await launchChromium();
const server = await startTestServer();
const owner = await server.addUser('Robin', [[server.acme, 'owner']], true);

async function openPage(path: string, width: number): Promise<Page> {
  const { page } = await chromium.newPage({ viewport: { width, height: 740 } });
  await page.goto(server.web + path);
  await signIn(page, owner.email, PASSWORD);
  await page.getByRole('navigation', { name: 'Settings' }).waitFor();
  return page;
}

for (const [direction, side] of [
  ['ltr', 'right'],
  ['rtl', 'left'],
] as const) {
  test(`a row that leads to a page ends with a chevron, ${direction}`, async () => {
    const page = await openPage('/settings/developer', 1280);
    await page.evaluate((direction) => {
      document.documentElement.dir = direction;
    }, direction);

    const { chevron, rotate } = await page
      .locator('.rows > .entry')
      .first()
      .evaluate((row, side) => {
        const style = getComputedStyle(row, '::after');
        return { chevron: Number.parseFloat(style[side]), rotate: style.rotate };
      }, side);

    assert.deepEqual([chevron, rotate], [3, direction === 'ltr' ? '-45deg' : '135deg']);
  });
}

test('on a phone, tabs fade at the edges beyond which there are more', async () => {
  const page = await openPage('/settings/developer', 360);
  await page.goto(`${server.web}/platform/apps`);
  const fades = () =>
    page.locator('.tabs').evaluate((tabs) => {
      const style = getComputedStyle(tabs);
      return ['--fade-start', '--fade-end'].map((name) => Number.parseFloat(style.getPropertyValue(name)) > 0);
    });
  const scrollTo = (left: number) =>
    page.locator('.tabs').evaluate(async (tabs, left) => {
      // The page first scrolls to the current tab.
      const held = tabs.querySelector('[aria-current]')?.getAnimations() ?? [];
      await Promise.all(held.map(({ finished }) => finished));
      tabs.scrollLeft = left;
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    }, left);

  await scrollTo(0);
  assert.deepEqual(await fades(), [false, true]);
  await scrollTo(10_000);
  assert.deepEqual(await fades(), [true, false]);
  await page.setViewportSize({ width: 1280, height: 740 });
  await page.reload();
  assert.deepEqual(await fades(), [false, false]);
});

test('the contents of the account page wrap, so that all of them are in view on a phone', async () => {
  const page = await openPage('/settings/account', 360);

  const links = page.getByRole('navigation', { name: 'On this page' }).getByRole('link');
  const rights = await links.evaluateAll((all) => all.map((link) => link.getBoundingClientRect().right));

  assert.equal(rights.length, 8);
  assert.ok(Math.max(...rights) <= 360, `${rights}`);
});

test('all events of a group can be ticked and cleared at once', async () => {
  const page = await openPage(`/settings/developer/${server.ledger.id}/endpoints/new`, 1280);
  const ticked = () => page.getByRole('group', { name: 'Grant' }).getByRole('checkbox', { checked: true }).count();
  const others = await page.getByRole('checkbox', { checked: true }).count();

  await page.getByRole('button', { name: 'All: Grant' }).click();
  const all = await ticked();
  assert.ok(all > 2, `${all}`);
  await page.getByRole('button', { name: 'None: Grant' }).click();
  assert.equal(await ticked(), 0);
  assert.ok((await page.getByRole('checkbox', { checked: true }).count()) <= others);
});

test('a page below a list has one way back, to that list', async () => {
  const page = await openPage(`/settings/developer/${server.ledger.id}/endpoints/new`, 1280);

  assert.deepEqual(await page.locator('.back').allTextContents(), ['All endpoints']);
});

test('the filters of the audit log are folded on a phone until one is set, and shown on wide screens', async () => {
  const page = await openPage('/settings/audit-log', 360);
  const type = page.getByLabel('Type');

  assert.equal(await type.isVisible(), false);
  await page.getByText('Filters', { exact: true }).click();
  await type.selectOption('Members');
  await page.getByRole('button', { name: 'Search' }).click();
  await page.waitForURL(/kind=member/);
  assert.equal(await type.isVisible(), true);
  await page.setViewportSize({ width: 1280, height: 740 });
  await page.goto(page.url().replace(/\?.*/, ''));
  assert.equal(await type.isVisible(), true);
});

test('a form has one empty row for a redirect URI, and a button adds more', async () => {
  const page = await openPage('/settings/developer/new', 360);
  const rows = page.getByLabel(/^Redirect URI \d/);

  assert.equal(await rows.count(), 1);
  assert.equal(await page.getByText('Leave a row empty').count(), 0);
  await page.getByLabel('App name').fill('Two places');
  await rows.fill('https://one.example/back');
  await page.getByRole('button', { name: 'Add URI' }).click();
  await page.getByLabel('Redirect URI 2').fill('https://two.example/back');
  await page.getByLabel('read:invoices').check();
  await page.getByRole('button', { name: 'Register app' }).click();
  await page.getByRole('link', { name: 'I have copied' }).click();
  await page.getByRole('link', { name: 'Settings' }).waitFor();
  // The script removes the other empty rows.
  await page.waitForLoadState();

  assert.deepEqual(await rows.evaluateAll((all) => all.map((input) => (input as HTMLInputElement).value)), [
    'https://one.example/back',
    'https://two.example/back',
    '',
  ]);
});
