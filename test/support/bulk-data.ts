import { sql } from 'kysely';
import { DAY } from '../../src/lib/clock.ts';
import { newId } from '../../src/lib/ids.ts';
import { newSalt } from '../../src/lib/secrets.ts';
import { SCOPES } from '../../src/oauth/scopes.ts';
import type { Storage } from '../../src/storage/storage.ts';
import type { Tables } from '../../src/storage/tables.ts';

const ALL_SCOPES = SCOPES.map(({ name }) => name).join(' ');
const BATCH_SIZE = 500;

interface Options {
  businessId: string;
  userId: string;
  appId: string;
  /** This many apps are connected by the user, and this many users have connected the app. */
  half: number;
}

/** Fills every list of a business with thousands of rows. */
export async function addManyConnections(storage: Storage, { businessId, userId, appId, half }: Options, now: number) {
  const entries = Array.from({ length: half }, (_, index) => ({ index, appId: newId(now), userId: newId(now) }));
  const parties = { business_id: businessId };
  const pairs = entries.flatMap((each) => [
    { app_id: each.appId, user_id: userId },
    { app_id: appId, user_id: each.userId },
  ]);
  const insert = createBatchInsert(storage);
  await insert(
    'apps',
    entries.map((each) => ({
      ...APP,
      id: each.appId,
      name: `Gadget ${each.index}`,
      owner_business_id: businessId,
      created_at: now,
    })),
  );
  const userIds = entries.map((each) => each.userId);
  await addMembers(storage, { businessId, userIds }, now);
  await insert(
    'consents',
    pairs.map((pair) => ({ ...pair, ...parties, scopes: ALL_SCOPES, declined: '', allowed_at: now })),
  );
  await insert(
    'grants',
    pairs.map((pair) => ({ ...pair, ...parties, ...liveGrant(now) })),
  );
  await insert(
    'scope_uses',
    pairs.map((pair) => ({
      ...pair,
      ...parties,
      scope: 'read:invoices',
      day: Math.floor(now / DAY),
      uses: 1234,
      last_at: now,
    })),
  );
  // Updates the planner's statistics, as autovacuum would.
  await sql`analyze`.execute(storage.durable);
  return entries;
}

/** Adds a live grant for each of the parties. Returns their ids. */
export async function addLiveGrants(
  storage: Storage,
  parties: { appId: string; businessId: string; userId: string }[],
  now: number,
): Promise<string[]> {
  const rows = parties.map(({ appId, businessId, userId }) => ({
    ...liveGrant(now),
    app_id: appId,
    business_id: businessId,
    user_id: userId,
  }));
  await createBatchInsert(storage)('grants', rows);
  return rows.map(({ id }) => id);
}

/** Adds members named Person 0, Person 1 and so on. */
export async function addMembers(
  storage: Storage,
  { businessId, userIds }: { businessId: string; userIds: string[] },
  now: number,
): Promise<void> {
  const insert = createBatchInsert(storage);
  await insert(
    'users',
    userIds.map((id, index) => ({
      id,
      email: `person-${index}@example.com`,
      email_skeleton: `person-${index}@example.com`,
      name: `Person ${index}`,
      password_hash: '',
      platform_admin: 0,
      created_at: now,
    })),
  );
  await insert(
    'memberships',
    userIds.map((id) => ({ user_id: id, business_id: businessId, role: 'member' as const, created_at: now })),
  );
}

const APP = {
  owner_scope: 'business' as const,
  open_to_any_business: 0,
  requires_pkce: 0,
  allowed_scopes: ALL_SCOPES,
  redirect_uris: '["https://gadget.example/callback"]',
};

export function liveGrant(now: number) {
  return {
    id: newId(now),
    salt: newSalt(),
    scopes: ALL_SCOPES,
    created_at: now,
    code_expires_at: now,
    exchanged_at: now,
    rotation: 0,
    rotated_at: now,
    refresh_expires_at: now + 30 * DAY,
    removable_on: 1_000_000,
  };
}

function createBatchInsert(storage: Storage) {
  return <Name extends keyof Tables>(table: Name, rows: Partial<Tables[Name]>[]): Promise<void> =>
    storage.transaction(async (db) => {
      for (let index = 0; index < rows.length; index += BATCH_SIZE) {
        const batch = rows.slice(index, index + BATCH_SIZE) as never;
        await db.insertInto(table).values(batch).execute();
      }
    });
}
