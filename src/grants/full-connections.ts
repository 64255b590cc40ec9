import type { Database } from '../storage/storage.ts';
import {
  type Connection,
  type ConnectionGrant,
  counts,
  endBeyondLimit,
  MAX_GRANTS,
  mayBeFull,
  selectGrants,
} from './connection-limit.ts';
import { requestFollowUp } from './follow-ups.ts';

/** Grants, codes and what has expired. Only a node without a limit makes more. */
const MAX_READ = 4 * MAX_GRANTS;

/** No Allow takes long. */
const MAX_ENDED = 100;

/**
 * Needs a transaction, in which a grant is created afterwards. Ends the grants that expire first, so that one more is within the limit.
 * Of two at once, both choose the same ones, and the second finds them ended. If there are many, a follow-up ends them.
 */
export async function makeRoom(tx: Database, connection: Connection, now: number): Promise<void> {
  const rows = await selectGrants(tx, connection).limit(MAX_READ).execute();
  const exchanged = beyondLimit(rows.filter((row) => counts(row, now)));
  const codes = beyondLimit(rows.filter(({ until }) => until === null));
  if (rows.length === MAX_READ || exchanged.length > MAX_ENDED) await requestLimit(tx, connection, now);
  else await endBeyondLimit(tx, [...exchanged, ...codes.slice(0, MAX_ENDED)], now);
}

/** They are sorted by id. */
function beyondLimit(rows: ConnectionGrant[]): ConnectionGrant[] {
  const firstToExpire = rows.toSorted((a, b) => a.removableOn - b.removableOn);
  return firstToExpire.slice(0, Math.max(0, rows.length - (MAX_GRANTS - 1)));
}

/** Needs a transaction, in which the connection got grants of another. */
export async function limitLater(tx: Database, connection: Connection, now: number): Promise<void> {
  if (await mayBeFull(tx, connection)) await requestLimit(tx, connection, now);
}

async function requestLimit(tx: Database, connection: Connection, now: number): Promise<void> {
  const waiting = tx
    .selectFrom('follow_ups')
    .select('id')
    .where('kind', '=', 'limit')
    .where('app_id', '=', connection.appId)
    .where('business_id', '=', connection.businessId)
    .where('user_id', '=', connection.userId);
  if (await waiting.limit(1).executeTakeFirst()) return;
  await requestFollowUp(tx, { kind: 'limit', ...connection, reason: 'connection_limit' }, now);
}
