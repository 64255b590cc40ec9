import { type Action, type Actor, recordAct } from '../audit/acts.ts';
import type { Database } from '../storage/storage.ts';
import type { App } from './apps.ts';

export interface AppAct {
  action: Extract<Action, `app.${string}` | `secret.${string}`>;
  actor: Actor;
  app: App;
  detail?: Record<string, string>;
}

/** In the transaction of the change itself, for the owners of the business that the app belongs to. */
export async function recordAppAct(
  db: Database,
  { action, actor, app, detail = {} }: AppAct,
  now: number,
): Promise<void> {
  const subject = { kind: 'app', id: app.id, name: app.name } as const;
  await recordAct(db, { action, actor, businessId: app.ownerBusinessId, subject, detail }, now);
}
