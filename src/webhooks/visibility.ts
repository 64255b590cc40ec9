import { findApp } from '../apps/apps.ts';
import { EVENTS, type EventGuard, guardOf } from '../events/event-types.ts';
import type { Event } from '../events/events.ts';
import { listBusinessesWithScope } from '../grants/apps-with-scope.ts';
import { readScopes } from '../oauth/scopes.ts';
import type { Database } from '../storage/storage.ts';
import type { Endpoint } from './endpoints.ts';

/** The endpoints that subscribe to the event's type and are older than what happened. A test event is for one endpoint. */
export function subscribed(endpoints: Endpoint[], { type, data, happenedAt }: Event): Endpoint[] {
  const present = endpoints.filter((endpoint) => endpoint.createdAt <= happenedAt);
  return present.filter(({ id, eventTypes }) =>
    type === 'endpoint.test' ? id === data.endpointId : eventTypes.includes(type),
  );
}

/** Whether the event's app may receive it now. A deleted app receives nothing. */
export async function canReceive(db: Database, event: Event, now: number): Promise<boolean> {
  if (!(await findApp(db, event.appId))) return false;
  return (await visibleTo(db, event.appId, [event], now)).length > 0;
}

/** The events that the app may read now. Each guard costs at most one query, however many events there are. */
export async function visibleTo(db: Database, appId: string, events: Event[], now: number): Promise<Event[]> {
  const visible = new Set<Event>();
  for (const [guard, guarded] of Map.groupBy(events, ({ type }) => guardOf(type))) {
    for (const event of await filterByGuard(db, { appId, guard, events: guarded }, now)) visible.add(event);
  }
  return events.filter((event) => visible.has(event));
}

async function filterByGuard(
  db: Database,
  { appId, guard, events }: { appId: string; guard: EventGuard | undefined; events: Event[] },
  now: number,
): Promise<Event[]> {
  if (guard === undefined) return [];
  if (guard === 'app') return events;
  const businessIds = [...new Set(events.flatMap(({ businessId }) => businessId ?? []))];
  if (businessIds.length === 0) return [];
  const allowing = new Set(await listBusinessesWithScope(db, { appId, businessIds, scope: guard.scope }, now));
  return events.filter(({ businessId }) => businessId !== null && allowing.has(businessId));
}

/** The folder `events` cannot import the scopes, so their names are checked here, before the server starts. */
export function checkGuards(guards: Record<string, EventGuard | undefined>): void {
  for (const [type, guard] of Object.entries(guards)) {
    if (guard === undefined) throw new Error(`The event type ${type} declares no guard.`);
    if (guard !== 'app' && readScopes([guard.scope]).unknown.length > 0) {
      throw new Error(`The event type ${type} is guarded by the unknown scope ${guard.scope}.`);
    }
  }
}

checkGuards(Object.fromEntries(Object.entries(EVENTS).map(([type, { guard }]) => [type, guard])));
