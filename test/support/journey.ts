import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { findBarriers, type launchChromium, signIn } from './chromium.ts';
import { PASSWORD } from './people.ts';
import { startTestServer, type TestServer } from './test-server.ts';

const LOOKS = [
  { colorScheme: 'light', viewport: { width: 1280, height: 800 } },
  { colorScheme: 'dark', viewport: { width: 360, height: 740 } },
] as const;

interface Traveller {
  server: TestServer;
  /** Someone opens a page in a browser of their own, and signs in on the way. */
  arrive(who: { email: string }, path: string): Promise<Page>;
  /** Someone whom nobody knows yet. */
  wander(path: string): Promise<Page>;
}

/** The same journey at a desk by day and on a phone by night, in a server of its own; no console complains. With `rejects`, forms may be rejected. */
export function newJourneys(chromium: Awaited<ReturnType<typeof launchChromium>>) {
  return (name: string, walk: (traveller: Traveller) => Promise<void>, { rejects = false } = {}): void => {
    for (const look of LOOKS) {
      test(`${name} (${look.colorScheme}, ${look.viewport.width} pixels wide)`, async () => {
        const server = await startTestServer();
        const heard: string[][] = [];
        const wander = async (path: string) => {
          const { page, complaints } = await chromium.newPage(look);
          heard.push(complaints);
          await page.goto(new URL(path, server.web).href);
          return page;
        };
        const arrive = async ({ email }: { email: string }, path: string) => {
          const page = await wander(path);
          await signIn(page, email, PASSWORD);
          return page;
        };
        await walk({ server, arrive, wander });
        // A browser reports each form that is sent back with a problem.
        const expected = (text: string) => rejects && /Failed to load resource: .* status of 40[01]/.test(text);
        assert.deepEqual(
          heard.flat().filter((text) => !expected(text)),
          [],
        );
      });
    }
  };
}

/** Nothing on the page, as it stands, is in anybody's way. */
export async function assertOpen(page: Page): Promise<void> {
  assert.deepEqual(await findBarriers(page), [], page.url());
  const overflow = await page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  );
  assert.equal(overflow, 0, `${page.url()} scrolls sideways`);
}

export async function press(page: Page, name: string | RegExp): Promise<void> {
  await page.getByRole('button', { name, exact: typeof name === 'string' }).click();
}

export async function follow(page: Page, name: string | RegExp): Promise<void> {
  await page.getByRole('link', { name, exact: typeof name === 'string' }).click();
}

/** Waits until it is there to be read. */
export async function read(page: Page, text: string | RegExp): Promise<void> {
  await page.getByText(text).first().waitFor();
}
