import { type Event, listEventsById } from '../events/events.ts';
import { replaceControls } from '../lib/names.ts';
import { type Keyset, keysetBounds, newestFirst } from '../storage/keyset.ts';
import type { Database } from '../storage/storage.ts';
import type { Row } from '../storage/tables.ts';
import { type Delivery, fromRow, type Outcome } from './deliveries.ts';

/** For the log that the developer of an app reads. */
export interface LoggedDelivery extends Delivery {
  /** Undefined once the event is past its retention. */
  event: Event | undefined;
  attemptsMade: LoggedAttempt[];
}

export interface LoggedAttempt extends Outcome {
  at: number;
}

/** `failed`: the last attempt failed, and there may be another. `waiting`: for the first attempt. */
export type DeliveryStatus = 'delivered' | 'failed' | 'waiting';

interface DeliveryFilter extends Keyset {
  endpointId: string;
  status?: DeliveryStatus | undefined;
  eventId?: string | undefined;
  since?: number | undefined;
}

/** Newest first, by the ids of the events. Each status is a range of one index. */
export async function listDeliveries(
  db: Database,
  { endpointId, status, eventId, since, ...keyset }: DeliveryFilter,
): Promise<LoggedDelivery[]> {
  const bounds = keysetBounds(keyset, since);
  const { below, above, order } = bounds;
  let query = withStatus(selectDeliveries(db, endpointId), status).orderBy('event_id', order).limit(keyset.limit);
  if (eventId !== undefined) query = query.where('event_id', '=', eventId);
  if (below !== undefined) query = query.where('event_id', '<', below);
  if (above !== undefined) query = query.where('event_id', '>', above);
  return addDetails(db, newestFirst(bounds, await query.execute()));
}

export async function findDelivery(db: Database, endpointId: string, id: string): Promise<LoggedDelivery | undefined> {
  const rows = await selectDeliveries(db, endpointId).where('id', '=', id).execute();
  return (await addDetails(db, rows))[0];
}

function selectDeliveries(db: Database, endpointId: string) {
  return db.selectFrom('deliveries').selectAll().where('endpoint_id', '=', endpointId);
}

/** The terms are those of the partial indexes, with literals: a parameter would not imply their conditions. */
function withStatus(query: ReturnType<typeof selectDeliveries>, status: DeliveryStatus | undefined) {
  if (status === 'delivered') return query.where('delivered_at', 'is not', null);
  if (status === 'waiting') return query.where('due_at', 'is not', null).where('attempts', '=', 0);
  if (status === undefined) return query;
  return query.where(({ eb, lit }) => eb('attempts', '>', lit(0))).where('delivered_at', 'is', null);
}

async function addDetails(db: Database, rows: Row<'deliveries'>[]): Promise<LoggedDelivery[]> {
  const ids = rows.map(({ id }) => id);
  const attempts = Map.groupBy(await listAttempts(db, ids), ({ delivery_id }) => delivery_id);
  const eventIds = rows.map(({ event_id }) => event_id);
  const events = new Map((await listEventsById(db, eventIds)).map((event) => [event.id, event]));
  return rows.map((row) => ({
    ...fromRow(row),
    event: events.get(row.event_id),
    attemptsMade: (attempts.get(row.id) ?? []).map(toLogged),
  }));
}

async function listAttempts(db: Database, deliveryIds: string[]): Promise<Row<'attempts'>[]> {
  if (deliveryIds.length === 0) return [];
  return db.selectFrom('attempts').selectAll().where('delivery_id', 'in', deliveryIds).orderBy('id').execute();
}

function toLogged({ at, took, status, outcome, head, signed_at, signature }: Row<'attempts'>): LoggedAttempt {
  return {
    at,
    took,
    status,
    outcome: outcome as Outcome['outcome'],
    head: replaceControls(head),
    ...(signed_at !== null && signature !== null && { signed: { at: signed_at, signature } }),
  };
}
