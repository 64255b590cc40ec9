import assert from 'node:assert/strict';
import { test } from 'node:test';
import { launchChromium, signIn } from '../support/chromium.ts';
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

async function openPage(path: string, width: number) {
  const { page } = await chromium.newPage({ viewport: { width, height: 740 } });
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

test('at a desk the bar is one line, also for an admin with several businesses', async () => {
  const page = await openPage('/settings/members', 1280);

  const height = await page.evaluate(() => document.querySelector('.bar')?.getBoundingClientRect().height);

  assert.ok(height && height < 60, `${height}`);
});

test('nothing is cut off or scrolls sideways at 320 pixels, however long the name on a button is', async () => {
  const page = await openPage(`/settings/members/${longest.id}/remove`, 320);
  const assertFits = async () => {
    const spilled = await page.evaluate(() =>
      [...document.querySelectorAll('button, a, h1, label')]
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
  await assertFits();
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
