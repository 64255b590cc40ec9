import type { Database } from '../storage/storage.ts';
import type { Grant } from './status.ts';

/** One app in one business, for one user or for everyone. */
export type GrantParties = Pick<Grant, 'appId' | 'businessId'> & { userId?: string | undefined };

/** Whether there is a grant between these, active or not, that has not been removed for its age. */
export async function wasGranted(db: Database, parties: GrantParties): Promise<boolean> {
  return (await selectBetween(db, parties).limit(1).executeTakeFirst()) !== undefined;
}

export function selectBetween(db: Database, { appId, businessId, userId }: GrantParties) {
  const between = db
    .selectFrom('grants')
    .select('id')
    .where('business_id', '=', businessId)
    .where('app_id', '=', appId);
  return userId === undefined ? between : between.where('user_id', '=', userId);
}

/** Not revoked; some may have expired. */
export function selectUnrevoked(db: Database) {
  return db.selectFrom('grants').select('id').where('revoked_at', 'is', null);
}

/** Neither revoked nor expired. It does not ask whether app, user and membership are active. */
export function selectLiveGrants(db: Database, now: number) {
  return db.selectFrom('grants').where('grants.revoked_at', 'is', null).where('grants.refresh_expires_at', '>', now);
}
