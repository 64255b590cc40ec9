import { newId } from '../../src/lib/ids.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { liveGrant } from './bulk-data.ts';

interface Options {
  businessId: string;
  userId: string;
  count: number;
  isPublic?: boolean;
  scopes?: string;
}

/** Adds apps that the user has connected to the business. Returns their ids, in order. */
export async function connectApps(
  { durable: db }: Storage,
  { businessId, userId, count, isPublic = false, scopes = 'read:contacts' }: Options,
  now: number,
): Promise<string[]> {
  const ids = Array.from({ length: count }, () => newId(now));
  for (let start = 0; start < count; start += 100) {
    const some = ids.slice(start, start + 100);
    const apps = some.map((id) => ({
      id,
      name: 'Gadget',
      owner_scope: 'platform' as const,
      open_to_any_business: 1,
      requires_pkce: 1,
      is_public: isPublic ? 1 : 0,
      allowed_scopes: scopes,
      redirect_uris: '[]',
      created_at: now,
    }));
    const grants = some.map((app_id) => ({
      ...liveGrant(now),
      app_id,
      user_id: userId,
      business_id: businessId,
      scopes,
    }));
    await db.insertInto('apps').values(apps).execute();
    await db.insertInto('grants').values(grants).execute();
  }
  return ids;
}
