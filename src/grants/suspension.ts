import { endSessionsOfUser } from '../accounts/sessions.ts';
import { markUserDisabled, type User } from '../accounts/users.ts';
import { type AuditedApp, recordAppAudit } from '../apps/app-audit.ts';
import { setAppStatus } from '../apps/apps.ts';
import type { Actor } from '../audit/acts.ts';
import { recordEvents } from '../events/events.ts';
import type { Database } from '../storage/storage.ts';
import { inTransaction } from '../storage/transaction.ts';
import type { GrantReason } from './inactive-reasons.ts';
import { selectLiveGrants } from './status.ts';

/** The owner stops the app until it is enabled again. Its grants stay, but it gets an event for each. False if it was disabled already. */
export async function disableApp(actor: Actor, db: Database, app: AuditedApp, now: number): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    if (!(await setAppStatus(tx, app.id, { column: 'disabled_at', value: now }))) return false;
    await tellOfPause(tx, { app_id: app.id }, 'app_disabled', now);
    await recordAppAudit(actor, tx, { action: 'app.disabled', app }, now);
    return true;
  });
}

export async function enableApp(actor: Actor, db: Database, app: AuditedApp, now: number): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    if (!(await setAppStatus(tx, app.id, { column: 'disabled_at', value: null }))) return false;
    await recordAppAudit(actor, tx, { action: 'app.enabled', app }, now);
    return true;
  });
}

/** The platform stops the app, whether or not its owner has disabled it. */
export async function pauseApp(
  actor: Actor,
  db: Database,
  { app, reason }: { app: AuditedApp; reason?: string | undefined },
  now: number,
): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    if (!(await setAppStatus(tx, app.id, { column: 'paused_at', value: now }))) return false;
    await tellOfPause(tx, { app_id: app.id }, 'app_paused', now);
    await recordAppAudit(actor, tx, { action: 'app.paused', app, detail: reason ? { reason } : {} }, now);
    return true;
  });
}

export async function resumeApp(actor: Actor, db: Database, app: AuditedApp, now: number): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    if (!(await setAppStatus(tx, app.id, { column: 'paused_at', value: null }))) return false;
    await recordAppAudit(actor, tx, { action: 'app.resumed', app }, now);
    return true;
  });
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
