import { lockApp } from '../apps/apps.ts';
import { DAY } from '../lib/clock.ts';
import { FormError } from '../lib/errors.ts';
import { newId } from '../lib/ids.ts';
import type { Keyring } from '../lib/keyring.ts';
import type { Database } from '../storage/storage.ts';
import { type Chosen, selectDue } from './due-endpoints.ts';
import { type Claimed, type DisabledReason, type Endpoint, fromRow, listEndpoints } from './endpoint.ts';
import { readEventTypes, readUrl } from './endpoint-fields.ts';
import { concealSecret, markOf, type Resealed, secretsOf } from './endpoint-secrets.ts';
import { isSwitchedOff, pauseAfter } from './retry-schedule.ts';
import { newSigningSecret } from './signatures.ts';

export { type Claimed, type DisabledReason, type Endpoint, findEndpoint, listEndpoints } from './endpoint.ts';

interface NewEndpoint {
  /** Chosen beforehand by a form, so that sending it twice adds one endpoint. */
  id?: string;
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
  { id, appId, url, eventTypes }: NewEndpoint,
  now: number,
): Promise<{ endpoint: Endpoint; secret: string }> {
  await lockApp(db, appId);
  const present = await listEndpoints(db, appId);
  if (present.length >= MOST_PER_APP) throw new FormError('url', `An app has at most ${MOST_PER_APP} endpoints.`);
  const secret = newSigningSecret();
  const row = await db
    .insertInto('endpoints')
    .values({
      id: id ?? newId(now),
      app_id: appId,
      url: readUrl(url),
      event_types: JSON.stringify(readEventTypes(eventTypes)),
      secret: concealSecret(keys, secret),
      created_at: now,
      failures: 0,
      claimed_until: 0,
      backoff_until: 0,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  return { endpoint: fromRow(row), secret };
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
export async function replaceSecret(
  db: Database,
  keys: Keyring,
  { id }: Pick<Endpoint, 'id'>,
  now: number,
): Promise<string> {
  const secret = newSigningSecret();
  await updateSecret(db, concealSecret(keys, secret), now).where('id', '=', id).execute();
  return secret;
}

/** Only if the mark is that of the secret that stands: two who replace the same one do not end it. */
export async function replaceMarkedSecret(
  db: Database,
  keys: Keyring,
  { id, mark }: { id: string; mark: string },
  now: number,
): Promise<string | undefined> {
  const row = await db.selectFrom('endpoints').select('secret').where('id', '=', id).executeTakeFirst();
  if (!row || markOf(row.secret) !== mark) return undefined;
  const secret = newSigningSecret();
  const { numUpdatedRows } = await updateSecret(db, concealSecret(keys, secret), now)
    .where('id', '=', id)
    .where('secret', '=', row.secret)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n ? secret : undefined;
}

function updateSecret(db: Database, concealed: string, now: number) {
  return db
    .updateTable('endpoints')
    .set(({ ref }) => ({ old_secret: ref('secret'), old_secret_until: now + OVERLAP, secret: concealed }));
}

/** The same secrets under another key; false if someone has replaced them meanwhile. */
export async function storeConcealed(db: Database, { id, from, to }: Resealed): Promise<boolean> {
  const update = db.updateTable('endpoints').set(to).where('id', '=', id).where('secret', '=', from);
  return (await update.executeTakeFirstOrThrow()).numUpdatedRows > 0n;
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
    .set({ disabled_at: null, disabled_reason: null, failing_since: null, failures: 0, due_at: now, backoff_until: 0 })
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

/**
 * Says that there is something to do here from then on, or from when it has rested. The row is written to in any case, and
 * so is held: whoever gives the endpoint back at this moment waits, and then sees it.
 */
export async function wakeEndpoint(db: Database, id: string, at: number): Promise<void> {
  await db
    .updateTable('endpoints')
    .set(({ eb, or }) => ({
      due_at: eb
        .case()
        .when(or([eb('due_at', 'is', null), eb('due_at', '>', at)]))
        .then(eb.case().when('backoff_until', '>', at).then(eb.ref('backoff_until')).else(eb.val(at)).end())
        .else(eb.ref('due_at'))
        .end(),
    }))
    .where('id', '=', id)
    .execute();
}

/** Its owner wants to see now whether it works. */
export async function endRest(db: Database, id: string): Promise<void> {
  await db.updateTable('endpoints').set({ backoff_until: 0 }).where('id', '=', id).execute();
}

/**
 * Takes those of the chosen that nobody else has taken meanwhile. Needs a transaction. If this node dies, another takes
 * them when the lease has ended: that is when they are due again.
 */
export async function claimEndpoints(
  db: Database,
  keys: Keyring,
  { chosen, lease }: { chosen: Chosen[]; lease: number },
  now: number,
): Promise<Claimed[]> {
  const owners = new Map(chosen.map(({ id, owner }) => [id, owner]));
  const due = await selectDue(db, now)
    .selectAll()
    .where('id', 'in', [...owners.keys()])
    .orderBy('due_at')
    .forUpdate()
    .skipLocked()
    .execute();
  if (due.length === 0) return [];
  const ids = due.map(({ id }) => id);
  await db.updateTable('endpoints').set({ claimed_until: lease, due_at: lease }).where('id', 'in', ids).execute();
  return due.map((row) => ({
    ...fromRow(row),
    lease,
    owner: owners.get(row.id) ?? '',
    secrets: secretsOf(keys, row, now),
  }));
}

/**
 * Gives it back. `dueAt` is when its next delivery is due; one that came in meanwhile has said so itself. With nothing left
 * to send it is not failing any more: what fails later fails afresh.
 */
export async function releaseEndpoint(
  db: Database,
  { id, lease }: Claimed,
  { dueAt, restsUntil }: { dueAt: number | null; restsUntil: number },
): Promise<void> {
  await db
    .updateTable('endpoints')
    .set(({ eb }) => ({
      claimed_until: 0,
      backoff_until: restsUntil,
      due_at: eb.case().when('due_at', '=', lease).then(eb.val(dueAt)).else(eb.ref('due_at')).end(),
      ...(dueAt === null && { failing_since: null, failures: 0 }),
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
  const failingFor = now - (row.failing_since ?? now);
  if (!isSwitchedOff({ failingFor, failures: row.failures })) return pauseAfter(row.failures, chance);
  await disableEndpoint(db, id, 'failing', now);
  return undefined;
}
