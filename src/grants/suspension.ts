import { endSessionsOfUser } from '../accounts/sessions.ts';
import { markUserDisabled, type User } from '../accounts/users.ts';
import { type App, disableApp, pauseApp } from '../apps/apps.ts';
import { recordEvents } from '../events/events.ts';
import type { Database } from '../storage/storage.ts';
import type { GrantReason } from './inactive-reasons.ts';
import { selectLiveGrants } from './status.ts';

/**
 * Its owner stops the app: nothing of it works until it is enabled again. Its grants stay as they are, but it hears of
 * each. Needs a transaction. False if it was disabled already.
 */
export async function disableAppAndTell(db: Database, app: App, now: number): Promise<boolean> {
  const isChange = await disableApp(db, app.id, now);
  if (isChange) await tellOfPause(db, { app_id: app.id }, 'app_disabled', now);
  return isChange;
}

/** The same by the platform, until it resumes the app. */
export async function pauseAppAndTell(db: Database, app: App, now: number): Promise<boolean> {
  const isChange = await pauseApp(db, app.id, now);
  if (isChange) await tellOfPause(db, { app_id: app.id }, 'app_paused', now);
  return isChange;
}

/** The same for everything that a user allowed, and their sessions end: enabled again, they sign in anew. */
export async function disableUserAndTell(db: Database, user: User, now: number): Promise<boolean> {
  const isChange = await markUserDisabled(db, user.id, now);
  if (isChange) await endSessionsOfUser(db, user.id);
  if (isChange) await tellOfPause(db, { user_id: user.id }, 'user_disabled', now);
  return isChange;
}

async function tellOfPause(
  db: Database,
  whose: { app_id: string } | { user_id: string },
  reason: GrantReason,
  now: number,
): Promise<void> {
  const live = await selectLiveGrants(db, now)
    .select(['id as grantId', 'app_id as appId', 'business_id as businessId', 'user_id as userId'])
    .where(({ and }) => and(whose))
    .execute();
  const events = live.map(({ grantId, userId, ...audience }) => ({
    type: 'grant.revoked' as const,
    ...audience,
    data: { grantId, userId, reason },
  }));
  await recordEvents(db, events, now);
}
