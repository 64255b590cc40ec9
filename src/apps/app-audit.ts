import { type Action, type Actor, recordAudit } from '../audit/entries.ts';
import type { Database } from '../storage/storage.ts';
import type { App, AppIdentity, AppSettings } from './app.ts';

/** What an audit entry says about an app. */
export interface AuditedApp {
  id: string;
  name: string;
  ownerBusinessId: string | null;
}

interface AppAuditEntry {
  action: Extract<Action, `app.${string}` | `secret.${string}`>;
  app: AuditedApp;
  detail?: Record<string, string>;
}

/** Visible to the owners of the business that owns the app. Call it in the transaction of the change. */
export async function recordAppAudit(
  actor: Actor,
  db: Database,
  { action, app, detail = {} }: AppAuditEntry,
  now: number,
): Promise<void> {
  const subject = { kind: 'app', id: app.id, name: app.name } as const;
  await recordAudit(db, { action, actor, businessId: app.ownerBusinessId, subject, detail }, now);
}

const SETTING_NAMES: Record<keyof AppSettings | keyof AppIdentity | 'logoHash', string> = {
  name: 'name',
  redirectUris: 'redirect URIs',
  allowedScopes: 'allowed scopes',
  openToAnyBusiness: 'who can connect it',
  requiresPkce: 'PKCE',
  logoHash: 'logo',
  publisherName: 'publisher',
  homepageUrl: 'homepage',
  supportUrl: 'support',
  privacyUrl: 'privacy policy',
  termsUrl: 'terms',
};

/** For the audit log. Empty if nothing changed. */
export function changedSettings(before: App, after: App): string {
  const [old, current]: Record<string, unknown>[] = [before, after].map((app) => ({ ...app, ...app.identity }));
  const isChanged = (field: string) => JSON.stringify(old?.[field]) !== JSON.stringify(current?.[field]);
  const changed = Object.entries(SETTING_NAMES).filter(([field]) => isChanged(field));
  return changed.map(([, name]) => name).join(', ');
}
