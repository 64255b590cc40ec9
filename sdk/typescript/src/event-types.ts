import type { Scope } from './names.ts';
import { RECORD_EVENT_TYPES, type RecordEventData } from './record-events.ts';

interface EventOf<Type extends string, Data> {
  /** Equal at each delivery of the event: store it to detect repeats. */
  id: string;
  type: Type;
  /** When it happened: ISO 8601, in UTC. */
  timestamp: string;
  data: Data;
}

interface GrantData {
  businessId: string;
  grantId: string;
  userId: string;
}

interface SecretData {
  /** Left out for a first-party app. */
  businessId?: string;
  secretId: string;
}

/** The event types that this version of the library knows. */
export const EVENT_TYPES = [
  'grant.created',
  'grant.transferred',
  'grant.narrowed',
  'grant.revoked',
  'grant.expiring',
  'app.secret_added',
  'app.secret_removed',
  'endpoint.test',
  ...RECORD_EVENT_TYPES,
] as const;

/** One of the known event types. */
export type EventType = (typeof EVENT_TYPES)[number];

interface EventData extends RecordEventData {
  /** `expiresAt` is an ISO 8601 time, and absent if the grant lasts until the user disconnects the app. */
  'grant.created': GrantData & { scopes: Scope[]; connectedFor: 'user' | 'business'; expiresAt?: string };
  /** `userId` is the user under whose authority the app acts from now on. */
  'grant.transferred': GrantData & { previousUserId: string };
  /** `scopes` are those that are left. */
  'grant.narrowed': GrantData & { scopes: Scope[]; withdrawnScopes: Scope[] };
  /** `reason` as in the errors, such as `disconnected_by_user`. */
  'grant.revoked': GrantData & { reason: string };
  /** `expiresAt` is an ISO 8601 time. */
  'grant.expiring': GrantData & { expiresAt: string };
  'app.secret_added': SecretData;
  'app.secret_removed': SecretData;
  'endpoint.test': { endpointId: string };
}

/**
 * An event. Compare `type`, and TypeScript knows the type of `data`. A newer Gatehouse may send types that are
 * not in this list: ignore them in the `default` of a `switch`.
 */
export type GatehouseEvent = { [Type in EventType]: EventOf<Type, EventData[Type]> }[EventType];
