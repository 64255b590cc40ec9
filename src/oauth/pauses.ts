import type { User } from '../accounts/users.ts';
import { disableUser } from '../accounts/users.ts';
import { type App, disableApp } from '../apps/apps.ts';
import { recordEvents } from '../events/events.ts';
import type { Database } from '../storage/storage.ts';
import type { GrantReason } from './grant-reasons.ts';

/** Nothing of the app works until it is enabled again. Its grants stay as they are, but it hears of each. Needs a transaction. */
export async function pauseApp(db: Database, app: App, now: number): Promise<void> {
  if (app.disabledAt !== null) return;
  await tellOfPause(db, { app_id: app.id }, 'app_disabled', now);
  await disableApp(db, app.id, now);
}

/** The same for everything that a user allowed. */
export async function pauseUser(db: Database, user: User, now: number): Promise<void> {
  if (user.disabledAt !== null) return;
  await tellOfPause(db, { user_id: user.id }, 'user_disabled', now);
  await disableUser(db, user.id, now);
}

async function tellOfPause(
  db: Database,
  whose: { app_id: string } | { user_id: string },
  reason: GrantReason,
  now: number,
): Promise<void> {
  const live = await db
    .selectFrom('grants')
    .select(['id as grantId', 'app_id as appId', 'business_id as businessId', 'user_id as userId'])
    .where(({ and }) => and(whose))
    .where('revoked_at', 'is', null)
    .where('refresh_expires_at', '>', now)
    .execute();
  const events = live.map(({ grantId, userId, ...audience }) => ({
    type: 'grant.revoked' as const,
    ...audience,
    data: { grantId, userId, reason },
  }));
  await recordEvents(db, events, now);
}
