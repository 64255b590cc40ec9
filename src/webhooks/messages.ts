import type { Event } from '../events/events.ts';
import type { Message } from './signatures.ts';

/** What an app is told of an event: ids and reasons, and never a token or a secret. */
export function toPayload({ type, businessId, data, createdAt }: Event) {
  return {
    type,
    timestamp: new Date(createdAt).toISOString(),
    data: { ...(businessId !== null && { businessId }), ...data },
  };
}

export function toMessage(event: Event): Message {
  return { id: event.id, body: JSON.stringify(toPayload(event)) };
}
