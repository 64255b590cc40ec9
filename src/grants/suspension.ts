import { endSessionsOfUser } from '../accounts/sessions.ts';
import {
  lockPlatformAdmins,
  markUserDisabled,
  markUserEnabled,
  recordUserAudit,
  type User,
} from '../accounts/users.ts';
import type { App } from '../apps/app.ts';
import { type AuditedApp, recordAppAudit } from '../apps/app-audit.ts';
import { type AppChange, changeApp } from '../apps/app-changes.ts';
import { findApp, lockApp, setAppStatus } from '../apps/apps.ts';
import type { Actor } from '../audit/entries.ts';
import { FormError } from '../lib/errors.ts';
import { type Database, inTransaction } from '../storage/storage.ts';
import { cancelNotices, requestFollowUp } from './follow-ups.ts';

/** The owner disables the app until it is enabled again. Its grants are kept, and it gets an event for each afterwards. False if it was disabled already. */
export async function disableApp(actor: Actor, db: Database, app: AuditedApp, now: number): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    if (!(await setAppStatus(tx, app.id, { column: 'disabled_at', value: now }))) return false;
    await requestFollowUp(tx, { kind: 'notify', appId: app.id, reason: 'app_disabled' }, now);
    await recordAppAudit(actor, tx, { action: 'app.disabled', app }, now);
    return true;
  });
}

export async function enableApp(actor: Actor, db: Database, app: AuditedApp, now: number): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    if (!(await setAppStatus(tx, app.id, { column: 'disabled_at', value: null }))) return false;
    await cancelNotices(tx, { app_id: app.id }, 'app_disabled');
    await recordAppAudit(actor, tx, { action: 'app.enabled', app }, now);
    return true;
  });
}

/** The platform pauses the app, whether or not its owner has disabled it. */
export async function pauseApp(
  actor: Actor,
  db: Database,
  { app, reason }: { app: AuditedApp; reason?: string | undefined },
  now: number,
): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    if (!(await setAppStatus(tx, app.id, { column: 'paused_at', value: now }))) return false;
    await requestFollowUp(tx, { kind: 'notify', appId: app.id, reason: 'app_paused' }, now);
    await recordAppAudit(actor, tx, { action: 'app.paused', app, detail: reason ? { reason } : {} }, now);
    return true;
  });
}

export async function resumeApp(actor: Actor, db: Database, app: AuditedApp, now: number): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    if (!(await setAppStatus(tx, app.id, { column: 'paused_at', value: null }))) return false;
    await cancelNotices(tx, { app_id: app.id }, 'app_paused');
    await recordAppAudit(actor, tx, { action: 'app.resumed', app }, now);
    return true;
  });
}

/** If the owner closes the app to other businesses, it gets an event for each grant there afterwards. Undefined if there is no such app. */
export async function changeAppSettings(
  actor: Actor,
  db: Database,
  change: AppChange,
  now: number,
): Promise<App | undefined> {
  return inTransaction(db, async (tx) => {
    await lockApp(tx, change.appId);
    const before = await findApp(tx, change.appId);
    const after = await changeApp(actor, tx, change, now);
    if (!before || !after || before.openToAnyBusiness === after.openToAnyBusiness) return after;
    if (after.openToAnyBusiness) await cancelNotices(tx, { app_id: after.id }, 'app_closed');
    else await requestFollowUp(tx, { kind: 'notify', appId: after.id, reason: 'app_closed' }, now);
    return after;
  });
}

/**
 * The user is signed out everywhere and their grants stop working until they are enabled again. False if the actor is no
 * longer a platform admin.
 */
export async function disableUser(
  actor: Actor,
  db: Database,
  { user, reason }: { user: User; reason?: string },
  now: number,
): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    if (actor.kind !== 'operator' && !(await mayDisable(actor, tx, user))) return false;
    if (!(await markUserDisabled(tx, user.id, now))) return true;
    await endSessionsOfUser(tx, user.id);
    await requestFollowUp(tx, { kind: 'notify', userId: user.id, reason: 'user_disabled' }, now);
    await recordUserAudit(actor, tx, { action: 'user.disabled', user, detail: reason ? { reason } : {} }, now);
    return true;
  });
}

/** The user can sign in again, and the grants that they created work again. */
export async function enableUser(actor: Actor, db: Database, user: User, now: number): Promise<void> {
  await inTransaction(db, async (tx) => {
    if (!(await markUserEnabled(tx, user.id))) return;
    await cancelNotices(tx, { user_id: user.id }, 'user_disabled');
    await recordUserAudit(actor, tx, { action: 'user.enabled', user }, now);
  });
}

/** A platform admin must remain. The lock rejects the second of two admins who disable each other at the same time. */
async function mayDisable(actor: Actor, tx: Database, user: User): Promise<boolean> {
  const admins = await lockPlatformAdmins(tx);
  if (!admins.some((id) => id === actor.id)) return false;
  if (user.id === actor.id) throw new FormError('user', 'You cannot disable yourself. Another platform admin can.');
  if (admins.every((id) => id === user.id)) throw new FormError('user', 'This is the last platform admin.');
  return true;
}
