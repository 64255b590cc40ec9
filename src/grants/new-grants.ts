import { newId } from '../lib/ids.ts';
import { formatScopes } from '../lib/scope-lists.ts';
import { newSalt } from '../lib/secrets.ts';
import type { Row } from '../storage/tables.ts';
import type { Grant } from './grant.ts';
import { CODE_LIFETIME, removableOn } from './lifetimes.ts';

export type NewGrant = Pick<
  Grant,
  | 'id'
  | 'appId'
  | 'userId'
  | 'businessId'
  | 'connectedFor'
  | 'scopes'
  | 'expiresAt'
  | 'resource'
  | 'redirectUri'
  | 'codeChallenge'
> & {
  /** Its counters: `readCounters`. */
  stops: number;
};

/** The fields that a code is derived from. */
export type NewCode = Pick<Grant, 'id' | 'salt' | 'codeExpiresAt'>;

/** The columns of a new row, with their types in PostgreSQL. */
export const GRANT_TYPES = {
  id: 'uuid',
  salt: 'bytea',
  app_id: 'uuid',
  user_id: 'uuid',
  business_id: 'uuid',
  connected_for: 'text',
  scopes: 'text',
  expires_at: 'bigint',
  resource: 'text',
  redirect_uri: 'text',
  code_challenge: 'text',
  created_at: 'bigint',
  code_expires_at: 'bigint',
  rotation: 'bigint',
  removable_on: 'bigint',
  stops: 'bigint',
} as const;

/** With its event. */
export type GrantRow = Pick<Row<'grants'>, keyof typeof GRANT_TYPES> & { eventId: string; eventData: string };

export function newGrantRow(grant: NewGrant, now: number): GrantRow {
  const { id, appId, userId, businessId, scopes, connectedFor, expiresAt, resource } = grant;
  const codeExpiresAt = now + CODE_LIFETIME;
  const until = expiresAt !== null && { expiresAt: new Date(expiresAt).toISOString() };
  return {
    id,
    salt: newSalt(),
    app_id: appId,
    user_id: userId,
    business_id: businessId,
    connected_for: connectedFor,
    scopes: formatScopes(scopes),
    expires_at: expiresAt,
    resource,
    redirect_uri: grant.redirectUri,
    code_challenge: grant.codeChallenge,
    created_at: now,
    code_expires_at: codeExpiresAt,
    rotation: 0,
    removable_on: removableOn(codeExpiresAt),
    stops: grant.stops,
    eventId: newId(now),
    eventData: JSON.stringify({ grantId: id, userId, scopes, connectedFor, ...until }),
  };
}
