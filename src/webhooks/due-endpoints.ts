import type { Database } from '../storage/storage.ts';

/** So many endpoints of one owner may take up places on a node: the rest of the places are for the others. */
const MOST_PER_OWNER = 50;
/** Of so many that have waited longest the next are chosen. */
const LOOKED_AT = 1000;

/** All apps of the platform have one owner. */
const PLATFORM = '00000000-0000-0000-0000-000000000000';

/** How many endpoints of each owner this node is at work on. */
export type AtWork = ReadonlyMap<string, number>;

export interface Chosen {
  id: string;
  /** The business that owns its app, or the platform. */
  owner: string;
}

/** Those that have something to do, are on, do not rest, and that no node is at work on. */
export function selectDue(db: Database, now: number) {
  return db
    .selectFrom('endpoints')
    .where('endpoints.due_at', '<=', now)
    .where('endpoints.claimed_until', '<=', now)
    .where('endpoints.backoff_until', '<=', now)
    .where('endpoints.disabled_at', 'is', null);
}

export async function areEndpointsDue(db: Database, now: number): Promise<boolean> {
  return (await selectDue(db, now).select('endpoints.id').limit(1).executeTakeFirst()) !== undefined;
}

/** By turns: first one of each owner, then a second of each, and so on, as far as each owner has places left. */
export async function chooseDue(
  db: Database,
  { limit, atWork }: { limit: number; atWork: AtWork },
  now: number,
): Promise<Chosen[]> {
  const longest = selectWaiting(db, atWork, now);
  const inTurn = db.selectFrom(longest.as('longest')).select(({ fn }) => [
    'id',
    'owner',
    'due_at',
    fn
      .agg<number>('row_number')
      .over((rows) => rows.partitionBy('owner').orderBy('due_at'))
      .as('turn'),
  ]);
  const rows = await db
    .selectFrom(inTurn.as('in_turn'))
    .select(['id', 'owner', 'turn'])
    .where('turn', '<=', MOST_PER_OWNER)
    .orderBy('turn')
    .orderBy('due_at')
    .limit(limit)
    .execute();
  return rows.filter(({ owner, turn }) => Number(turn) <= placesLeft(atWork, owner));
}

/** An owner without a place left is passed over here, so that nobody waits behind what is theirs. */
function selectWaiting(db: Database, atWork: AtWork, now: number) {
  const full = [...atWork.keys()].filter((owner) => placesLeft(atWork, owner) <= 0);
  const waiting = selectDue(db, now)
    .innerJoin('apps', 'apps.id', 'endpoints.app_id')
    .select(({ fn, val }) => [
      'endpoints.id',
      'endpoints.due_at',
      fn.coalesce('apps.owner_business_id', val(PLATFORM)).as('owner'),
    ])
    .orderBy('endpoints.due_at')
    .limit(LOOKED_AT);
  if (full.length === 0) return waiting;
  return waiting.where(({ fn, val }) => fn.coalesce('apps.owner_business_id', val(PLATFORM)), 'not in', full);
}

function placesLeft(atWork: AtWork, owner: string): number {
  return MOST_PER_OWNER - (atWork.get(owner) ?? 0);
}
