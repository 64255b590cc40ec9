/**
 * Who may read an event. `app`: the app that it is for, always. A scope: that app, while it has a live grant with this
 * scope in the event's business.
 */
export type EventGuard = 'app' | { scope: string };

const READ_INVOICES = { scope: 'read:invoices' } as const;

/** Every event type is declared here, with its guard. An event of any other type is neither recorded nor shown. */
export const EVENT_GUARDS = {
  'grant.created': 'app',
  'grant.revoked': 'app',
  'grant.expiring': 'app',
  'invoice.created': READ_INVOICES,
  'invoice.updated': READ_INVOICES,
  'invoice.paid': READ_INVOICES,
  'app.secret_added': 'app',
  'app.secret_removed': 'app',
  'endpoint.test': 'app',
} as const satisfies Record<string, EventGuard>;

export type EventType = keyof typeof EVENT_GUARDS;

export const EVENT_TYPES = Object.keys(EVENT_GUARDS) as EventType[];

/** Undefined for a type that this version does not declare: a newer version may have recorded the event. */
export function guardOf(type: string): EventGuard | undefined {
  return Object.hasOwn(EVENT_GUARDS, type) ? EVENT_GUARDS[type as EventType] : undefined;
}
