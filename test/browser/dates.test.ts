import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BrowserContextOptions } from 'playwright-core';
import { launchChromium, signIn } from '../support/chromium.ts';
import { PASSWORD } from '../support/fixtures.ts';
import { startTestServer } from '../support/test-server.ts';

const server = await startTestServer();
const chromium = await launchChromium();

async function readSince(options: BrowserContextOptions): Promise<string | null> {
  const { page } = await chromium.newPage(options);
  await page.goto(`${server.web}/settings/members`);
  await signIn(page, server.ada.email, PASSWORD);
  return page.locator('.rows time').first().textContent();
}

function formatToday(locale: string): string {
  return new Date(server.clock()).toLocaleDateString(locale, { dateStyle: 'medium', timeZone: 'UTC' });
}

test('a date in a list is formatted for the locale of the browser, and is the same day in every time zone', async () => {
  assert.equal(await readSince({ locale: 'en-US', timezoneId: 'Pacific/Honolulu' }), formatToday('en-US'));
  assert.equal(await readSince({ locale: 'en-GB', timezoneId: 'Pacific/Kiritimati' }), formatToday('en-GB'));
});

test('a date on the consent screen is formatted as in lists', async () => {
  const { page } = await chromium.newPage({ locale: 'en-US' });
  await page.goto(server.authorizeUrl());
  await signIn(page, server.ada.email, PASSWORD);

  assert.equal(await page.locator('.requester time').textContent(), formatToday('en-US'));
});

test('without scripts, a date in a list is in British English', async () => {
  assert.equal(await readSince({ locale: 'en-US', javaScriptEnabled: false }), formatToday('en-GB'));
});
