import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { listOperations } from '../../src/web/reference/document.ts';
import { fetchDocument } from '../reference/document.ts';
import { findAxeViolations, launchChromium } from '../support/chromium.ts';
import { startTestServer } from '../support/test-server.ts';

const server = await startTestServer();
const document = await fetchDocument(server.api);
const operations = listOperations(document);
const chromium = await launchChromium();

type Options = Parameters<typeof chromium.newPage>[0];

/** Opens the reference at an operation, and collects console errors and requests to other hosts. */
async function openReference(options: Options = {}, operationId = 'createInvoice') {
  const { page, consoleErrors } = await chromium.newPage(options);
  const otherHosts: string[] = [];
  page.on('request', (request) => {
    if (!request.url().startsWith(`${server.api}/`)) otherHosts.push(request.url());
  });
  await page.goto(`${server.api}/docs#${addressOf(operationId)}`);
  await sectionOf(page, operationId).waitFor();
  return { page, consoleErrors, otherHosts };
}

function addressOf(operationId: string): string {
  const [tag = ''] = operations.find((each) => each.operationId === operationId)?.tags ?? [];
  return `tag/${tag.toLowerCase().replaceAll(' ', '-')}/${operationId}`;
}

const sectionOf = (page: Page, operationId: string) => page.locator(`section[id$="/${addressOf(operationId)}"]`);

/** Contrast depends on the theme, and overflow on the size. */
const DEVICES = [
  { colorScheme: 'light', viewport: { width: 1280, height: 800 } },
  { colorScheme: 'dark', viewport: { width: 360, height: 740 } },
] as const;

for (const device of DEVICES) {
  test(`the reference is accessible, ${device.colorScheme}, ${device.viewport.width} pixels wide, without an error or another host`, async () => {
    const { page, consoleErrors, otherHosts } = await openReference(device);
    await sectionOf(page, 'createInvoice').getByText('Error reasons').click();

    assert.deepEqual(consoleErrors, []);
    assert.deepEqual(otherHosts, []);
    assert.equal(await page.evaluate(() => globalThis.document.documentElement.scrollWidth), device.viewport.width);
    assert.deepEqual(await findAxeViolations(page), []);
    await sectionOf(page, 'createInvoice')
      .getByRole('button', { name: /Shell Curl/ })
      .click();
    await page.getByRole('option', { name: 'Requests' }).waitFor();
    assert.deepEqual(await findAxeViolations(page), [], 'with the list of languages');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').fill('invoice');
    await page
      .getByRole('option', { name: /Create an invoice/ })
      .first()
      .waitFor();
    assert.deepEqual(await findAxeViolations(page), [], 'with the search');
  });
}

for (const anchor of [addressOf('token'), 'tag/webhooks/webhook/grant.created', 'schemas/Invoice']) {
  test(`the reference is accessible at ${anchor}`, async () => {
    const { page } = await chromium.newPage();
    await page.goto(`${server.api}/docs#${anchor}`);
    await page.locator(`[id$="/${anchor}"]`).first().waitFor();

    assert.deepEqual(await findAxeViolations(page), []);
  });
}

test('the navigation leads to every operation, webhook and schema of the document', async () => {
  const { page, consoleErrors } = await openReference();
  const navigation = page.getByRole('complementary');
  const closed = navigation.getByRole('button', { name: /^Open Group/ });
  while ((await closed.count()) > 0) await closed.first().click();

  const links = await navigation.getByRole('link').evaluateAll((all) => all.map((link) => link.getAttribute('href')));
  const anchors = [
    ...operations.map(({ operationId }) => addressOf(operationId)),
    ...Object.keys(document.webhooks).map((type) => `tag/webhooks/webhook/${type}`),
    ...Object.keys(document.components.schemas).map((name) => `schemas/${name}`),
  ];
  assert.deepEqual(
    anchors.filter((anchor) => !links.includes(`#${anchor}`)),
    [],
  );
  for (const anchor of [addressOf('healthz'), 'tag/webhooks/webhook/grant.created', 'schemas/AgedReceivables']) {
    await navigation.locator(`a[href="#${anchor}"]`).click();
    await page.locator(`[id$="/${anchor}"]`).first().waitFor();
  }
  assert.deepEqual(consoleErrors, []);
});

test('search leads to an operation', async () => {
  const { page } = await openReference();

  await page.keyboard.press('Control+k');
  await page.getByRole('combobox').fill('introspect');
  await page
    .getByRole('option', { name: /Introspect a token/ })
    .first()
    .click();

  await sectionOf(page, 'introspect').waitFor();
  assert.equal(new URL(page.url()).hash, `#${addressOf('introspect')}`);
});

test('a request is shown in several languages, and can be copied', async () => {
  const { page } = await openReference({ permissions: ['clipboard-read', 'clipboard-write'] });
  const section = sectionOf(page, 'createInvoice');

  await section.getByRole('button', { name: /Shell Curl/ }).click();
  await page.getByRole('option', { name: 'Requests' }).click();
  await section.getByText('requests.post(').waitFor();
  await section.locator('.scalar-code-copy').first().click();

  const copied = await page.evaluate(() => navigator.clipboard.readText());
  assert.match(copied, /^requests\.post\(\s+"http:.*\/api\/v1\/accounting\/invoices",\s+headers=/);
});

test('each reason of an error links to the page that explains it', async () => {
  const { page } = await openReference();

  await sectionOf(page, 'createInvoice').getByText('Error reasons').click();
  await sectionOf(page, 'createInvoice').getByRole('link', { name: 'access_token_expired' }).click();

  assert.equal(page.url(), `${server.api}/docs/errors/invalid_token#access_token_expired`);
});

test('without scripts, the page leads to the document and the guides', async () => {
  const { page } = await chromium.newPage({ javaScriptEnabled: false });
  await page.goto(`${server.api}/docs`);

  for (const [name, path] of [
    ['OpenAPI document', '/openapi.json'],
    ['guides', '/docs/guides'],
    ['list of errors', '/docs/errors'],
  ]) {
    const link = page.getByRole('main').getByRole('link', { name, exact: true });
    assert.equal(await link.getAttribute('href'), path);
  }
});
