import type { InsertObject } from 'kysely';
import { DAY, SECOND } from '../lib/clock.ts';
import { newId } from '../lib/ids.ts';
import { preparedQuery } from '../storage/prepared-query.ts';
import { retentionStep } from '../storage/retention.ts';
import type { Database } from '../storage/storage.ts';
import type { Row, Tables } from '../storage/tables.ts';
import { type EventType, guardOf } from './event-types.ts';

/**
 * The outbox. What happened is recorded in the same transaction as the change itself, so that neither exists without
 * the other. An event is for one app, and holds ids and reasons, never a token or a secret.
 */
interface NewEvent {
  type: EventType;
  appId: string;
  /** Null where no business is concerned. */
  businessId: string | null;
  data: Record<string, string | readonly string[]>;
}

export interface Event extends NewEvent {
  id: string;
  createdAt: number;
}

export const EVENTS_KEPT_FOR = 30 * DAY;

/** No transaction takes so long: what happened before then is stored, or never will be. */
export const LISTED_AFTER = 15 * SECOND;

const INSERT_SIZE = 200;

/** The column knows no null. */
const NO_BUSINESS = '00000000-0000-0000-0000-000000000000';

export async function recordEvent(db: Database, event: NewEvent, now: number): Promise<string> {
  const row = toRow(event, now);
  await insertEvent(db, row);
  return row.id;
}

const insertEvent = preparedQuery((db, { id, type, app_id, business_id, data, created_at }: EventRow) =>
  db.insertInto('events').values(skipDispatchWithoutEndpoint({ id, type, app_id, business_id, data, created_at })),
);

/** Where an app has no endpoint at that moment there is nothing to dispatch, and nobody need look at the event again. */
function skipDispatchWithoutEndpoint(row: EventRow): InsertObject<Tables, 'events'> {
  return {
    ...row,
    dispatched_at: ({ selectFrom, not, exists, cast, val, case: choose }) =>
      choose()
        .when(not(exists(selectFrom('endpoints').select('endpoints.id').where('endpoints.app_id', '=', row.app_id))))
        // PostgreSQL would take it for a text.
        .then(cast<number>(val(row.created_at), 'bigint'))
        .end(),
  };
}

/** Many at once, a few hundred to a statement. */
export async function recordEvents(db: Database, events: NewEvent[], now: number): Promise<void> {
  for (let place = 0; place < events.length; place += INSERT_SIZE) {
    const rows = events
      .slice(place, place + INSERT_SIZE)
      .map((event) => skipDispatchWithoutEndpoint(toRow(event, now)));
    await db.insertInto('events').values(rows).execute();
  }
}

type EventRow = ReturnType<typeof toRow>;

function toRow({ type, appId, businessId, data }: NewEvent, now: number) {
  if (!guardOf(type)) throw new Error(`The event type ${type} is not declared in event-types.ts.`);
  return {
    id: newId(now),
    type,
    app_id: appId,
    business_id: businessId ?? NO_BUSINESS,
    data: JSON.stringify(data),
    created_at: now,
  };
}

/** Asked often, and without a transaction: most of the time there are none. */
export async function hasUndispatchedEvents(db: Database): Promise<boolean> {
  const one = db.selectFrom('events').select('id').where('dispatched_at', 'is', null).limit(1);
  return (await one.executeTakeFirst()) !== undefined;
}

/** Those that nobody has taken yet, oldest first. Needs a transaction: another node takes others meanwhile. */
export async function takeEvents(db: Database, limit: number, now: number): Promise<Event[]> {
  const waiting = await db
    .selectFrom('events')
    .select('id')
    .where('dispatched_at', 'is', null)
    .orderBy('id')
    .limit(limit)
    .forUpdate()
    .skipLocked()
    .execute();
  if (waiting.length === 0) return [];
  const ids = waiting.map(({ id }) => id);
  const taken = await db
    .updateTable('events')
    .set({ dispatched_at: now })
    .where('id', 'in', ids)
    .where('dispatched_at', 'is', null)
    .returningAll()
    .execute();
  return taken.map(fromRow).sort((a, b) => (a.id < b.id ? -1 : 1));
}

export async function findEvent(db: Database, id: string): Promise<Event | undefined> {
  const row = await db.selectFrom('events').selectAll().where('id', '=', id).executeTakeFirst();
  return row && fromRow(row);
}

export async function listEventsById(db: Database, ids: string[]): Promise<Event[]> {
  if (ids.length === 0) return [];
  const rows = await db.selectFrom('events').selectAll().where('id', 'in', ids).execute();
  return rows.map(fromRow);
}

/** What an app has been told since then, oldest first. One that began earlier may still come in between. */
export async function listRecentEvents(db: Database, appId: string, since: number): Promise<Event[]> {
  const recent = db.selectFrom('events').selectAll().where('app_id', '=', appId).where('created_at', '>=', since);
  return (await recent.orderBy('id').execute()).map(fromRow);
}

/**
 * What an app has been told, oldest first. `after` is the last id of the page before. The very newest are left out: of two
 * changes at one time the later may be stored first, and whoever went on from it would never see the other.
 */
export async function listEvents(
  db: Database,
  { appId, after, limit }: { appId: string; after: string | undefined; limit: number },
  now: number,
): Promise<Event[]> {
  let query = db
    .selectFrom('events')
    .selectAll()
    .where('app_id', '=', appId)
    .where('created_at', '<=', now - LISTED_AFTER)
    .orderBy('id')
    .limit(limit);
  if (after !== undefined) query = query.where('id', '>', after);
  return (await query.execute()).map(fromRow);
}

export const oldEvents = retentionStep('events', ['id'], 'created_at', (now) => now - EVENTS_KEPT_FOR);

function fromRow(row: Row<'events'>): Event {
  return {
    id: row.id,
    type: row.type as EventType,
    appId: row.app_id,
    businessId: row.business_id === NO_BUSINESS ? null : row.business_id,
    data: JSON.parse(row.data),
    createdAt: row.created_at,
  };
}
