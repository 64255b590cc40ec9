import { EVENTS_KEPT_FOR, type Event, listEventsById, recordEvent, takeEvents } from '../events/events.ts';
import { FormError } from '../lib/errors.ts';
import { newId } from '../lib/ids.ts';
import { replaceControls } from '../lib/names.ts';
import type { Database } from '../storage/storage.ts';
import type { Row } from '../storage/tables.ts';
import { onlyInterested } from './audience.ts';
import { type Endpoint, endRest, listEndpoints, wakeEndpoint } from './endpoints.ts';
import { nextAttemptAt } from './retry-schedule.ts';

/** One series of attempts to tell one endpoint of one event. */
export interface Delivery {
  id: string;
  endpointId: string;
  eventId: string;
  createdAt: number;
  dueAt: number | null;
  attempts: number;
  deliveredAt: number | null;
  givenUpAt: number | null;
}

/** How one attempt went. */
export interface Outcome {
  /**
   * `refused` is by its status. `withheld` means that the app may not know of it any more, `unsigned` that the key is gone
   * under which the endpoint's secret was concealed.
   */
  outcome: 'delivered' | 'refused' | 'timeout' | 'unreachable' | 'address_refused' | 'withheld' | 'unsigned';
  status: number | null;
  head: string;
  took: number;
}

/**
 * Makes deliveries of what has happened. Needs a transaction: an event is taken, and its deliveries are made, as one. The
 * endpoints are woken in the order of their ids, so that two who do this never wait for each other.
 */
export async function dispatchEvents(db: Database, limit: number, now: number): Promise<number> {
  const events = await takeEvents(db, limit, now);
  const woken = new Set<string>();
  for (const [appId, ofApp] of Map.groupBy(events, (event) => event.appId)) {
    const endpoints = await listEndpoints(db, appId);
    for (const event of ofApp) {
      for (const { id } of onlyInterested(endpoints, event)) {
        await addDelivery(db, id, event, now);
        woken.add(id);
      }
    }
  }
  for (const id of [...woken].sort()) await wakeEndpoint(db, id, now);
  return events.length;
}

async function addDelivery(db: Database, endpointId: string, event: Event, now: number): Promise<void> {
  await db
    .insertInto('deliveries')
    .values({
      id: newId(now),
      endpoint_id: endpointId,
      event_id: event.id,
      created_at: now,
      due_at: now,
      attempts: 0,
    })
    .onConflict((conflict) => conflict.columns(['endpoint_id', 'event_id']).doNothing())
    .execute();
}

/**
 * In the order in which things happened: ids of events grow with time. An index has what waits in this order; the time is
 * asked about in a way that makes no other index look better, since what that one gives would have to be sorted.
 */
export async function listDue(db: Database, endpointId: string, limit: number, now: number): Promise<Delivery[]> {
  const rows = await db
    .selectFrom('deliveries')
    .selectAll()
    .where('endpoint_id', '=', endpointId)
    .where('due_at', 'is not', null)
    .where(({ fn, val }) => fn.coalesce('due_at', val(0)), '<=', now)
    .orderBy('event_id')
    .limit(limit)
    .execute();
  return rows.map(fromRow);
}

export async function nextDueAt(db: Database, endpointId: string): Promise<number | null> {
  const { due } = await db
    .selectFrom('deliveries')
    .select(({ fn }) => fn.min('due_at').as('due'))
    .where('endpoint_id', '=', endpointId)
    .executeTakeFirstOrThrow();
  return due === null ? null : Number(due);
}

/** Writes down how an attempt went, and when the next one is due, if there is to be one. Needs a transaction. */
export async function recordAttempt(
  db: Database,
  delivery: Delivery,
  { outcome, status, head, took }: Outcome,
  { chance, now }: { chance: number; now: number },
): Promise<void> {
  const isDelivered = outcome === 'delivered';
  const attempts = delivery.attempts + 1;
  const isOver = isDelivered || outcome === 'withheld';
  const dueAt = isOver ? null : nextAttemptAt(attempts, chance, now);
  const next = { attempts, due_at: dueAt, given_up_at: isDelivered || dueAt !== null ? null : now };
  const update = db.updateTable('deliveries').where('id', '=', delivery.id);
  // Whoever was so slow that another took over may report a success, and no failure: the other knows better.
  await (isDelivered
    ? update.set({ ...next, delivered_at: now })
    : update.set(next).where('attempts', '=', delivery.attempts)
  ).execute();
  await db
    .insertInto('attempts')
    .values({ id: newId(now), delivery_id: delivery.id, at: now, took, status, outcome, head })
    .execute();
}

