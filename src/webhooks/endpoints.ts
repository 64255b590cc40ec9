import { holdApp } from '../apps/apps.ts';
import type { Event } from '../events/events.ts';
import { DAY } from '../lib/clock.ts';
import { FormError } from '../lib/errors.ts';
import { newId } from '../lib/ids.ts';
import type { Keyring } from '../lib/keyring.ts';
import type { Database } from '../storage/storage.ts';
import { type DisabledReason, type Endpoint, fromRow } from './endpoint.ts';
import { readEventTypes, readUrl } from './endpoint-fields.ts';
import { concealSecret, secretsOf } from './endpoint-secrets.ts';
import { pauseAfter, SWITCHED_OFF_AFTER } from './retry-schedule.ts';
import { newSigningSecret } from './signatures.ts';

export type { DisabledReason, Endpoint } from './endpoint.ts';

export interface NewEndpoint {
  appId: string;
  url: string;
  eventTypes: string[];
}

/** How long both secrets sign after a new one was made. */
const OVERLAP = DAY;
const MOST_PER_APP = 10;

/** Needs a transaction. */
export async function addEndpoint(
  db: Database,
  keys: Keyring,
  { appId, url, eventTypes }: NewEndpoint,
  now: number,
): Promise<{ endpoint: Endpoint; secret: string }> {
  await holdApp(db, appId);
  const present = await listEndpoints(db, appId);
  if (present.length >= MOST_PER_APP) throw new FormError('url', `An app has at most ${MOST_PER_APP} endpoints.`);
  const secret = newSigningSecret();
  const row = await db
    .insertInto('endpoints')
    .values({
      id: newId(now),
      app_id: appId,
      url: readUrl(url),
      event_types: JSON.stringify(readEventTypes(eventTypes)),
      secret: concealSecret(keys, secret),
      created_at: now,
      failures: 0,
      claimed_until: 0,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  return { endpoint: fromRow(row), secret };
}

export async function listEndpoints(db: Database, appId: string): Promise<Endpoint[]> {
  const rows = await db.selectFrom('endpoints').selectAll().where('app_id', '=', appId).orderBy('id').execute();
  return rows.map(fromRow);
}

export async function findEndpoint(db: Database, appId: string, id: string): Promise<Endpoint | undefined> {
  const row = await ofApp(db, appId, id).executeTakeFirst();
  return row && fromRow(row);
}

export async function changeEndpoint(
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

/** The new secret signs from now on, and for a day the old one beside it. */
export async function replaceSecret(db: Database, keys: Keyring, endpoint: Endpoint, now: number): Promise<string> {
  const secret = newSigningSecret();
  await db
    .updateTable('endpoints')
    .set(({ ref }) => ({
      old_secret: ref('secret'),
      old_secret_until: now + OVERLAP,
      secret: concealSecret(keys, secret),
    }))
    .where('id', '=', endpoint.id)
    .execute();
  return secret;
}

/** False if it was off already; it then keeps its first reason. */
export async function disableEndpoint(db: Database, id: string, reason: DisabledReason, now: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('endpoints')
    .set({ disabled_at: now, disabled_reason: reason })
    .where('id', '=', id)
    .where('disabled_at', 'is', null)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

/** What has waited meanwhile is on its way at once. False if it was on already. */
export async function enableEndpoint(db: Database, id: string, now: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('endpoints')
    .set({ disabled_at: null, disabled_reason: null, failing_since: null, failures: 0, due_at: now })
    .where('id', '=', id)
    .where('disabled_at', 'is not', null)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

export async function removeEndpoint(db: Database, appId: string, id: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('endpoints')
    .where('app_id', '=', appId)
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  return numDeletedRows > 0n;
}

/** Those of an app that want to hear of this, and were there when it happened. A test is for the one that it names. */
export async function listInterested(db: Database, { appId, type, data, createdAt }: Event): Promise<Endpoint[]> {
  const present = (await listEndpoints(db, appId)).filter((endpoint) => endpoint.createdAt <= createdAt);
  return present.filter(({ id, eventTypes }) =>
    type === 'endpoint.test' ? id === data.endpointId : eventTypes.includes(type),
  );
}

/**
 * Says that there is something to do here from then on. The row is written to in any case, and so is held: whoever gives
 * the endpoint back at this moment waits, and then sees it.
 */
export async function wakeEndpoint(db: Database, id: string, at: number): Promise<void> {
  await db
    .updateTable('endpoints')
    .set(({ eb, or }) => ({
      due_at: eb
        .case()
        .when(or([eb('due_at', 'is', null), eb('due_at', '>', at)]))
        .then(at)
        .else(eb.ref('due_at'))
        .end(),
    }))
    .where('id', '=', id)
    .execute();
}

export async function areEndpointsDue(db: Database, now: number): Promise<boolean> {
  return (await selectDue(db, now).select('id').limit(1).executeTakeFirst()) !== undefined;
}

/** An endpoint that this node alone may work on, until the lease ends. */
export interface Claimed extends Endpoint {
  /** What signs: the secret, and the one before it for as long as both do. */
  secrets: string[];
  lease: number;
}

/**
 * Takes some that have something to do. Needs a transaction. If this node dies, another takes them when the lease has
 * ended: that is when they are due again.
 */
export async function claimEndpoints(
  db: Database,
  keys: Keyring,
  { limit, lease }: { limit: number; lease: number },
  now: number,
): Promise<Claimed[]> {
  const due = await selectDue(db, now).selectAll().orderBy('due_at').limit(limit).forUpdate().skipLocked().execute();
  if (due.length === 0) return [];
  await db
    .updateTable('endpoints')
    .set({ claimed_until: lease, due_at: lease })
    .where(
      'id',
      'in',
      due.map(({ id }) => id),
    )
    .execute();
  return due.map((row) => ({ ...fromRow(row), lease, secrets: secretsOf(keys, row, now) }));
}

/** Gives it back. `dueAt` is when its next delivery is due; one that came in meanwhile has said so itself. */
export async function releaseEndpoint(db: Database, { id, lease }: Claimed, dueAt: number | null): Promise<void> {
  await db
    .updateTable('endpoints')
    .set(({ eb }) => ({
      claimed_until: 0,
      due_at: eb.case().when('due_at', '=', lease).then(dueAt).else(eb.ref('due_at')).end(),
    }))
    .where('id', '=', id)
    .where('claimed_until', '=', lease)
    .execute();
}

export async function noteSuccess(db: Database, { id, failingSince }: Endpoint): Promise<void> {
  if (failingSince === null) return;
  await db.updateTable('endpoints').set({ failing_since: null, failures: 0 }).where('id', '=', id).execute();
}

/** How long to leave it alone now; undefined if it has been switched off, after failing for days. */
export async function noteFailure(
  db: Database,
  { id }: Endpoint,
  chance: number,
  now: number,
): Promise<number | undefined> {
  const row = await db
    .updateTable('endpoints')
    .set(({ eb, fn, val }) => ({
      failures: eb('failures', '+', 1),
      failing_since: fn.coalesce('failing_since', val(now)),
    }))
    .where('id', '=', id)
    .returning(['failures', 'failing_since'])
    .executeTakeFirst();
  // It was removed meanwhile.
  if (!row) return undefined;
  if (now - (row.failing_since ?? now) < SWITCHED_OFF_AFTER) return pauseAfter(row.failures, chance);
  await disableEndpoint(db, id, 'failing', now);
  return undefined;
}

function selectDue(db: Database, now: number) {
  return db
    .selectFrom('endpoints')
    .where('due_at', '<=', now)
    .where('claimed_until', '<=', now)
    .where('disabled_at', 'is', null);
}

function ofApp(db: Database, appId: string, id: string) {
  return db.selectFrom('endpoints').selectAll().where('app_id', '=', appId).where('id', '=', id);
}
