import { lockApp } from '../apps/apps.ts';
import { type EventType, listEventTypes } from '../events/event-types.ts';
import { DAY } from '../lib/clock.ts';
import { FormError } from '../lib/errors.ts';
import { newId } from '../lib/ids.ts';
import { isLoopbackHost } from '../lib/ip-addresses.ts';
import type { Keyring } from '../lib/keyring.ts';
import type { Database } from '../storage/storage.ts';
import type { Row } from '../storage/tables.ts';
import { encryptSecret, fingerprint, type ReencryptedSecret } from './endpoint-secrets.ts';
import { newSigningSecret } from './signatures.ts';

/** The URL to which an app's events are sent. */
export interface Endpoint {
  id: string;
  appId: string;
  url: string;
  eventTypes: EventType[];
  createdAt: number;
  disabledAt: number | null;
  /** `gone`: it responded 410. `failing`: for three days. */
  disabledReason: DisabledReason | null;
  failingSince: number | null;
  /** Until then the previous secret signs, too. */
  oldSecretUntil: number | null;
}

export type DisabledReason = 'by_owner' | 'gone' | 'failing';

export async function listEndpoints(db: Database, appId: string): Promise<Endpoint[]> {
  const rows = await db.selectFrom('endpoints').selectAll().where('app_id', '=', appId).orderBy('id').execute();
  return rows.map(fromRow);
}

export async function findEndpoint(db: Database, appId: string, id: string): Promise<Endpoint | undefined> {
  const query = db.selectFrom('endpoints').selectAll().where('app_id', '=', appId).where('id', '=', id);
  const row = await query.executeTakeFirst();
  return row && fromRow(row);
}

/** The end of its backoff. Null if it is not backing off. */
export async function findBackoffEnd(db: Database, { id }: Endpoint, now: number): Promise<number | null> {
  const query = db
    .selectFrom('endpoints')
    .select('backoff_until')
    .where('id', '=', id)
    .where('backoff_until', '>', now);
  return (await query.executeTakeFirst())?.backoff_until ?? null;
}

/** Identifies the current secret without revealing it. */
export async function findSecretFingerprint(db: Database, { id }: Endpoint): Promise<string> {
  const row = await db.selectFrom('endpoints').select('secret').where('id', '=', id).executeTakeFirst();
  return row ? fingerprint(row.secret) : '';
}

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

interface NewEndpoint {
  /** Chosen when the form is shown, so that submitting it twice adds one endpoint. */
  id?: string;
  appId: string;
  url: string;
  eventTypes: string[];
}

/** How long both secrets sign after a rotation. */
const OVERLAP = DAY;
const MAX_PER_APP = 10;

