import type { App } from '../apps/apps.ts';
import { type Action, type Actor, recordAudit } from '../audit/entries.ts';
import type { Database } from '../storage/storage.ts';
import type { Endpoint } from './endpoint.ts';

export interface EndpointAct {
  action: Extract<Action, `endpoint.${string}`>;
  actor: Actor;
  app: App;
  endpoint: Pick<Endpoint, 'id' | 'url'>;
  detail?: Record<string, string>;
}

/** For the owners of the app's business. Only the host is told: the rest of an address is often as good as a password. */
export async function recordEndpointAct(
  db: Database,
  { action, actor, app, endpoint, detail = {} }: EndpointAct,
  now: number,
): Promise<void> {
  const subject = { kind: 'endpoint', id: endpoint.id, name: new URL(endpoint.url).host } as const;
  const act = { action, actor, businessId: app.ownerBusinessId, subject, detail: { app: app.name, ...detail } };
  await recordAudit(db, act, now);
}

/** What an endpoint hears of, for such a record. */
export function eventsDetail({ eventTypes }: Pick<Endpoint, 'eventTypes'>): Record<string, string> {
  return { events: eventTypes.join(', ') };
}
