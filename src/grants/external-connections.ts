import { setImmediate } from 'node:timers/promises';
import { lockUser } from '../accounts/users.ts';
import { DAY } from '../lib/clock.ts';
import { listScopeUses } from '../request-log/counts.ts';
import type { Database } from '../storage/storage.ts';
import { lockBusiness } from './app-policies.ts';
import type { ConnectionKey } from './connection-rows.ts';
import { selectConsents } from './consents.ts';

/** How many connections with external apps a user has at most, and a business. */
export interface ExternalBounds {
  user: number;
  business: number;
}

export type Bounded = keyof ExternalBounds;

/** Whose connections with external apps. */
export type Side = { userId: string; businessId?: string } | { userId?: never; businessId: string };

/** Allow is refused: the user or the business has too many. */
export class ExternalBoundReached extends Error {
  readonly of: Bounded;

  constructor(of: Bounded) {
    super(`There are as many connections with external apps as one ${of} may have.`);
    this.of = of;
  }
}

interface Parties {
  userId: string;
  businessId: string;
}

/** Needs a transaction, and to be its first lock: parallel Allows of external apps by this user, or in this business, wait for it. */
export async function lockExternal(tx: Database, { userId, businessId }: Parties): Promise<void> {
  await lockUser(tx, userId);
  await lockBusiness(tx, businessId);
}

/** Needs the transaction of `lockExternal`. For a new connection. */
export async function rejectBeyondBounds(
  tx: Database,
  { userId, businessId }: Parties,
  bounds: ExternalBounds,
  now: number,
): Promise<void> {
  if ((await countExternal(tx, { userId }, bounds.user, now)) === bounds.user) throw new ExternalBoundReached('user');
  const inBusiness = await countExternal(tx, { businessId }, bounds.business, now);
  if (inBusiness === bounds.business) throw new ExternalBoundReached('business');
}

/** Reads at most so many rows: they are sorted as in the index, which SQLite otherwise does not begin with. */
async function countExternal(db: Database, side: Side, max: number, now: number): Promise<number> {
  const external = selectExternal(db, side, now).select('consents.app_id').orderBy('consents.app_id');
  return (await external.limit(max).execute()).length;
}

/** A user allows an external app on a screen only, so each connection has a consent. */
function selectExternal(db: Database, { userId, businessId }: Side, now: number) {
  // A literal: the partial indexes have it.
  let external = selectConsents(db, now).where((eb) => eb('consents.is_external', '=', eb.lit(1)));
  if (userId !== undefined) external = external.where('consents.user_id', '=', userId);
  if (businessId !== undefined) external = external.where('consents.business_id', '=', businessId);
  return external;
}

export interface ExternalConnection extends ConnectionKey {
  appName: string;
  userName: string;
  businessName: string;
  /** When the app last used a scope within a month, or was allowed. */
  usedAt: number;
}

/** The least recently used first. */
export async function listLeastUsed(
  db: Database,
  side: Side,
  { max, limit }: { max: number; limit: number },
  now: number,
): Promise<ExternalConnection[]> {
  const connections = await selectExternal(db, side, now)
    .innerJoin('apps', 'apps.id', 'consents.app_id')
    .innerJoin('users', 'users.id', 'consents.user_id')
    .innerJoin('businesses', 'businesses.id', 'consents.business_id')
    .select(['consents.app_id as appId', 'consents.user_id as userId', 'consents.business_id as businessId'])
    .select(['apps.name as appName', 'users.name as userName', 'businesses.name as businessName'])
    .select('consents.allowed_at as usedAt')
    .limit(max)
    .execute();
  for (const among of Map.groupBy(connections, ({ businessId }) => businessId).values()) {
    for (let start = 0; start < among.length; start += BATCH) {
      await addUses(db, among.slice(start, start + BATCH), now);
    }
  }
  return connections.sort((a, b) => a.usedAt - b.usedAt).slice(0, limit);
}

/** On SQLite, a statement delays everybody. */
const BATCH = 50;
const USAGE_PERIOD = 30 * DAY;

async function addUses(db: Database, among: ExternalConnection[], now: number): Promise<void> {
  const [businessId = ''] = among.map((connection) => connection.businessId);
  const ids = { appIds: among.map(({ appId }) => appId), userIds: among.map(({ userId }) => userId) };
  const uses = await listScopeUses(db, { businessId, among: ids }, now - USAGE_PERIOD);
  for (const connection of among) {
    const own = uses.filter(({ appId, userId }) => appId === connection.appId && userId === connection.userId);
    connection.usedAt = Math.max(connection.usedAt, ...own.map(({ lastAt }) => lastAt));
  }
  await setImmediate();
}
