import type { Browser } from './browser.ts';
import type { TestServer } from './test-server.ts';

export const APP_RULES = '/settings/business/apps';

type Who = 'anyone' | 'approved' | 'admins';

/** The owner decides who may connect apps to Acme. */
export async function decideWho(owner: Browser, who: Who, reserves = 'no'): Promise<void> {
  await owner.submit(await owner.open(APP_RULES), `${APP_RULES}/policy`, { who, reserves });
}

interface Asked {
  app: { id: string };
  user: { id: string };
}

type Verdict = 'approve_person' | 'approve_all' | 'refuse';

/** The owner decides about a request that is on the page. */
export async function decide(owner: Browser, { app, user }: Asked, verdict: Verdict, reason = '') {
  return owner.submit(await owner.open(APP_RULES), requestPath({ app, user }), { verdict, reason });
}

export function requestPath({ app, user }: Asked): string {
  return `${APP_RULES}/${app.id}/requests/${user.id}`;
}

/** A member asks for approval, on the page that the app leads to. */
export async function ask(server: TestServer, browser: Browser, query: Record<string, string> = {}, note = 'For work') {
  return browser.submit(await browser.open(server.authorizeUrl(query)), '/consent', { decision: 'ask', note });
}

export async function block(owner: Browser, app: { id: string }, reason = '') {
  const path = `${APP_RULES}/${app.id}/block`;
  return owner.submit(await owner.open(path), path, { reason });
}
