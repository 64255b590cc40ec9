import { EVENTS_KEPT_FOR, type Event, recordEvent, takeEvents } from '../events/events.ts';
import { FormError } from '../lib/errors.ts';
import { newId } from '../lib/ids.ts';
import { retentionStep } from '../storage/retention.ts';
import { type Database, inTransaction } from '../storage/storage.ts';
import type { Row } from '../storage/tables.ts';
import { type Endpoint, listEndpoints } from './endpoints.ts';
import { endBackoff, nextAttemptAt, schedule } from './queue.ts';
import type { Signed } from './signatures.ts';
import { subscribed } from './visibility.ts';

/** One event for one endpoint, attempted until it arrives or the attempts end. */
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

/** The result of one attempt. */
export interface Outcome {
  /**
   * `refused`: the status was not 2xx. `withheld`: the app may not receive the event any more. `unsigned`: the key that
   * encrypted the endpoint's secret is missing.
   */
  outcome: 'delivered' | 'refused' | 'timeout' | 'unreachable' | 'address_refused' | 'withheld' | 'unsigned';
  status: number | null;
  head: string;
  took: number;
  /** Undefined if nothing was sent. */
  signed?: Signed | undefined;
}

/**
 * Turns new events into deliveries. Needs a transaction. Schedules endpoints in the order of their ids, so that two nodes
 * do not deadlock.
 */
export async function dispatchEvents(db: Database, limit: number, now: number): Promise<number> {
  const events = await takeEvents(db, limit, now);
  const touched = new Set<string>();
  for (const [appId, ofApp] of Map.groupBy(events, (event) => event.appId)) {
    const endpoints = await listEndpoints(db, appId);
    for (const event of ofApp) {
      for (const { id } of subscribed(endpoints, event)) {
        await addDelivery(db, id, event, now);
        touched.add(id);
      }
    }
  }
  for (const id of [...touched].sort()) await schedule(db, id, now);
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
 * In the order of the events, whose ids grow with time. `coalesce` keeps the planner from choosing the index on `due_at`,
 * whose result it would have to sort.
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

/** Stores the outcome of an attempt and when the next one is due. Needs a transaction. */
export async function recordAttempt(
  db: Database,
  delivery: Delivery,
  { outcome, status, head, took, signed }: Outcome,
  { chance, now }: { chance: number; now: number },
): Promise<void> {
  const isDelivered = outcome === 'delivered';
  const attempts = delivery.attempts + 1;
  const isOver = isDelivered || outcome === 'withheld';
  const dueAt = isOver ? null : nextAttemptAt(attempts, chance, now);
  const next = { attempts, due_at: dueAt, given_up_at: isDelivered || dueAt !== null ? null : now };
  const update = db.updateTable('deliveries').where('id', '=', delivery.id);
  // A node whose lease has ended may still store a success, but no failure: another node has taken over.
  await (isDelivered
    ? update.set({ ...next, delivered_at: now })
    : update.set(next).where('attempts', '=', delivery.attempts)
  ).execute();
  await db
    .insertInto('attempts')
    .values({
      id: newId(now),
      delivery_id: delivery.id,
      at: now,
      took,
      status,
      outcome,
      head,
      signed_at: signed?.at ?? null,
      signature: signed?.signature ?? null,
    })
    .execute();
}

/** Records a test event, which is delivered to this endpoint only. Returns its id. */
export async function sendTest(db: Database, { id, appId, disabledAt }: Endpoint, now: number): Promise<string> {
  if (disabledAt !== null) throw new FormError('endpoint', 'The endpoint is switched off. Switch it on first.');
  return inTransaction(db, async (tx) => {
    await endBackoff(tx, id);
    return recordEvent(tx, { type: 'endpoint.test', appId, businessId: null, data: { endpointId: id } }, now);
  });
}

/** Restarts the attempts of a delivery. False if the endpoint has no such delivery. */
export async function resend(db: Database, endpointId: string, id: string, now: number): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    const { numUpdatedRows } = await tx
      .updateTable('deliveries')
      .set({ due_at: now, attempts: 0, delivered_at: null, given_up_at: null })
      .where('endpoint_id', '=', endpointId)
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    if (numUpdatedRows === 0n) return false;
    await endBackoff(tx, endpointId);
    await schedule(tx, endpointId, now);
    return true;
  });
}

/** Deliveries and their attempts are kept as long as events. */
export const oldDeliveries = retentionStep('deliveries', ['id'], 'created_at', (now) => now - EVENTS_KEPT_FOR);

export const oldAttempts = retentionStep('attempts', ['id'], 'at', (now) => now - EVENTS_KEPT_FOR);

export function fromRow(row: Row<'deliveries'>): Delivery {
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
