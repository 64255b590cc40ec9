import assert from 'node:assert/strict';
import { PASSWORD } from '../../support/fixtures.ts';
import type { TestServer } from '../../support/test-server.ts';

/**
 * What Ada does where a client sends her: she signs in, and answers if she is asked. Where she has answered before, or the
 * request is refused at once, there is no question. Returns the address at which she comes back to the app.
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
  assert.ok(page.leftTo, `she is sent back to the app, not to ${page.status} ${page.url} ${page.text}`);
  return page.leftTo;
}
