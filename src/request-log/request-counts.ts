import { DAY, HOUR } from '../lib/clock.ts';
import type { Database } from '../storage/storage.ts';
import { inChunks } from './chunks.ts';

export interface Counts {
  requests: number;
  errors: number;
  /** Those at which an app got a new pair of tokens for an old one. */
  refreshes: number;
}

/** What one app asked for within one hour. */
export interface HourOfCounts extends Counts {
  appId: string;
  /** Hours since 1970. */
  hour: number;
  /** Codes that the app has exchanged. */
  exchanges?: number;
  pkceExchanges?: number;
}

const KEPT_FOR = 31 * DAY;

/** In the order of their keys: two nodes that add to the same rows then wait for each other, and never in a circle. */
export async function addCounts(db: Database, counts: HourOfCounts[]): Promise<void> {
  const sorted = counts.toSorted((a, b) => (a.appId === b.appId ? a.hour - b.hour : a.appId < b.appId ? -1 : 1));
  for (const chunk of inChunks(sorted)) {
    await db
      .insertInto('request_counts')
      .values(chunk.map(toRow))
      .onConflict((conflict) =>
        conflict.columns(['app_id', 'hour']).doUpdateSet(({ eb, ref }) => ({
          requests: eb('request_counts.requests', '+', ref('excluded.requests')),
          errors: eb('request_counts.errors', '+', ref('excluded.errors')),
          refreshes: eb('request_counts.refreshes', '+', ref('excluded.refreshes')),
          exchanges: eb('request_counts.exchanges', '+', ref('excluded.exchanges')),
          pkce_exchanges: eb('request_counts.pkce_exchanges', '+', ref('excluded.pkce_exchanges')),
        })),
      )
      .execute();
  }
}

function toRow({ appId, exchanges = 0, pkceExchanges = 0, ...counted }: HourOfCounts) {
  return { app_id: appId, ...counted, exchanges, pkce_exchanges: pkceExchanges };
}

/** How many codes an app has exchanged since then, and how many of them with PKCE. */
export async function countExchanges(
  db: Database,
  appId: string,
  since: number,
): Promise<{ exchanges: number; pkceExchanges: number }> {
  const row = await db
    .selectFrom('request_counts')
    .select(({ fn }) => [fn.sum('exchanges').as('exchanges'), fn.sum('pkce_exchanges').as('pkce')])
    .where('app_id', '=', appId)
    .where('hour', '>=', hourOf(since))
    .executeTakeFirst();
  return { exchanges: Number(row?.exchanges ?? 0), pkceExchanges: Number(row?.pkce ?? 0) };
}

/** Oldest first; hours in which nothing was asked are left out. */
export async function listCounts(db: Database, appId: string, since: number): Promise<HourOfCounts[]> {
  return db
    .selectFrom('request_counts')
    .select(['app_id as appId', 'hour', 'requests', 'errors', 'refreshes'])
    .where('app_id', '=', appId)
    .where('hour', '>=', hourOf(since))
    .orderBy('hour')
    .execute();
}

export function hourOf(at: number): number {
  return Math.floor(at / HOUR);
}

export async function removeOldCounts(db: Database, limit: number, now: number): Promise<number> {
  const old = db
    .selectFrom('request_counts')
    .select(['app_id', 'hour'])
    .where('hour', '<', hourOf(now - KEPT_FOR))
    .orderBy('hour')
    .limit(limit);
  const result = await db
    .deleteFrom('request_counts')
    .where(({ eb, refTuple }) => eb(refTuple('app_id', 'hour'), 'in', old.$asTuple('app_id', 'hour')))
    .executeTakeFirst();
  return Number(result.numDeletedRows);
}
