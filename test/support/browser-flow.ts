import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { findAxeViolations, type launchChromium, signIn } from './chromium.ts';
import { PASSWORD } from './fixtures.ts';
import { type MailServer, startMailServer } from './mail-server.ts';
import { startTestServer, type TestServer } from './test-server.ts';

const DEVICES: BrowserContextOptions[] = [
  { colorScheme: 'light', viewport: { width: 1280, height: 800 } },
  { colorScheme: 'dark', viewport: { width: 360, height: 740 } },
];
/** Pages in which axe cannot run. */
const withoutScript = new WeakSet<Page>();
const WITHOUT_SCRIPT = DEVICES.map((device) => ({ ...device, javaScriptEnabled: false }));

interface FlowOptions {
  /** The server may reject forms. */
  rejects?: boolean;
  /** Runs the flow again with JavaScript disabled. */
  worksWithoutScript?: boolean;
  /** Turns mail on. `smtp` in the context receives it. */
  sendsMail?: boolean;
  /** `smtp` also stores notices. */
  wantsNotices?: boolean;
  /** Settings of the server. */
  env?: Record<string, string>;
}

interface FlowContext {
  server: TestServer;
  /** Receives mail if the flow has `sendsMail`. */
  smtp: MailServer;
  /** Opens a page in a new browser and signs in. */
  openSignedIn(who: { email: string }, path: string): Promise<Page>;
  /** Opens a page in a new browser without signing in. */
  openPage(path: string): Promise<Page>;
}

/** Runs each flow on a wide light and a narrow dark screen, with a new server, and asserts that the console shows no errors. */
export function createFlowTest(chromium: Awaited<ReturnType<typeof launchChromium>>) {
  return (name: string, run: (context: FlowContext) => Promise<void>, options: FlowOptions = {}): void => {
    const { rejects = false, worksWithoutScript = false, sendsMail = false, wantsNotices = false, env = {} } = options;
    for (const device of [...DEVICES, ...(worksWithoutScript ? WITHOUT_SCRIPT : [])]) {
      test(`${name} (${describe(device)})`, async () => {
        const smtp = await startMailServer({ wantsNotices });
        const server = await startTestServer({ ...env, ...(sendsMail && smtp.env) });
        const errors: string[][] = [];
        const openPage = async (path: string) => {
          const { page, consoleErrors } = await chromium.newPage(device);
          errors.push(consoleErrors);
          if (device.javaScriptEnabled === false) withoutScript.add(page);
          await page.goto(new URL(path, server.web).href);
          return page;
        };
        const openSignedIn = async ({ email }: { email: string }, path: string) => {
          const page = await openPage(path);
          await signIn(page, email, PASSWORD);
          return page;
        };
        await run({ server, smtp, openSignedIn, openPage });
        // Chromium logs each response with an error status.
        const expected = (text: string) => rejects && /Failed to load resource: .* status of 40[019]/.test(text);
        assert.deepEqual(
          errors.flat().filter((text) => !expected(text)),
          [],
        );
      });
    }
  };
}

function describe({ colorScheme, viewport, javaScriptEnabled = true }: BrowserContextOptions): string {
  const screen = `${colorScheme}, ${viewport?.width} pixels wide`;
  return javaScriptEnabled ? screen : `${screen}, without JavaScript`;
}

/** Asserts that axe finds no violations and that the page does not scroll sideways. */
export async function assertAccessible(page: Page): Promise<void> {
  if (withoutScript.has(page)) return;
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
