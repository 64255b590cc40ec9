import { DAY, HOUR } from '../lib/clock.ts';
import { inChunks } from '../storage/chunks.ts';
import { retentionStep } from '../storage/retention.ts';
import type { Database } from '../storage/storage.ts';
import type { Row } from '../storage/tables.ts';

export interface Counts {
  requests: number;
  errors: number;
  refreshes: number;
}

/** The requests of one app within one hour. */
export interface HourlyCounts extends Counts {
  appId: string;
  /** Hours since 1970. */
  hour: number;
  /** Successful code exchanges. */
  exchanges?: number;
  pkceExchanges?: number;
}

const RETENTION = 31 * DAY;

/** Sorted by key, so that two nodes that update the same rows cannot deadlock. */
export async function addCounts(db: Database, counts: HourlyCounts[]): Promise<void> {
  const sorted = counts.toSorted((a, b) => (a.appId === b.appId ? a.hour - b.hour : a.appId < b.appId ? -1 : 1));
  for (const chunk of inChunks(sorted)) {
    await db
      .insertInto('request_counts')
      .values(chunk.map(toCountRow))
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

function toCountRow({ appId, exchanges = 0, pkceExchanges = 0, ...counted }: HourlyCounts) {
  return { app_id: appId, ...counted, exchanges, pkce_exchanges: pkceExchanges };
}

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

/** Oldest first, without hours that had no requests. */
export async function listCounts(db: Database, appId: string, since: number): Promise<HourlyCounts[]> {
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

export const oldCounts = retentionStep(
  'request_counts',
  ['app_id', 'hour'],
  'hour',
  (now) => hourOf(now - RETENTION) - 1,
);

/** How often an app has used a scope of a user's grants in one business. */
interface ScopeUse {
  appId: string;
  userId: string;
  scope: string;
  uses: number;
  lastAt: number;
}

export type NewScopeUse = ScopeUse & { businessId: string };

/** Sorted by key, so that two nodes that update the same rows cannot deadlock. */
export async function addScopeUses(db: Database, uses: NewScopeUse[]): Promise<void> {
  const rows = uses
    .map((use) => ({ key: scopeUseKey(use), row: toUseRow(use) }))
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .map(({ row }) => row);
  for (const values of inChunks(rows)) {
    await db
      .insertInto('scope_uses')
      .values(values)
      .onConflict((conflict) =>
        conflict.columns(['business_id', 'app_id', 'user_id', 'scope', 'day']).doUpdateSet(({ eb, ref }) => ({
          uses: eb('scope_uses.uses', '+', ref('excluded.uses')),
          last_at: eb
            .case()
            .when('excluded.last_at', '>', ref('scope_uses.last_at'))
            .then(ref('excluded.last_at'))
            .else(ref('scope_uses.last_at'))
            .end(),
        })),
      )
      .execute();
  }
}

/** Identifies the row that a use is added to. */
export function scopeUseKey({ businessId, appId, userId, scope, lastAt }: Omit<NewScopeUse, 'uses'>): string {
  return `${businessId} ${appId} ${userId} ${scope} ${dayOf(lastAt)}`;
}

/** Sums over the days since then. `userId` and `among` restrict the result. */
export async function listScopeUses(
  db: Database,
  {
    businessId,
    userId,
    among,
  }: { businessId: string; userId?: string; among?: { appIds: string[]; userIds: string[] } },
  since: number,
): Promise<ScopeUse[]> {
  let query = db
    .selectFrom('scope_uses')
    .select(({ fn }) => [
      'app_id as appId',
      'user_id as userId',
      'scope',
      fn.sum<number>('uses').as('uses'),
      fn.max<number>('last_at').as('lastAt'),
    ])
    .where('business_id', '=', businessId)
    .where('day', '>=', dayOf(since))
    .groupBy(['app_id', 'user_id', 'scope']);
  if (userId !== undefined) query = query.where('user_id', '=', userId);
  if (among) query = query.where('app_id', 'in', among.appIds).where('user_id', 'in', among.userIds);
  return query.execute();
}

/** When the app last used a scope in each of these businesses. */
export async function lastUses(db: Database, appId: string, businessIds: string[]): Promise<Map<string, number>> {
  if (businessIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('scope_uses')
    .select(({ fn }) => ['business_id as businessId', fn.max<number>('last_at').as('lastAt')])
    .where('business_id', 'in', businessIds)
    .where('app_id', '=', appId)
    .groupBy('business_id')
    .execute();
  return new Map(rows.map(({ businessId, lastAt }) => [businessId, lastAt]));
}

export const oldScopeUses = retentionStep(
  'scope_uses',
  ['business_id', 'app_id', 'user_id', 'scope', 'day'],
  'day',
  (now) => dayOf(now - RETENTION) - 1,
);

function toUseRow(use: NewScopeUse): Row<'scope_uses'> {
  return {
    business_id: use.businessId,
    app_id: use.appId,
    user_id: use.userId,
    scope: use.scope,
    day: dayOf(use.lastAt),
    uses: use.uses,
    last_at: use.lastAt,
  };
}

function dayOf(at: number): number {
  return Math.floor(at / DAY);
}
