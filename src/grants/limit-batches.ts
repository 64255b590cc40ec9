import type { Database } from '../storage/storage.ts';
import type { Row } from '../storage/tables.ts';
import {
  type Connection,
  type ConnectionGrant,
  counts,
  endBeyondLimit,
  MAX_GRANTS,
  selectGrants,
} from './connection-limit.ts';
import { selectUnrevoked } from './status.ts';

/** What a batch has done. */
interface LimitBatch {
  /** How many grants it has read. */
  read: number;
  /** A connection that is above the limit. */
  found?: Connection;
  /** Where the next batch continues; undefined if this was the last. */
  next: Position | undefined;
}

type Position = Pick<Row<'follow_ups'>, 'after_part' | 'after_id'>;
type FollowUp = Row<'follow_ups'>;

/** Needs a transaction. A follow-up of the limit concerns one connection; without one, it looks for connections above the limit. */
export function runLimitBatch(tx: Database, followUp: FollowUp, size: number, now: number): Promise<LimitBatch> {
  const { app_id: appId, business_id: businessId, user_id: userId } = followUp;
  if (appId === null || businessId === null || userId === null) return findAboveLimit(tx, followUp);
  return limitConnection(tx, { appId, businessId, userId }, followUp, size, now);
}

/** Reads an index of all grants in its order: if a connection has one row too many, both ends of the batch belong to it. */
async function findAboveLimit(tx: Database, { after_part, after_id }: Position): Promise<LimitBatch> {
  const columns = ['business_id', 'app_id', 'user_id'] as const;
  let grants = selectUnrevoked(tx).clearSelect().select(columns);
  if (after_part !== null && after_id !== null) {
    const [businessId = '', appId = ''] = after_part.split(' ');
    grants = grants.where(({ eb, refTuple, tuple }) =>
      eb(refTuple(...columns), '>', tuple(businessId, appId, after_id)),
    );
  }
  for (const column of [...columns, 'id'] as const) grants = grants.orderBy(column);
  const rows = (await grants.limit(MAX_GRANTS + 1).execute()).map(({ business_id, app_id, user_id }) => ({
    businessId: business_id,
    appId: app_id,
    userId: user_id,
  }));
  const [first, last] = [rows[0], rows[MAX_GRANTS]];
  if (!first || !last) return { read: rows.length, next: undefined };
  const isOfLast = ({ businessId, appId, userId }: Connection) =>
    businessId === last.businessId && appId === last.appId && userId === last.userId;
  const complete = rows.findLast((row) => !isOfLast(row)) ?? first;
  const next = { after_part: `${complete.businessId} ${complete.appId}`, after_id: complete.userId };
  return { read: rows.length, next, ...(isOfLast(first) && { found: first }) };
}

/** Batches first count how many grants expire on each day, and then end those of the first days: no statement sorts all of them. */
interface Progress {
  /** How many expire on each day; undefined once that is known. */
  days?: Record<number, number>;
  /** The last day of which grants end, and how many of that day do. */
  until?: { day: number; left: number };
}

async function limitConnection(
  tx: Database,
  connection: Connection,
  { after_part, after_id }: Position,
  size: number,
  now: number,
): Promise<LimitBatch> {
  let grants = selectGrants(tx, connection).limit(size);
  if (after_id !== null) grants = grants.where('id', '>', after_id);
  const rows = await grants.execute();
  const counted = rows.filter((row) => counts(row, now));
  const progress: Progress = after_part === null ? { days: {} } : JSON.parse(after_part);
  const isLast = rows.length < size;
  const result = (next: Progress, from = rows.at(-1)?.id ?? null) => ({
    read: rows.length,
    next: { after_part: JSON.stringify(next), after_id: from },
  });
  if (progress.until) {
    const { chosen, left } = choose(counted, progress.until);
    await endBeyondLimit(tx, chosen, now);
    return isLast ? { read: rows.length, next: undefined } : result({ until: { ...progress.until, left } });
  }
  const days = addDays(progress.days ?? {}, counted);
  if (!isLast) return result({ days });
  const until = lastDayOf(days);
  return until ? result({ until }, null) : { read: rows.length, next: undefined };
}

function addDays(days: Record<number, number>, grants: ConnectionGrant[]): Record<number, number> {
  const sum = { ...days };
  for (const { removableOn } of grants) sum[removableOn] = (sum[removableOn] ?? 0) + 1;
  return sum;
}

/** Undefined if they are within the limit. */
function lastDayOf(days: Record<number, number>): Progress['until'] {
  const total = Object.values(days).reduce((sum, count) => sum + count, 0);
  let left = total - MAX_GRANTS;
  if (left <= 0) return undefined;
  // In the order of the days: the keys are integers.
  for (const [day, count] of Object.entries(days)) {
    if (left <= count) return { day: Number(day), left };
    left -= count;
  }
  return undefined;
}

/** They are sorted by id. */
function choose(grants: ConnectionGrant[], { day, left }: Required<Progress>['until']) {
  const ofDay = grants.filter(({ removableOn }) => removableOn === day).slice(0, left);
  const chosen = [...grants.filter(({ removableOn }) => removableOn < day), ...ofDay];
  return { chosen, left: left - ofDay.length };
}
