import { preparedQuery } from '../storage/prepared-query.ts';
import type { Database } from '../storage/storage.ts';
import { updateBeyondLimit } from './grants.ts';
import { recordRevoked } from './revocation.ts';
import { endedReason, type GrantParties, selectUnrevokedBetween, selectUnrevokedWithParties } from './status.ts';
import { isLive } from './unrevoked.ts';

/**
 * How many live grants one user has at most for one app in one business, so that everything about a connection is bounded. As many
 * codes that are not exchanged, which do not count.
 */
export const MAX_GRANTS = 1000;

export type Connection = Required<GrantParties>;

/** Whether the limit may be reached. It reads an index only, as every Allow does it. */
export async function mayBeFull(db: Database, connection: Connection): Promise<boolean> {
  return (await readLast(db, connection)).rows.length > 0;
}

const readLast = preparedQuery(selectLast);

/** A row if the connection has so many grants that are not revoked. */
export function selectLast(db: Database, { appId, businessId, userId }: Connection) {
  // Literals: SQLite would plan a parameter again for each call.
  return selectUnrevokedBetween(db, { appId, businessId, userId })
    .limit((eb) => eb.lit(1))
    .offset((eb) => eb.lit(MAX_GRANTS - 1));
}

/** In the order of their ids. */
export function selectGrants(db: Database, connection: Connection) {
  return selectUnrevokedBetween(db, connection)
    .select(['refresh_expires_at as until', 'removable_on as removableOn'])
    .orderBy('id');
}

export type ConnectionGrant = Awaited<ReturnType<ReturnType<typeof selectGrants>['execute']>>[number];

/**
 * Whether it counts. So does what a stop has ended, until it is marked, but it costs no other grant its place: a stop concerns all
 * earlier grants of a connection, and those that follow expire later.
 */
export function counts({ until }: ConnectionGrant, now: number): boolean {
  return isLive({ ended: null, until }, now);
}

/** Needs a transaction. What has ended already keeps its reason. */
export async function endBeyondLimit(tx: Database, chosen: ConnectionGrant[], now: number): Promise<void> {
  if (chosen.length === 0) return;
  const all = chosen.map(({ id }) => id);
  const found = selectUnrevokedWithParties(tx).select(['grants.id', endedReason(now).as('ended')]);
  const rows = await found.where('grants.id', 'in', all).execute();
  const ids = rows.flatMap(({ id, ended }) => (ended === null ? [id] : []));
  if (ids.length === 0) return;
  await recordRevoked(tx, await updateBeyondLimit(tx, ids, now), 'connection_limit', now);
}
