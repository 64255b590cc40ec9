import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { findAxeViolations, type launchChromium, signIn } from './chromium.ts';
import { PASSWORD } from './fixtures.ts';
import { startTestServer, type TestServer } from './test-server.ts';

const DEVICES = [
  { colorScheme: 'light', viewport: { width: 1280, height: 800 } },
  { colorScheme: 'dark', viewport: { width: 360, height: 740 } },
] as const;

interface FlowContext {
  server: TestServer;
  /** Opens a page in a new browser and signs in. */
  openSignedIn(who: { email: string }, path: string): Promise<Page>;
  /** Opens a page in a new browser without signing in. */
  openPage(path: string): Promise<Page>;
}

/** Runs each flow on a wide light and a narrow dark screen, with a new server, and asserts that the console shows no errors. With `rejects`, forms may be rejected. */
export function createFlowTest(chromium: Awaited<ReturnType<typeof launchChromium>>) {
  return (name: string, run: (context: FlowContext) => Promise<void>, { rejects = false } = {}): void => {
    for (const device of DEVICES) {
      test(`${name} (${device.colorScheme}, ${device.viewport.width} pixels wide)`, async () => {
        const server = await startTestServer();
        const errors: string[][] = [];
        const openPage = async (path: string) => {
          const { page, consoleErrors } = await chromium.newPage(device);
          errors.push(consoleErrors);
          await page.goto(new URL(path, server.web).href);
          return page;
        };
        const openSignedIn = async ({ email }: { email: string }, path: string) => {
          const page = await openPage(path);
          await signIn(page, email, PASSWORD);
          return page;
        };
        await run({ server, openSignedIn, openPage });
        // A browser reports each form that is sent back with a problem.
        const expected = (text: string) => rejects && /Failed to load resource: .* status of 40[01]/.test(text);
        assert.deepEqual(
          errors.flat().filter((text) => !expected(text)),
          [],
        );
      });
    }
  };
}

/** Asserts that axe finds no violations and that the page does not scroll sideways. */
export async function assertAccessible(page: Page): Promise<void> {
  assert.deepEqual(await findAxeViolations(page), [], page.url());
  const overflow = await page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  );
  assert.equal(overflow, 0, `${page.url()} scrolls sideways`);
}

export async function clickButton(page: Page, name: string | RegExp): Promise<void> {
  await page.getByRole('button', { name, exact: typeof name === 'string' }).click();
}

export async function clickLink(page: Page, name: string | RegExp): Promise<void> {
  await page.getByRole('link', { name, exact: typeof name === 'string' }).click();
}

export async function waitForText(page: Page, text: string | RegExp): Promise<void> {
  await page.getByText(text).first().waitFor();
}
