import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { type BrowserContextOptions, chromium, type Page } from 'playwright-core';

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core'), 'utf8');

let folder: string | undefined;

/** Unpacking takes seconds, so the files of a process share one temporary folder. */
function createFolder(): string {
  const created = mkdtempSync(join(tmpdir(), 'gatehouse-chromium-'));
  process.once('exit', () => rmSync(created, { recursive: true, force: true }));
  return created;
}

/** Launches Chromium from a temporary folder. */
export async function launchChromium() {
  folder ??= createFolder();
  // The package unpacks into the temporary folder that is set when it is loaded.
  const { TMPDIR: previous } = process.env;
  process.env.TMPDIR = folder;
  const { default: packed } = await import('@sparticuz/chromium');
  const browser = await chromium.launch({
    executablePath: await packed.executablePath(),
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update'],
  });
  if (previous === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = previous;
  after(() => browser.close());
  return {
    /** Opens a page in a new browser context, and collects its console errors. */
    async newPage(options: BrowserContextOptions = {}) {
      const context = await browser.newContext(options);
      const page = await context.newPage();
      const consoleErrors: string[] = [];
      page.on('console', (message) => {
        if (message.type() === 'error') consoleErrors.push(message.text());
      });
      page.on('pageerror', (error) => consoleErrors.push(String(error)));
      return { page, consoleErrors };
    },
  };
}

/** A server for an app's redirect URI that only responds with a page. */
export async function startCallbackServer(): Promise<{ uri: string }> {
  const server = createServer((_, response) => response.end('<!doctype html><title>Back at the app</title>Back'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  after(() => new Promise((resolve) => server.close(resolve)));
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return { uri: `http://127.0.0.1:${port}/callback` };
}

/** Waits until the next page has loaded, and its script has run: a click alone waits only for its first byte. */
export async function signIn(page: Page, email: string, password: string): Promise<void> {
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForLoadState();
}

/** Uses the account menu. */
export async function signOut(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^Account of/ }).click();
  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await page.getByText('You are signed out.').waitFor();
}

/** The accessibility violations that axe-core finds on the page. */
export async function findAxeViolations(page: Page): Promise<string[]> {
  // Without its stylesheet, a page has other colours and sizes.
  await page.waitForLoadState();
  // An element that fades in has too little contrast. Scroll-driven animations never end, so this skips them.
  await page.evaluate(() => {
    const timed = document.getAnimations().filter(({ timeline }) => timeline === document.timeline);
    const ending = timed.filter((each) => each.effect?.getComputedTiming().endTime !== Infinity);
    return Promise.allSettled(ending.map(({ finished }) => finished)).then(() => undefined);
  });
  await page.evaluate(axeSource);
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: typeof import('axe-core') };
    const { violations } = await axe.run({ resultTypes: ['violations'] });
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
  });
}

/** Adds a virtual authenticator that always verifies its user. */
export async function addVirtualAuthenticator(page: Page) {
  const session = await page.context().newCDPSession(page);
  await session.send('WebAuthn.enable');
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return {
    /** Makes user verification fail from now on. */
    failUserVerification: () => session.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false }),
  };
}
