import assert from 'node:assert/strict';
import type { Browser, BrowserPage, Fields } from './browser.ts';
import { submitConfirmed } from './questions.ts';

export const MEMBERS = '/settings/members';

let invited = 0;

/** Creates an invitation in the owner's browser, for an unused address by default; returns the path of its link. */
export async function inviteInBrowser(owner: Browser, fields: Fields = {}): Promise<string> {
  const page = await owner.open(`${MEMBERS}/invite`);
  const typed = { role: 'member', email: `guest-${++invited}@example.com`, ...fields };
  const path = `${MEMBERS}/invite`;
  if (typed.role === 'owner') return invitationLink(await submitConfirmed(owner, page, path, typed));
  return invitationLink(await owner.submit(page, path, typed));
}

export function invitationLink({ text }: BrowserPage): string {
  const [, path] = /<code id="invitation">https?:\/\/[^/]+(\/invitation\/[\w-]{43})<\/code>/.exec(text) ?? [];
  assert.ok(path, `the page shows a link:\n${text}`);
  return path;
}

/** The form actions that withdraw invitations, from the owner's list. */
export async function listWithdrawActions(owner: Browser): Promise<string[]> {
  const { text } = await owner.open(`${MEMBERS}/invitations`);
  return [...text.matchAll(/action="([^"]*\/withdraw)"/g)].map(([, action = '']) => action);
}
