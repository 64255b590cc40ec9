import type { EventType } from '../events/events.ts';
import type { Row } from '../storage/tables.ts';

/** Where an app wants to hear of what happens. */
export interface Endpoint {
  id: string;
  appId: string;
  url: string;
  eventTypes: EventType[];
  createdAt: number;
  disabledAt: number | null;
  /** `by_owner`, `gone` (it answered 410) or `failing` (for three days). */
  disabledReason: DisabledReason | null;
  failingSince: number | null;
  /** Until then the secret before this one signs as well. */
  oldSecretUntil: number | null;
}

export type DisabledReason = 'by_owner' | 'gone' | 'failing';

export function fromRow(row: Row<'endpoints'>): Endpoint {
  return {
    id: row.id,
    appId: row.app_id,
    url: row.url,
    eventTypes: JSON.parse(row.event_types),
    createdAt: row.created_at,
    disabledAt: row.disabled_at,
    disabledReason: row.disabled_reason as DisabledReason | null,
    failingSince: row.failing_since,
    oldSecretUntil: row.old_secret_until,
  };
}
