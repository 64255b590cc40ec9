import assert from 'node:assert/strict';
import { findUserByEmail, type User } from '../../src/accounts/users.ts';
import type { Browser } from './browser.ts';
import { PASSWORD } from './fixtures.ts';
import { inviteInBrowser } from './invitations.ts';
import type { TestServer } from './test-server.ts';

/** Creates an account with an invitation, so its address is not verified. */
export async function registerByInvitation(
  server: TestServer,
  { owner, name, email }: { owner: Browser; name: string; email: string },
): Promise<{ user: User; browser: Browser }> {
  const link = await inviteInBrowser(owner, { email });
  const browser = server.browse();
  await browser.submit(await browser.open(link), `${link}/account`, { name, password: PASSWORD });
  const user = await findUserByEmail(server.storage().durable, email);
  assert.ok(user);
  return { user, browser };
}