/** Records no audit entry. Needs a transaction. */
export async function insertEndpoint(
  db: Database,
  keys: Keyring,
  { id, appId, url, eventTypes }: NewEndpoint,
  now: number,
): Promise<{ endpoint: Endpoint; secret: string }> {
  await lockApp(db, appId);
  const present = await listEndpoints(db, appId);
  if (present.length >= MAX_PER_APP) throw new FormError('url', `An app has at most ${MAX_PER_APP} endpoints.`);
  const secret = newSigningSecret();
  const row = await db
    .insertInto('endpoints')
    .values({
      id: id ?? newId(now),
      app_id: appId,
      url: readUrl(url),
      event_types: JSON.stringify(readEventTypes(eventTypes)),
      secret: encryptSecret(keys, secret),
      created_at: now,
      failures: 0,
      claimed_until: 0,
      backoff_until: 0,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  return { endpoint: fromRow(row), secret };
}

export async function updateEndpoint(
  db: Database,
  { appId, id }: { appId: string; id: string },
  { url, eventTypes }: { url: string; eventTypes: string[] },
): Promise<Endpoint | undefined> {
  const row = await db
    .updateTable('endpoints')
    .set({ url: readUrl(url), event_types: JSON.stringify(readEventTypes(eventTypes)) })
    .where('app_id', '=', appId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst();
  return row && fromRow(row);
}

/** The new secret signs from now on; the old one signs, too, for a day. */
export async function rotateSecret(
  db: Database,
  keys: Keyring,
  { id }: Pick<Endpoint, 'id'>,
  now: number,
): Promise<string> {
  const secret = newSigningSecret();
  await updateSecret(db, encryptSecret(keys, secret), now).where('id', '=', id).execute();
  return secret;
}

/** Only if the fingerprint is that of the current secret: submitting a form twice rotates once. */
export async function rotateFingerprintedSecret(
  db: Database,
  keys: Keyring,
  { id, fingerprint: expected }: { id: string; fingerprint: string },
  now: number,
): Promise<string | undefined> {
  const row = await db.selectFrom('endpoints').select('secret').where('id', '=', id).executeTakeFirst();
  if (!row || fingerprint(row.secret) !== expected) return undefined;
  const secret = newSigningSecret();
  const { numUpdatedRows } = await updateSecret(db, encryptSecret(keys, secret), now)
    .where('id', '=', id)
    .where('secret', '=', row.secret)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n ? secret : undefined;
}

function updateSecret(db: Database, encrypted: string, now: number) {
  return db
    .updateTable('endpoints')
    .set(({ ref }) => ({ old_secret: ref('secret'), old_secret_until: now + OVERLAP, secret: encrypted }));
}

/** Stores the secrets, encrypted with another key. False if they were replaced in the meantime. */
export async function storeReencrypted(db: Database, { id, from, to }: ReencryptedSecret): Promise<boolean> {
  const update = db.updateTable('endpoints').set(to).where('id', '=', id).where('secret', '=', from);
  return (await update.executeTakeFirstOrThrow()).numUpdatedRows > 0n;
}

/** False if it was disabled already; it then keeps its first reason. */
export async function markEndpointDisabled(
  db: Database,
  id: string,
  reason: DisabledReason,
  now: number,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('endpoints')
    .set({ disabled_at: now, disabled_reason: reason })
    .where('id', '=', id)
    .where('disabled_at', 'is', null)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

/** Makes pending deliveries due now. False if it was enabled already. */
export async function markEndpointEnabled(db: Database, id: string, now: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('endpoints')
    .set({ disabled_at: null, disabled_reason: null, failing_since: null, failures: 0, due_at: now, backoff_until: 0 })
    .where('id', '=', id)
    .where('disabled_at', 'is not', null)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

export async function deleteEndpoint(db: Database, appId: string, id: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('endpoints')
    .where('app_id', '=', appId)
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  return numDeletedRows > 0n;
}

/** Starts an update of these endpoints. This file owns the table; queue.ts sets the columns that schedule it. */
export function updateEndpoints(db: Database, ids: readonly string[]) {
  return db.updateTable('endpoints').where('id', 'in', ids);
}

const MAX_URL_LENGTH = 2000;

/** Test events are sent to an endpoint in any case. */
export function subscribableEvents(servesResources: boolean): EventType[] {
  return listEventTypes(servesResources).filter((type) => type !== 'endpoint.test');
}

export const SUBSCRIBABLE_EVENTS = subscribableEvents(true);

/** Checks only the syntax. The address that it resolves to is checked before each attempt. */
function readUrl(text: string): string {
  const url = URL.parse(text.trim());
  if (!url || url.href.length > MAX_URL_LENGTH) throw new FormError('url', 'This is not a complete URL.');
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopbackHost(url.hostname))) {
    throw new FormError('url', 'An endpoint must start with https://, unless its host is localhost.');
  }
  if (url.username || url.password || url.hash) {
    throw new FormError('url', 'An endpoint must not have a user name, password or fragment.');
  }
  return url.href;
}

/** Rejects the URL at once: otherwise only the log of deliveries would show that nothing arrives. */
export function rejectLoopback(text: string, { allowsLoopback }: { allowsLoopback: boolean }): void {
  const hostname = URL.parse(text.trim())?.hostname ?? '';
  if (allowsLoopback || !isLoopbackHost(hostname)) return;
  throw new FormError(
    'url',
    'Events are sent to loopback addresses only if Gatehouse runs with WEBHOOKS_TO_LOOPBACK=yes.',
  );
}

function readEventTypes(types: string[]): EventType[] {
  const known = SUBSCRIBABLE_EVENTS.filter((type) => types.includes(type));
  if (known.length === 0 || known.length < new Set(types).size) {
    throw new FormError('events', `Choose from ${SUBSCRIBABLE_EVENTS.join(', ')}.`);
  }
  return known;
}
