import type { Database } from '../storage/storage.ts';
import { type Counted, MAX_COUNTED, MAX_READ, MAX_READ_IN_LIST } from './counts.ts';
import type { GrantFilter } from './status.ts';
import { readLive } from './unrevoked.ts';

/** How many apps, businesses, users and connections a suspension would affect now. Several grants of a user in one business are one connection. */
export interface Impact extends Counted {
  apps: number;
  businesses: number;
  users: number;
  connections: number;
}

const NOBODY: Impact = { apps: 0, businesses: 0, users: 0, connections: 0, isPart: false };

/** The live grants of one app, one business or one user, even if they are suspended. */
export async function countAffected(
  db: Database,
  filter: GrantFilter,
  now: number,
  maxRead = MAX_READ,
): Promise<Impact> {
  const users = new Set<string>();
  const [apps, businesses, connections] = [new Set<string>(), new Set<string>(), new Set<string>()];
  let isPart = false;
  for await (const batch of readLive(db, filter, now, maxRead)) {
    for (const { appId, businessId, userId } of batch.grants) {
      apps.add(appId);
      businesses.add(businessId);
      users.add(userId);
      connections.add(`${appId} ${businessId} ${userId}`);
    }
    isPart = !batch.isLast;
    if (users.size > MAX_COUNTED) break;
  }
  return { apps: apps.size, businesses: businesses.size, users: users.size, connections: connections.size, isPart };
}

/** For a list of apps. */
export async function countEachAffected(
  db: Database,
  appIds: string[],
  now: number,
): Promise<(appId: string) => Impact> {
  const impacts = new Map<string, Impact>();
  for (const appId of appIds) impacts.set(appId, await countAffected(db, { appId }, now, MAX_READ_IN_LIST));
  return (appId) => impacts.get(appId) ?? NOBODY;
}
