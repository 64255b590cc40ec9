import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HOUR } from '../../src/lib/clock.ts';
import { addCounts, hourOf } from '../../src/request-log/counts.ts';
import { DEVELOPER } from '../support/app-pages.ts';
import { findAxeViolations, launchChromium, signIn } from '../support/chromium.ts';
import { PASSWORD } from '../support/fixtures.ts';
import { startTestServer } from '../support/test-server.ts';

const server = await startTestServer();
const chromium = await launchChromium();
const path = `${DEVELOPER}/${server.ledger.id}/requests`;
const thisHour = hourOf(server.clock());
const counts = Array.from({ length: 24 * 30 }, (_, i) => ({
  appId: server.ledger.id,
  hour: thisHour - i,
  requests: 10 + ((i * 7) % 23),
  errors: i % 5,
  refreshes: i % 4,
}));
await addCounts(server.storage().durable, counts);

async function openChart(options: Parameters<typeof chromium.newPage>[0], query = '') {
  const { page, consoleErrors } = await chromium.newPage(options);
  await page.goto(`${server.web}${path}${query}`);
  await signIn(page, server.ada.email, PASSWORD);
  await page.locator('.chart').waitFor();
  return { page, consoleErrors };
}

test('a chart uses the time zone of the browser, and shows the numbers of the bar under the pointer', async () => {
  const { page, consoleErrors } = await openChart({ timezoneId: 'Asia/Tokyo', locale: 'en-GB' });
  await page.getByText('Times in Asia/Tokyo').waitFor();

  const hour = new Date((thisHour + 9) * HOUR).toISOString().slice(11, 16);
  await page.locator('.bar').last().hover();

  const tip = page.locator('.chart-tip');
  assert.match((await tip.textContent()) ?? '', new RegExp(`^\\d+ \\w+, ${hour}: 10 requests, 0 errors, 0 refreshes$`));
  await page.mouse.move(0, 0);
  await tip.waitFor({ state: 'hidden' });
  assert.deepEqual(consoleErrors, []);
});

test('the times of a chart look as elsewhere on the page', async () => {
  const { page } = await openChart({ timezoneId: 'America/New_York', locale: 'en-US' });
  await page.getByText('Times in America/New_York').waitFor();

  await page.getByText('View as table').click();

  const [first = ''] = await page.locator('.chart tbody th').allTextContents();
  assert.match(first, /^[A-Z][a-z]+ \d+, \d+:00\s[AP]M$/);
});

test('without scripts, a chart has axes and a table, in UTC', async () => {
  const { page } = await openChart(
    { javaScriptEnabled: false, viewport: { width: 360, height: 740 } },
    '?period=month',
  );

  await page.getByText('Times in UTC').waitFor();
  await page.getByText('View as table').click();

  assert.equal(await page.locator('.chart tbody tr').count(), 30);
  assert.equal(await page.locator('.x-axis li').count(), 6);
});

for (const { colorScheme, width } of [
  { colorScheme: 'light', width: 1280 },
  { colorScheme: 'dark', width: 360 },
] as const) {
  test(`a chart is accessible and fits the screen, ${colorScheme}, ${width} pixels wide`, async () => {
    const { page } = await openChart({ colorScheme, viewport: { width, height: 800 } }, '?period=month');

    assert.deepEqual(await findAxeViolations(page), []);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width);
  });
}
