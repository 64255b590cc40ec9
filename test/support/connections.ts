import assert from 'node:assert/strict';
import type { Browser, BrowserPage } from './browser.ts';

/** The rows of the list of connected apps, with the names of their apps and the addresses of their pages. */
export function connectionsIn({ text }: BrowserPage): { name: string; path: string; row: string }[] {
  return text.split('<li class="entry">').flatMap((row) => {
    const [, path, name] = /<a href="([^"]+)"[^>]*>([^<]*)<\/a>/.exec(row) ?? [];
    return path?.includes('/connected-apps/') && name !== undefined ? [{ name, path, row }] : [];
  });
}

/** The page of the connection of an app, from the list. */
export async function openConnection(
  browser: Browser,
  name: string,
  list = '/settings/connected-apps',
): Promise<BrowserPage> {
  const found = connectionsIn(await browser.open(list)).find((each) => each.name === name);
  assert.ok(found, `the list has ${name}`);
  return browser.open(found.path);
}