/** Lets an endpoint show that it works. Needs a transaction. */
export async function sendTest(db: Database, { id, appId, disabledAt }: Endpoint, now: number): Promise<string> {
  if (disabledAt !== null) throw new FormError('endpoint', 'The endpoint is switched off. Switch it on first.');
  await endRest(db, id);
  return recordEvent(db, { type: 'endpoint.test', appId, businessId: null, data: { endpointId: id } }, now);
}

/** Once more from the beginning, whatever became of it. Needs a transaction. */
export async function resend(db: Database, endpointId: string, id: string, now: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('deliveries')
    .set({ due_at: now, attempts: 0, given_up_at: null })
    .where('endpoint_id', '=', endpointId)
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  if (numUpdatedRows === 0n) return false;
  await endRest(db, endpointId);
  await wakeEndpoint(db, endpointId, now);
  return true;
}

/** What became of it, for the log that an app's developer reads: newest first. */
export interface LoggedDelivery extends Delivery {
  /** Undefined once it is no longer kept. */
  event: Event | undefined;
  attemptsMade: LoggedAttempt[];
}

export interface LoggedAttempt extends Outcome {
  at: number;
}

/** `before` is the last id of the page before. */
export async function listDeliveries(
  db: Database,
  { endpointId, before, limit }: { endpointId: string; before?: string | undefined; limit: number },
): Promise<LoggedDelivery[]> {
  let query = db
    .selectFrom('deliveries')
    .selectAll()
    .where('endpoint_id', '=', endpointId)
    .orderBy('event_id', 'desc')
    .limit(limit);
  if (before !== undefined) query = query.where('event_id', '<', before);
  const rows = await query.execute();
  const attempts = await listAttempts(
    db,
    rows.map(({ id }) => id),
  );
  const ids = rows.map(({ event_id }) => event_id);
  const events = new Map((await listEventsById(db, ids)).map((event) => [event.id, event]));
  return rows.map((row) => ({
    ...fromRow(row),
    event: events.get(row.event_id),
    attemptsMade: attempts.filter(({ delivery_id }) => delivery_id === row.id).map(toLogged),
  }));
}

async function listAttempts(db: Database, deliveryIds: string[]): Promise<Row<'attempts'>[]> {
  if (deliveryIds.length === 0) return [];
  return db.selectFrom('attempts').selectAll().where('delivery_id', 'in', deliveryIds).orderBy('id').execute();
}

function toLogged({ at, took, status, outcome, head }: Row<'attempts'>): LoggedAttempt {
  return { at, took, status, outcome: outcome as Outcome['outcome'], head: replaceControls(head) };
}

/** What an event's deliveries leave behind goes with the event, a month later. */
export async function removeOldDeliveries(db: Database, limit: number, now: number): Promise<number> {
  const old = db
    .selectFrom('deliveries')
    .select('id')
    .where('created_at', '<', now - EVENTS_KEPT_FOR)
    .orderBy('created_at')
    .limit(limit);
  const { numDeletedRows } = await db.deleteFrom('deliveries').where('id', 'in', old).executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}

export async function removeOldAttempts(db: Database, limit: number, now: number): Promise<number> {
  const old = db
    .selectFrom('attempts')
    .select('id')
    .where('at', '<', now - EVENTS_KEPT_FOR)
    .orderBy('at')
    .limit(limit);
  const { numDeletedRows } = await db.deleteFrom('attempts').where('id', 'in', old).executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}

function fromRow(row: Row<'deliveries'>): Delivery {
  return {
    id: row.id,
    endpointId: row.endpoint_id,
    eventId: row.event_id,
    createdAt: row.created_at,
    dueAt: row.due_at,
    attempts: row.attempts,
    deliveredAt: row.delivered_at,
    givenUpAt: row.given_up_at,
  };
}
