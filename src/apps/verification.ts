import { lockBusinessForShare } from '../accounts/businesses.ts';
import type { Actor } from '../audit/entries.ts';
import { FormError } from '../lib/errors.ts';
import { sha256 } from '../lib/secrets.ts';
import { type Database, inTransaction } from '../storage/storage.ts';
import type { App } from './app.ts';
import { recordAppAudit } from './app-audit.ts';
import { findApp, lockApp, updateApp } from './apps.ts';

/** Covers every field of an app that pages show beside the Verified publisher badge. */
function identityFingerprint({ name, identity, logoHash }: App): string {
  return sha256(JSON.stringify([name, identity.publisherName, identity.homepageUrl, logoHash]));
}

/** Covers the name of the business, too. */
export function checkedFingerprint(app: App, ownerName: string | null): string {
  return sha256(JSON.stringify([identityFingerprint(app), ownerName]));
}

interface Verification {
  appId: string;
  /**
   * The `checkedFingerprint` of what an admin has seen on a page. The owner may have changed the app or the business since.
   * Absent for an operator, who verifies what is stored.
   */
  seen?: string;
}

/** The platform has checked who publishes the app. False if it was verified already. */
export async function verifyPublisher(
  actor: Actor,
  db: Database,
  { appId, seen }: Verification,
  now: number,
): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    const owner = await lockBusinessForShare(tx, (await findApp(tx, appId))?.ownerBusinessId ?? '');
    await lockApp(tx, appId);
    const app = await findApp(tx, appId);
    if (!app || app.verifiedAt !== null) return false;
    if (app.ownerScope !== 'business') {
      throw new FormError('app', 'Only an app that a business has registered can be verified.');
    }
    if (seen !== undefined && seen !== checkedFingerprint(app, owner?.name ?? null)) {
      throw new FormError('app', 'The app has changed since you opened this page. Check it again.');
    }
    await updateApp(tx, appId, { verified_at: now });
    const { publisherName } = app.identity;
    const detail: Record<string, string> = publisherName === null ? {} : { publisher: publisherName };
    await recordAppAudit(actor, tx, { action: 'app.verified', app, detail }, now);
    return true;
  });
}

/** False if it was not verified. */
export async function removeVerification(
  actor: Actor,
  db: Database,
  { appId, reason }: { appId: string; reason?: string },
  now: number,
): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    await lockApp(tx, appId);
    const app = await findApp(tx, appId);
    if (!app || app.verifiedAt === null) return false;
    await updateApp(tx, appId, { verified_at: null });
    await recordAppAudit(
      actor,
      tx,
      { action: 'app.verification_removed', app, ...(reason && { detail: { reason } }) },
      now,
    );
    return true;
  });
}

/** The field of the error of a change that keeps the badge, so that a page can ask first. */
export const BADGE = 'badge';

export function badgeAtStake(apps: App[]): FormError {
  const names = apps.map(({ name }) => name).join(', ');
  return new FormError(BADGE, `The Verified publisher badge is removed until the change has been checked: ${names}.`);
}

interface ChangedApp {
  before: App;
  after: App;
  /** Whether to throw instead of removing the badge. */
  keepsBadge: boolean | undefined;
}

/**
 * Part of every change of an app. Otherwise the owner of a verified app could take the name and the logo of another, and keep
 * the badge.
 */
export async function endVerification(
  actor: Actor,
  db: Database,
  { before, after, keepsBadge }: ChangedApp,
  now: number,
): Promise<App> {
  if (after.verifiedAt === null || identityFingerprint(before) === identityFingerprint(after)) return after;
  if (keepsBadge) throw badgeAtStake([before]);
  await updateApp(db, after.id, { verified_at: null });
  const detail = { reason: 'the app was changed' };
  await recordAppAudit(actor, db, { action: 'app.verification_removed', app: after, detail }, now);
  return { ...after, verifiedAt: null };
}
