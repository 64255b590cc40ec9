import assert from 'node:assert/strict';
import type { Browser, BrowserPage, Fields } from './browser.ts';
import { REDIRECT_URI } from './fixtures.ts';

export const DEVELOPER = '/settings/developer';
export const PLATFORM = '/platform/developer/apps';

/** Valid fields of the form for a new app. */
export const APP_FIELDS = { name: 'Shelf', redirect_uris: REDIRECT_URI, scope: ['read:invoices', 'read:contacts'] };

/** Opens the form for a new app in a section of the site, and submits it. */
export async function registerInBrowser(browser: Browser, section: string, changes: Fields = {}): Promise<BrowserPage> {
  const form = await browser.open(`${section}/new`);
  return browser.submit(form, section, { ...APP_FIELDS, ...changes });
}

/** The credentials that the page after a registration, or after a new secret, shows once. */
export function shownCredentials({ status, text }: BrowserPage): { id: string; secret: string } {
  const [, id = ''] = /id="client-id">([^<]+)</.exec(text) ?? [];
  const [, secret = ''] = /id="client-secret">(gcs_[^<]+)</.exec(text) ?? [];
  assert.ok(id && secret, `the page shows credentials, not ${status} ${text}`);
  return { id, secret };
}

/** The ids of the secrets that a page offers to remove. */
export function removableSecrets({ text }: BrowserPage): string[] {
  return [...text.matchAll(/\/secrets\/([\w-]+)\/remove"/g)].map(([, id = '']) => id);
}
