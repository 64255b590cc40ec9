import type { AliasedExpression } from 'kysely';
import { EVENTS_KEPT_FOR } from '../events/events.ts';
import { DAY, SECOND } from '../lib/clock.ts';
import type { Database } from '../storage/storage.ts';

/** What waits to be done. Each is counted by an index and no further than this, so that a long queue costs no more. */
const MOST_COUNTED = 5000;

export interface Backlog {
  /** Events that nobody has made deliveries of yet. */
  events: number;
  deliveries: number;
  /** In seconds, of those that were counted. */
  oldestDelivery: number;
  /** In seconds: how long the endpoint has been due that has waited longest for its turn. */
  latestEndpoint: number;
  endpointsFailing: number;
  /** Rows that no longer matter and are still there, by table. */
  toRemove: Record<RemovedTable, number>;
}

const REMOVED_TABLES = ['grants', 'sessions', 'events', 'deliveries'] as const;

type RemovedTable = (typeof REMOVED_TABLES)[number];

export async function readBacklog(db: Database, now: number): Promise<Backlog> {
  const deliveries = await readDeliveries(db);
  return {
    events: await count(db, db.selectFrom('events').select('id').where('dispatched_at', 'is', null)),
    deliveries: Number(deliveries.waiting),
    oldestDelivery: secondsSince(deliveries.oldest, now),
    latestEndpoint: secondsSince(await findEarliestDue(db), now),
    endpointsFailing: await countFailing(db),
    toRemove: await countRemovable(db, now),
  };
}

async function countRemovable(db: Database, now: number): Promise<Backlog['toRemove']> {
  const [today, monthAgo] = [Math.floor(now / DAY), now - EVENTS_KEPT_FOR];
  return {
    grants: await count(db, db.selectFrom('grants').select('id').where('removable_on', '<=', today)),
    sessions: await count(db, db.selectFrom('sessions').select('id_hash as id').where('expires_at', '<=', now)),
    events: await count(db, db.selectFrom('events').select('id').where('created_at', '<', monthAgo)),
    deliveries: await count(db, db.selectFrom('deliveries').select('id').where('created_at', '<', monthAgo)),
  };
}

/** Of any table. */
interface Rows {
  limit(most: number): { as(name: 'rows'): AliasedExpression<{ id: string }, 'rows'> };
}

async function count(db: Database, rows: Rows): Promise<number> {
  const { found } = await db
    .selectFrom(rows.limit(MOST_COUNTED).as('rows'))
    .select(({ fn }) => fn.countAll().as('found'))
    .executeTakeFirstOrThrow();
  return Number(found);
}

function readDeliveries(db: Database) {
  const waiting = db.selectFrom('deliveries').select('created_at').where('due_at', 'is not', null).limit(MOST_COUNTED);
  return db
    .selectFrom(waiting.as('waiting'))
    .select(({ fn }) => [fn.countAll().as('waiting'), fn.min('created_at').as('oldest')])
    .executeTakeFirstOrThrow();
}

async function findEarliestDue(db: Database): Promise<number | null> {
  const { due } = await db
    .selectFrom('endpoints')
    .select(({ fn }) => fn.min('due_at').as('due'))
    .where('disabled_at', 'is', null)
    .executeTakeFirstOrThrow();
  return due === null ? null : Number(due);
}

/** There are at most ten to an app, so all of them are looked at. */
async function countFailing(db: Database): Promise<number> {
  const { failing } = await db
    .selectFrom('endpoints')
    .select(({ fn }) => fn.countAll().as('failing'))
    .where('failing_since', 'is not', null)
    .where('disabled_at', 'is', null)
    .executeTakeFirstOrThrow();
  return Number(failing);
}

function secondsSince(time: unknown, now: number): number {
  return time === null ? 0 : Math.max(0, (now - Number(time)) / SECOND);
}
