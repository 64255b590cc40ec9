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

/** The connection may have as many rows that no longer work, and wait to be removed. */
const MAX_READ = 4 * MAX_GRANTS;

/** More are left to the next Allow, so that none takes long. */
const MAX_ENDED = 100;

type Connection = Required<GrantParties>;

/** Whether the limit may be reached. It reads an index only, as an Allow always does. */
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

/**
 * Needs a transaction, in which a grant is created afterwards. Ends the grants that expire first, so that one more is within the limit.
 * Of two at once, both choose the same ones, and the second finds them ended.
 */
export async function makeRoom(tx: Database, connection: Connection, now: number): Promise<void> {
  const rows = await selectUnrevokedBetween(tx, connection)
    .select(['refresh_expires_at as until', 'removable_on as removableOn'])
    .orderBy('id')
    .limit(MAX_READ)
    .execute();
  const exchanged = rows.filter(({ until }) => isLive({ ended: null, until }, now));
  const codes = rows.filter(({ until }) => until === null);
  const chosen = [exchanged, codes].flatMap(beyondLimit).map(({ id }) => id);
  if (chosen.length > 0) await endBeyondLimit(tx, chosen, now);
}

/**
 * What has ended, but is not marked yet, keeps its reason. It does count, but costs no other grant its place: a stop concerns
 * all earlier grants of a connection, and those that follow expire later.
 */
async function endBeyondLimit(tx: Database, chosen: string[], now: number): Promise<void> {
  const found = selectUnrevokedWithParties(tx).select(['grants.id', endedReason(now).as('ended')]);
  const rows = await found.where('grants.id', 'in', chosen).execute();
  const ids = rows.flatMap(({ id, ended }) => (ended === null ? [id] : []));
  if (ids.length === 0) return;
  await recordRevoked(tx, await updateBeyondLimit(tx, ids, now), 'connection_limit', now);
}

/** They are sorted by id. */
function beyondLimit<Row extends { removableOn: number }>(rows: Row[]): Row[] {
  const firstToExpire = rows.toSorted((a, b) => a.removableOn - b.removableOn);
  return firstToExpire.slice(0, Math.min(MAX_ENDED, Math.max(0, rows.length - (MAX_GRANTS - 1))));
}
