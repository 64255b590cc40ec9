import { createHmac } from 'node:crypto';
import type { Event } from '../events/events.ts';
import { SECOND } from '../lib/clock.ts';
import { newNonce } from '../lib/secrets.ts';

const PREFIX = 'whsec_';

/** 256 random bits, in the form that the Standard Webhooks libraries read. */
export function newSigningSecret(): string {
  return PREFIX + newNonce(32).toString('base64');
}

export interface Message {
  /** Equal in every attempt, so that a receiver can ignore duplicates. */
  id: string;
  body: string;
}

/** What an attempt was signed with, apart from the secret. */
export interface Signed {
  /** The time of the header `webhook-timestamp`, in milliseconds. */
  at: number;
  signature: string;
}

/** While a secret is being replaced, both sign. */
export function signatureOf({ id, body }: Message, secrets: string[], now: number): Signed {
  const timestamp = Math.floor(now / SECOND);
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  });
  return { at: timestamp * SECOND, signature: signatures.join(' ') };
}

/** The headers of the Standard Webhooks specification. */
export function signMessage(message: Message, secrets: string[], now: number): Record<string, string> {
  return signatureHeaders(message.id, signatureOf(message, secrets, now));
}

function signatureHeaders(id: string, { at, signature }: Signed): Record<string, string> {
  return { 'webhook-id': id, 'webhook-timestamp': String(at / SECOND), 'webhook-signature': signature };
}

/** The headers of an attempt. */
export function headersOf(id: string, signed: Signed): Record<string, string> {
  return {
    'content-type': 'application/json',
    'user-agent': 'Gatehouse-Webhooks',
    ...signatureHeaders(id, signed),
  };
}

/** Contains ids and reasons, never a token or a secret. */
export function toPayload({ type, businessId, data, happenedAt }: Event) {
  return {
    type,
    timestamp: new Date(happenedAt).toISOString(),
    data: { ...(businessId !== null && { businessId }), ...data },
  };
}

export function toMessage(event: Event): Message {
  return { id: event.id, body: JSON.stringify(toPayload(event)) };
}
