import { type AliasableExpression, type Expression, expressionBuilder } from 'kysely';
import { DAY, SECOND } from '../lib/clock.ts';
import { newId } from '../lib/ids.ts';
import type { DependentQuery } from '../storage/chained-writes.ts';
import { inChunks } from '../storage/chunks.ts';
import { preparedQuery } from '../storage/prepared-query.ts';
import { retentionStep } from '../storage/retention.ts';
import { type Database, pipelineWrites } from '../storage/storage.ts';
import type { Row, Tables } from '../storage/tables.ts';
import { type EventType, guardOf } from './event-types.ts';
import { findLongTransaction } from './long-transactions.ts';

/**
 * Transactional outbox: an event is recorded in the transaction of the change. It is for one app, and contains ids and
 * reasons, never a token or a secret.
 */
interface NewEvent {
  type: EventType;
  appId: string;
  /** Null if the event is not about a business. */
  businessId: string | null;
  data: Record<string, string | readonly string[]>;
}

export interface Event extends NewEvent {
  id: string;
  /** When it was recorded. */
  createdAt: number;
  happenedAt: number;
}

export const EVENTS_KEPT_FOR = 30 * DAY;

/** Longer than any transaction that records events: older ones are either committed or never will be. */
export const LISTED_AFTER = 15 * SECOND;

/** So many events are sent with the commit. For more, the endpoints of their apps are read first. */
const PIPELINED = 16;

const COLUMNS = ['id', 'type', 'app_id', 'business_id', 'data', 'created_at', 'dispatched_at'] as const;

/** The column is not nullable. */
const NO_BUSINESS = '00000000-0000-0000-0000-000000000000';

export async function recordEvent(db: Database, event: NewEvent, now: number): Promise<string> {
  const row = toRow(event, now);
  await insertEvent(db, row);
  return row.id;
}

/** `select` instead of `values`: Citus accepts a subquery only there. */
const insertEvent = preparedQuery((db, { id, type, app_id, business_id, data, created_at }: EventRow) =>
  db
    .insertInto('events')
    .columns(COLUMNS)
    .expression(
      db.selectNoFrom(({ val }) => [
        val(id).as('id'),
        val<string>(type).as('type'),
        val(app_id).as('app_id'),
        val(business_id).as('business_id'),
        val(data).as('data'),
        val(created_at).as('created_at'),
        dispatchedWithoutEndpoint(val(app_id), created_at).as('dispatched_at'),
      ]),
    ),
);

/** The event of a change in a chain of writes. The changed row names its app and business. */
interface DependentEvent {
  id: string;
  type: EventType;
  /** The text of a JSON object. */
  data: AliasableExpression<string>;
  now: number;
}

export function insertDependentEvent<Row extends { appId: string; businessId: string }>(
  dependent: DependentQuery<Row>,
  { id, type, data, now }: DependentEvent,
) {
  rejectUndeclared(type);
  const creator = dependent as unknown as DependentQuery<{ appId: string; businessId: string }>;
  return creator
    .insertInto('events')
    .columns(COLUMNS)
    .expression(({ selectFrom }) =>
      selectFrom('changed')
        .select(({ val }) => [val(id).as('id'), val<string>(type).as('type')])
        .select(['changed.appId as app_id', 'changed.businessId as business_id'])
        .select(({ val }) => [data.as('data'), val(now).as('created_at')])
        .select(({ ref }) => dispatchedWithoutEndpoint(ref('changed.appId'), now).as('dispatched_at')),
    );
}

/** The event of an app without endpoints counts as dispatched from the start. */
function dispatchedWithoutEndpoint(appId: Expression<string>, time: number) {
  const { selectFrom, not, exists, cast, val, case: choose } = expressionBuilder<Tables, 'events'>();
  return (
    choose()
      .when(not(exists(selectFrom('endpoints').select('endpoints.id').where('endpoints.app_id', '=', appId))))
      // PostgreSQL would infer text.
      .then(cast<number>(val(time), 'bigint'))
      .end()
  );
}

/** Needs a transaction. */
export async function recordEvents(db: Database, events: NewEvent[], now: number): Promise<void> {
  const rows = events.map((event) => toRow(event, now));
  if (rows.length > PIPELINED) return insertEvents(db, rows, now);
  await pipelineWrites(
    db,
    rows.map((row) => insertEvent(db, row)),
  );
}

/** Of a happening: one for each app, after the commit of what it tells. */
interface SpreadEvent extends Pick<Row<'events'>, 'type' | 'app_id' | 'business_id' | 'data'> {
  happened_at: number;
}

/** Needs a transaction that lasts less than `LISTED_AFTER`. */
export async function recordSpread(db: Database, events: SpreadEvent[], now: number): Promise<void> {
  await insertEvents(
    db,
    events.map((event) => ({ ...event, id: newId(now), created_at: now })),
    now,
  );
}

/** In a few statements, however many there are. */
async function insertEvents(db: Database, events: EventRow[], now: number): Promise<void> {
  const withEndpoint = await listAppsWithEndpoint(db, [...new Set(events.map(({ app_id }) => app_id))]);
  const rows = events.map((event) => ({ ...event, dispatched_at: withEndpoint.has(event.app_id) ? null : now }));
  for (const chunk of inChunks(rows)) await db.insertInto('events').values(chunk).execute();
}

async function listAppsWithEndpoint(db: Database, appIds: string[]): Promise<Set<string>> {
  const found = new Set<string>();
  for (const chunk of inChunks(appIds)) {
    const rows = await db.selectFrom('endpoints').select('app_id').distinct().where('app_id', 'in', chunk).execute();
    for (const { app_id } of rows) found.add(app_id);
  }
  return found;
}

type EventRow = Pick<Row<'events'>, 'id' | 'type' | 'app_id' | 'business_id' | 'data' | 'created_at'>;

function toRow({ type, appId, businessId, data }: NewEvent, now: number) {
  rejectUndeclared(type);
  return {
    id: newId(now),
    type,
    app_id: appId,
    business_id: businessId ?? NO_BUSINESS,
    data: JSON.stringify(data),
    created_at: now,
  };
}

function rejectUndeclared(type: EventType): void {
  if (!guardOf(type)) throw new Error(`The event type ${type} is not declared in event-types.ts.`);
}

/** Polled often, so it runs without a transaction. */
export async function hasUndispatchedEvents(db: Database): Promise<boolean> {
  const one = db.selectFrom('events').select('id').where('dispatched_at', 'is', null).limit(1);
  return (await one.executeTakeFirst()) !== undefined;
}

/** Marks events as dispatched and returns them, oldest first. Needs a transaction, so that other nodes skip these rows. */
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

/** Oldest first. An event with an earlier id may still be committed later. */
export async function listRecentEvents(db: Database, appId: string, since: number): Promise<Event[]> {
  const recent = db.selectFrom('events').selectAll().where('app_id', '=', appId).where('created_at', '>=', since);
  return (await recent.orderBy('id').execute()).map(fromRow);
}

/**
 * Oldest first. `after` is the last id of the previous page. The newest events are left out: concurrent transactions may
 * commit in another order than that of their ids, and a reader would then skip the event that was committed late.
 */
export async function listEvents(
  db: Database,
  { appId, after, limit }: { appId: string; after: string | undefined; limit: number },
  now: number,
): Promise<Event[]> {
  const until = Math.min(now - LISTED_AFTER, ((await findLongTransaction(db)) ?? now) - 1);
  let query = db
    .selectFrom('events')
    .selectAll()
    .where('app_id', '=', appId)
    .where('created_at', '<=', until)
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
    happenedAt: row.happened_at ?? row.created_at,
  };
}
