import type { Browser, BrowserPage, Fields } from './browser.ts';

/** Submits the form, and then the page that asks whether it should take effect. */
export async function submitConfirmed(
  browser: Browser,
  page: BrowserPage,
  action: string,
  fields: Fields = {},
): Promise<BrowserPage> {
  return browser.submit(await browser.submit(page, action, fields), action);
}
