import { type Action, type Actor, recordAudit } from '../audit/entries.ts';
import type { Database } from '../storage/storage.ts';
import type { AppSettings } from './app.ts';

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

const SETTING_NAMES: Record<keyof AppSettings, string> = {
  name: 'name',
  redirectUris: 'redirect URIs',
  allowedScopes: 'allowed scopes',
  openToAnyBusiness: 'who can connect it',
  requiresPkce: 'PKCE',
};

/** For the audit log. Empty if nothing changed. */
export function changedSettings(before: AppSettings, after: AppSettings): string {
  const isChanged = (field: keyof AppSettings) => JSON.stringify(before[field]) !== JSON.stringify(after[field]);
  const changed = Object.entries(SETTING_NAMES).filter(([field]) => isChanged(field as keyof AppSettings));
  return changed.map(([, name]) => name).join(', ');
}
