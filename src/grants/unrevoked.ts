import { setImmediate } from 'node:timers/promises';
import { type Expression, expressionBuilder, type SqlBool } from 'kysely';
import type { Database } from '../storage/storage.ts';
import type { Tables } from '../storage/tables.ts';
import { endedReason, type GrantFilter, matching, selectUnrevoked, selectUnrevokedWithParties } from './status.ts';

/** Where reading continues: the values of the last row, by which rows are sorted. Empty at the start. */
export type Position = string[];

/** Before every id. A query without a position would let SQLite choose to sort all rows. */
const NIL = '00000000-0000-0000-0000-000000000000';

/** The grants of an app, a business or a user that are not revoked, after a position, in the order of the index that has them. */
export function selectUnrevokedAfter(db: Database, filter: GrantFilter, after: Position, now: number) {
  const columns = columnsOf(filter);
  const query = selectUnrevokedWithParties(db)
    .select(['grants.id as grantId', 'grants.app_id as appId'])
    .select(['grants.business_id as businessId', 'grants.user_id as userId', 'grants.refresh_expires_at as until'])
    .select(endedReason(now).as('ended'))
    .where(matching(filter))
    .where(isAfter(columns, after));
  return columns.reduce((sorted, column) => sorted.orderBy(`grants.${column}`), query);
}

function isAfter(columns: Columns, after: Position): Expression<SqlBool> {
  const { eb, refTuple, tuple } = expressionBuilder<Tables, 'grants'>();
  const [first, second, third] = columns;
  const [one = NIL, two = NIL, three = NIL] = after;
  if (second === undefined) return eb(`grants.${first}`, '>', one);
  if (third === undefined) return eb(refTuple(`grants.${first}`, `grants.${second}`), '>', tuple(one, two));
  return eb(refTuple(`grants.${first}`, `grants.${second}`, `grants.${third}`), '>', tuple(one, two, three));
}

/** Reads at most so many entries of the index. */
export async function countUnrevokedAfter(
  db: Database,
  filter: GrantFilter,
  after: Position,
  max: number,
): Promise<number> {
  const columns = columnsOf(filter);
  const unrevoked = selectUnrevoked(db).where(matching(filter)).where(isAfter(columns, after)).limit(max);
  const sorted = columns.reduce((query, column) => query.orderBy(`grants.${column}`), unrevoked);
  const { found } = await db
    .selectFrom(sorted.as('unrevoked'))
    .select(({ fn }) => fn.countAll().as('found'))
    .executeTakeFirstOrThrow();
  return Number(found);
}

type Read = Awaited<ReturnType<ReturnType<typeof selectUnrevokedAfter>['execute']>>[number];

export function positionOf(filter: GrantFilter, row: Read): Position {
  const values = { id: row.grantId, app_id: row.appId, business_id: row.businessId, user_id: row.userId };
  return columnsOf(filter).map((column) => values[column]);
}

/** Whether the grant has tokens, and works unless it is suspended. */
export function isLive({ ended, until }: Pick<Read, 'ended' | 'until'>, now: number): boolean {
  return ended === null && (until ?? 0) > now;
}

export const BATCH = 500;

/** Reads at most so many rows, some at a time: other statements run in between. */
export async function* readLive(db: Database, filter: GrantFilter, now: number, maxRead: number) {
  let after: Position = [];
  for (let read = 0; read < maxRead; read += BATCH) {
    const rows = await selectUnrevokedAfter(db, filter, after, now).limit(BATCH).execute();
    const last = rows.at(-1);
    const isLast = !last || rows.length < BATCH;
    yield { grants: rows.filter((row) => isLive(row, now)), isLast };
    if (isLast) return;
    after = positionOf(filter, last);
    await setImmediate();
  }
}

type Column = 'id' | 'app_id' | 'business_id' | 'user_id';
type Columns = readonly [Column, Column?, Column?];

/** What the index sorts by after the columns of the filter. */
function columnsOf({ appId, businessId, userId }: GrantFilter) {
  if (userId !== undefined) return ['id'] as const;
  if (appId === undefined) return ['app_id', 'user_id', 'id'] as const;
  return businessId === undefined ? (['business_id', 'id'] as const) : (['user_id', 'id'] as const);
}
