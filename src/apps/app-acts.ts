import { type Action, type Actor, recordAudit } from '../audit/acts.ts';
import type { Database } from '../storage/storage.ts';
import type { App, AppSettings } from './apps.ts';

export interface AppAct {
  action: Extract<Action, `app.${string}` | `secret.${string}`>;
  actor: Actor;
  app: App;
  detail?: Record<string, string>;
}

/** In the transaction of the change itself, for the owners of the business that the app belongs to. */
export async function recordAppAudit(
  db: Database,
  { action, actor, app, detail = {} }: AppAct,
  now: number,
): Promise<void> {
  const subject = { kind: 'app', id: app.id, name: app.name } as const;
  await recordAudit(db, { action, actor, businessId: app.ownerBusinessId, subject, detail }, now);
}

/** What an audit log says of a change; nothing where nothing changed. */
export function changedSettings(before: AppSettings, after: AppSettings): string {
  const names = {
    name: 'name',
    redirectUris: 'redirect URIs',
    allowedScopes: 'allowed scopes',
    openToAnyBusiness: 'who can connect it',
    requiresPkce: 'PKCE',
  } as const satisfies Record<keyof AppSettings, string>;
  const fields = Object.keys(names) as (keyof AppSettings)[];
  const isChanged = (field: keyof AppSettings) => JSON.stringify(before[field]) !== JSON.stringify(after[field]);
  return fields
    .filter(isChanged)
    .map((field) => names[field])
    .join(', ');
}
