import type { Database } from '../storage/storage.ts';
import type { Row } from '../storage/tables.ts';
import { MAX_COUNTED } from './counts.ts';
import { type FollowUp, filterOf, positionAfter } from './follow-ups.ts';
import { countUnrevokedAfter } from './unrevoked.ts';

/** How far the follow-ups of one kind are, in grants. */
export interface Progress {
  kind: Kind;
  done: number;
  /** Counted to one more than `MAX_COUNTED`. */
  left: number;
}

/** Nobody on a page has asked for the others. */
type Kind = Exclude<FollowUp['kind'], 'limit'>;
const KINDS: Kind[] = ['end', 'notify'];

/** Of those that a page shows; more at once are rare. */
const MAX_LISTED = 20;

/** The follow-ups of an app, a business or a user, by kind. None if all are done. */
export async function listProgress(
  db: Database,
  { appId, businessId, userId }: Partial<Record<'appId' | 'businessId' | 'userId', string>>,
): Promise<Progress[]> {
  const followUps = await db
    .selectFrom('follow_ups')
    .selectAll()
    .where('kind', 'in', KINDS)
    .where(({ or, eb }) =>
      or([
        ...(appId === undefined ? [] : [eb('app_id', '=', appId)]),
        ...(businessId === undefined ? [] : [eb('business_id', '=', businessId)]),
        ...(userId === undefined ? [] : [eb('user_id', '=', userId)]),
      ]),
    )
    .limit(MAX_LISTED)
    .execute();
  const progress: Progress[] = [];
  for (const kind of KINDS) {
    const same = followUps.filter((followUp) => followUp.kind === kind);
    if (same.length === 0) continue;
    progress.push({ kind, done: same.reduce((sum, { done }) => sum + done, 0), left: await countLeft(db, same) });
  }
  return progress;
}

async function countLeft(db: Database, followUps: Row<'follow_ups'>[]): Promise<number> {
  let left = 0;
  for (const followUp of followUps) {
    const max = MAX_COUNTED + 1 - left;
    if (max > 0) left += await countUnrevokedAfter(db, filterOf(followUp), positionAfter(followUp), max);
  }
  return left;
}

/** All that wait, for operators. */
export interface WaitingFollowUps {
  /** Counted to `max`. */
  count: number;
  /** Of those that were counted. */
  done: number;
  oldestAt: number | null;
}

export async function readWaiting(db: Database, max: number): Promise<WaitingFollowUps> {
  // In the order of time, because of the ids.
  const rows = db.selectFrom('follow_ups').select(['done', 'started_at']).orderBy('id').limit(max);
  const { count, done, oldest } = await db
    .selectFrom(rows.as('waiting'))
    .select(({ fn }) => [fn.countAll().as('count'), fn.sum('done').as('done'), fn.min('started_at').as('oldest')])
    .executeTakeFirstOrThrow();
  return { count: Number(count), done: Number(done ?? 0), oldestAt: oldest === null ? null : Number(oldest) };
}
