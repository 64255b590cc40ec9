import assert from 'node:assert/strict';
import { PASSWORD } from '../../support/fixtures.ts';
import type { TestServer } from '../../support/test-server.ts';

/**
 * Opens the authorize URL as Ada, signs in, and submits the consent screen if one is shown. Returns the redirect to the app.
 */
export async function decide(
  server: TestServer,
  address: string | URL,
  decision: 'allow' | 'deny' = 'allow',
  browser = server.browse(),
): Promise<URL> {
  let page = await browser.open(String(address));
  if (!page.leftTo) page = await browser.signIn(server.ada.email, PASSWORD, page);
  if (!page.leftTo) page = await browser.submit(page, '/consent', { decision });
  assert.ok(page.leftTo, `Ada is redirected to the app, not to ${page.status} ${page.url} ${page.text}`);
  return page.leftTo;
}
