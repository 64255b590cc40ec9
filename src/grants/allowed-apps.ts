import type { Database } from '../storage/storage.ts';
import { selectConsents } from './consents.ts';

/** Whether the user has allowed the app in any business, and has not disconnected it there. */
export async function hasAllowedApp(
  db: Database,
  { userId, appId }: { userId: string; appId: string },
  now: number,
): Promise<boolean> {
  const allowed = selectConsents(db, now)
    .select('consents.app_id')
    .where('consents.user_id', '=', userId)
    .where('consents.app_id', '=', appId);
  return (await allowed.limit(1).executeTakeFirst()) !== undefined;
}
