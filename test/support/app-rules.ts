import type { Browser } from './browser.ts';
import type { TestServer } from './test-server.ts';

export const APP_RULES = '/settings/business/apps';

type Connectors = 'anyone' | 'approved' | 'admins';

/** The owner sets who may connect apps to Acme. */
export async function setAppPolicy(owner: Browser, who: Connectors, reserves = 'no'): Promise<void> {
  await owner.submit(await owner.open(APP_RULES), `${APP_RULES}/policy`, { who, reserves });
}

interface ApprovalRequest {
  app: { id: string };
  user: { id: string };
}

type Decision = 'approve_person' | 'approve_all' | 'refuse';

/** The owner decides about a request that is on the page. */
export async function decideRequest(owner: Browser, { app, user }: ApprovalRequest, decision: Decision, reason = '') {
  return owner.submit(await owner.open(APP_RULES), requestPath({ app, user }), { decision, reason });
}

export function requestPath({ app, user }: ApprovalRequest): string {
  return `${APP_RULES}/${app.id}/requests/${user.id}`;
}

/** Requests an owner's approval on the consent page. */
export async function requestApproval(
  server: TestServer,
  browser: Browser,
  query: Record<string, string> = {},
  note = 'For work',
) {
  return browser.submit(await browser.open(server.authorizeUrl(query)), '/consent', { decision: 'ask', note });
}

export async function blockApp(owner: Browser, app: { id: string }, reason = '') {
  const path = `${APP_RULES}/${app.id}/block`;
  return owner.submit(await owner.open(path), path, { reason });
}
