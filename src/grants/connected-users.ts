import { setImmediate } from 'node:timers/promises';
import type { Database } from '../storage/storage.ts';
import { selectConsents } from './consents.ts';
import { type Counted, MAX_COUNTED, MAX_READ } from './counts.ts';
import { BATCH, readLive } from './unrevoked.ts';

export interface ConnectedUsers extends Counted {
  /** Those with a connection, which may be a saved consent. */
  users: number;
  /** Those for whom the app has access now. */
  live: number;
}

interface Pair {
  appId: string;
  businessId: string;
}

/** How many users have connected an app to a business. */
export async function countConnectedUsers(
  db: Database,
  pair: Pair,
  now: number,
  maxRead = MAX_READ,
): Promise<ConnectedUsers> {
  const seen = new Set<string>();
  let isPart = false;
  for await (const { grants, isLast } of readLive(db, pair, now, maxRead)) {
    for (const { userId } of grants) seen.add(userId);
    isPart = !isLast;
    if (seen.size > MAX_COUNTED) break;
  }
  const live = seen.size;
  const isAll = await addConsenting(db, { pair, seen, maxRead }, now);
  return { users: seen.size, live, isPart: isPart || !isAll };
}

/** Whether all consents were read. */
async function addConsenting(
  db: Database,
  { pair, seen, maxRead }: { pair: Pair; seen: Set<string>; maxRead: number },
  now: number,
): Promise<boolean> {
  let after = '';
  for (let read = 0; read < maxRead && seen.size <= MAX_COUNTED; read += BATCH) {
    const userIds = await listConsenting(db, pair, after);
    const others = userIds.filter((id) => !seen.has(id));
    for (const id of await filterCurrent(db, { pair, userIds: others }, now)) seen.add(id);
    if (userIds.length < BATCH) return true;
    after = userIds.at(-1) ?? '';
    await setImmediate();
  }
  return false;
}

/** With consents that count, and others. */
async function listConsenting(db: Database, { appId, businessId }: Pair, after: string): Promise<string[]> {
  let query = db
    .selectFrom('consents')
    .select('user_id')
    .where('business_id', '=', businessId)
    .where('app_id', '=', appId);
  if (after) query = query.where('user_id', '>', after);
  const rows = await query.orderBy('user_id').limit(BATCH).execute();
  return rows.map(({ user_id }) => user_id);
}

async function filterCurrent(
  db: Database,
  { pair: { appId, businessId }, userIds }: { pair: Pair; userIds: string[] },
  now: number,
): Promise<string[]> {
  if (userIds.length === 0) return [];
  const rows = await selectConsents(db, now)
    .select('consents.user_id')
    .where('consents.business_id', '=', businessId)
    .where('consents.app_id', '=', appId)
    .where('consents.user_id', 'in', userIds)
    .execute();
  return rows.map(({ user_id }) => user_id);
}
