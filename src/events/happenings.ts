import { newId } from '../lib/ids.ts';
import { inChunks } from '../storage/chunks.ts';
import { preparedQuery } from '../storage/prepared-query.ts';
import { type Database, pipelineWrites } from '../storage/storage.ts';
import type { Row } from '../storage/tables.ts';
import { type EventType, guardOf } from './event-types.ts';

/**
 * Something that happened in a business, recorded once in the transaction of the change, however many apps may read it. A job spreads
 * it into an event for each of them. So the id of an event is newer than the commit of what it tells, however long that transaction
 * took, and no reader passes it by. Contains ids and states, never a token or a secret.
 */
interface NewHappening {
  type: EventType;
  businessId: string;
  data: Record<string, string | readonly string[]>;
}

export type Happening = Row<'happenings'>;

/** A statement for more rows than this is not prepared. */
const FEW = 2;

/** Needs a transaction. */
export async function recordHappenings(db: Database, happenings: NewHappening[], now: number): Promise<void> {
  const rows = happenings.map((each) => toRow(each, now));
  if (rows.length <= FEW)
    return pipelineWrites(
      db,
      rows.map((row) => insertOne(db, row)),
    );
  await db.insertInto('happenings').values(rows).execute();
}

const insertOne = preparedQuery((db, { id, business_id, scope, type, data, happened_at }: Happening) =>
  db.insertInto('happenings').values({ id, business_id, scope, type, data, happened_at }),
);

function toRow({ type, businessId, data }: NewHappening, now: number): Happening {
  const guard = guardOf(type);
  if (guard === undefined || guard === 'app') throw new Error(`The event type ${type} is guarded by no scope.`);
  return {
    id: newId(now),
    business_id: businessId,
    scope: guard.scope,
    type,
    data: JSON.stringify(data),
    happened_at: now,
    last_app_id: null,
  };
}

/** Polled often, so it runs without a transaction. */
export async function hasHappenings(db: Database): Promise<boolean> {
  return (await db.selectFrom('happenings').select('id').orderBy('id').limit(1).executeTakeFirst()) !== undefined;
}

/** The next businesses with happenings, in the order of their ids. One query for each: it reads one entry of the index. */
export async function listBusinessesAfter(db: Database, after: string, limit: number): Promise<string[]> {
  const found: string[] = [];
  for (let last = after; found.length < limit; ) {
    const next = await db
      .selectFrom('happenings')
      .select('business_id')
      .where('business_id', '>', last)
      .orderBy('business_id')
      .limit(1)
      .executeTakeFirst();
    if (!next) break;
    last = next.business_id;
    found.push(last);
  }
  return found;
}

/**
 * In the order of their ids. A transaction may commit a happening after later ones were spread; then it is the first of the next
 * batch, since none is skipped.
 */
export function listHappenings(db: Database, businessId: string, limit: number): Promise<Happening[]> {
  const ofBusiness = db.selectFrom('happenings').selectAll().where('business_id', '=', businessId);
  return ofBusiness.orderBy('id').limit(limit).execute();
}

export async function deleteHappenings(db: Database, ids: string[]): Promise<void> {
  for (const chunk of inChunks(ids)) await db.deleteFrom('happenings').where('id', 'in', chunk).execute();
}

/** The apps up to this one have their events. */
export async function markSpreadUntil(db: Database, id: string, appId: string): Promise<void> {
  await db.updateTable('happenings').set({ last_app_id: appId }).where('id', '=', id).execute();
}
