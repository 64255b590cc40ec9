import type { AliasedExpression } from 'kysely';
import { EVENTS_KEPT_FOR } from '../events/events.ts';
import { readWaiting } from '../grants/follow-up-progress.ts';
import { DAY, SECOND } from '../lib/clock.ts';
import type { Database } from '../storage/storage.ts';

/** Every count uses an index and stops here, so that a long queue costs no more. */
const MAX_COUNT = 5000;

export interface Backlog {
  /** Happenings that are not spread into events yet. */
  happenings: number;
  /** In seconds. */
  oldestHappening: number;
  /** Follow-ups of stops that are not finished. */
  followUps: number;
  /** In seconds. */
  oldestFollowUp: number;
  /** Events without deliveries yet. */
  events: number;
  deliveries: number;
  /** In seconds, of the deliveries that were counted. */
  oldestDelivery: number;
  /** In seconds: how long the most overdue endpoint has been due. */
  latestEndpoint: number;
  endpointsFailing: number;
  /** Mails that are not sent yet. */
  mails: number;
  /** Expired rows that are not deleted yet, by table. */
  toRemove: Record<'grants' | 'sessions' | 'events' | 'deliveries', number>;
}

export async function readBacklog(db: Database, now: number): Promise<Backlog> {
  const deliveries = await readDeliveries(db);
  const followUps = await readWaiting(db, MAX_COUNT);
  return {
    happenings: await count(db, db.selectFrom('happenings').select('id')),
    oldestHappening: secondsSince(await findOldestHappening(db), now),
    followUps: followUps.count,
    oldestFollowUp: secondsSince(followUps.oldestAt, now),
    events: await count(db, db.selectFrom('events').select('id').where('dispatched_at', 'is', null)),
    deliveries: Number(deliveries.waiting),
    oldestDelivery: secondsSince(deliveries.oldest, now),
    latestEndpoint: secondsSince(await findEarliestDue(db), now),
    endpointsFailing: await countFailing(db),
    mails: await count(db, db.selectFrom('mails').select('id').where('due_at', 'is not', null)),
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

/** A query on any table. */
interface Rows {
  limit(most: number): { as(name: 'rows'): AliasedExpression<{ id: string }, 'rows'> };
}

async function count(db: Database, rows: Rows): Promise<number> {
  const { found } = await db
    .selectFrom(rows.limit(MAX_COUNT).as('rows'))
    .select(({ fn }) => fn.countAll().as('found'))
    .executeTakeFirstOrThrow();
  return Number(found);
}

/** The ids are in the order of time. */
async function findOldestHappening(db: Database): Promise<number | null> {
  const oldest = db.selectFrom('happenings').select('happened_at').orderBy('id').limit(1);
  return (await oldest.executeTakeFirst())?.happened_at ?? null;
}

function readDeliveries(db: Database) {
  const waiting = db.selectFrom('deliveries').select('created_at').where('due_at', 'is not', null).limit(MAX_COUNT);
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

/** Without a limit: an app has at most ten endpoints. */
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

/** The state of the row, regardless of its app, user and membership. */
type GrantState = 'code_waiting' | 'code_expired' | 'live' | 'expired' | 'revoked';
export type GrantCounts = Record<GrantState, number>;

/** Reading one slice takes a millisecond or two, in which SQLite serves nothing else. */
const SLICE = 1000;
const LOWEST_ID = '00000000-0000-0000-0000-000000000000';

/** Counts all grants in slices, in the order of their ids, with a pause between two slices. Undefined if a pause ends with `stop`. */
export async function countGrants(
  db: Database,
  pause: () => Promise<'continue' | 'stop'>,
  now: number,
): Promise<GrantCounts | undefined> {
  const counts: GrantCounts = { code_waiting: 0, code_expired: 0, live: 0, expired: 0, revoked: 0 };
  for (let after: string | undefined = LOWEST_ID; after !== undefined; ) {
    const last = await findEndOfSlice(db, after);
    for (const { state, grants } of await countSlice(db, { after, last }, now)) counts[state] += Number(grants);
    if (last !== undefined && (await pause()) === 'stop') return undefined;
    after = last;
  }
  return counts;
}

/** Undefined if less than a slice is left. */
async function findEndOfSlice(db: Database, after: string): Promise<string | undefined> {
  const query = db.selectFrom('grants').select('id').where('id', '>', after).orderBy('id');
  const end = await query
    .offset(SLICE - 1)
    .limit(1)
    .executeTakeFirst();
  return end?.id;
}

function countSlice(db: Database, { after, last }: { after: string; last: string | undefined }, now: number) {
  let slice = db.selectFrom('grants').where('id', '>', after);
  if (last !== undefined) slice = slice.where('id', '<=', last);
  return slice
    .select(({ eb, fn }) => [
      eb
        .case()
        .when('revoked_at', 'is not', null)
        .then('revoked')
        .when(eb.and([eb('exchanged_at', 'is', null), eb('code_expires_at', '>', now)]))
        .then('code_waiting')
        .when('exchanged_at', 'is', null)
        .then('code_expired')
        .when('refresh_expires_at', '>', now)
        .then('live')
        .else('expired')
        .end()
        .$castTo<GrantState>()
        .as('state'),
      fn.countAll<number>().as('grants'),
    ])
    .groupBy('state')
    .execute();
}
