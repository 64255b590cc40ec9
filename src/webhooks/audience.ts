import { findApp } from '../apps/apps.ts';
import type { Event } from '../events/events.ts';
import { listBusinessesAllowing } from '../oauth/grant-standing.ts';
import type { Database } from '../storage/storage.ts';
import type { Endpoint } from './endpoint.ts';

/** Of an app's endpoints, those that want to hear of this, and were there when it happened. A test is for the one that it names. */
export function onlyInterested(endpoints: Endpoint[], { type, data, createdAt }: Event): Endpoint[] {
  const present = endpoints.filter((endpoint) => endpoint.createdAt <= createdAt);
  return present.filter(({ id, eventTypes }) =>
    type === 'endpoint.test' ? id === data.endpointId : eventTypes.includes(type),
  );
}

/**
 * What an event tells of a business, its app may know only for as long as it could also go and look. What concerns the
 * grant or the app itself it may always hear, until it is deleted.
 */
export async function mayHear(db: Database, event: Event, now: number): Promise<boolean> {
  if (!(await findApp(db, event.appId))) return false;
  return (await onlyAudible(db, event.appId, [event], now)).length > 0;
}

/** Of events of one app, those that it may hear of now. However many there are, this is one question. */
export async function onlyAudible(db: Database, appId: string, events: Event[], now: number): Promise<Event[]> {
  const businessIds = [...new Set(events.flatMap((event) => businessToldOf(event) ?? []))];
  if (businessIds.length === 0) return events;
  const asked = { appId, businessIds, scope: 'read:invoices' };
  const open = new Set(await listBusinessesAllowing(db, asked, now));
  return events.filter((event) => {
    const businessId = businessToldOf(event);
    return businessId === null || open.has(businessId);
  });
}

function businessToldOf({ type, businessId }: Event): string | null {
  return type.startsWith('invoice.') ? businessId : null;
}
