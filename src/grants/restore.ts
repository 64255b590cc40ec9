import { withdrawAllInvitations } from '../accounts/invitations.ts';
import { deleteAllMailLinks } from '../accounts/mail-links.ts';
import { deleteAllPasswordLinks } from '../accounts/password-links.ts';
import { endAllSessions } from '../accounts/sessions.ts';
import { type Actor, recordAudit } from '../audit/entries.ts';
import { dropWaitingMails } from '../mail/mails.ts';
import { addKnownKeys } from '../storage/known-keys.ts';
import { confirmReading } from '../storage/plausible-clock.ts';
import type { Database } from '../storage/storage.ts';
import { inTransaction } from '../storage/storage.ts';
import { forgetEveryConsent } from './consents.ts';
import { revokeEveryGrant } from './revocation.ts';

interface Restore {
  /** The file of the backup, for the audit log. */
  from: string;
  keepsTokens: boolean;
  /** The ids of the keys of the server. One of them may be newer than the backup. */
  keyIds: readonly string[];
}

/**
 * Completes the restore of a backup. What has been revoked since the backup is unknown, so everything that gives access
 * ends, unless `keepsTokens` is set. Returns how much of each has ended.
 */
export async function completeRestore(actor: Actor, db: Database, { from, keepsTokens, keyIds }: Restore, now: number) {
  const grants_ended = keepsTokens ? 0 : await revokeEveryGrant(db, 'backup_restored', now);
  return inTransaction(db, async (tx) => {
    const ended = keepsTokens ? {} : { grants_ended, ...(await endEveryAccess(tx, now)) };
    const detail = Object.fromEntries(Object.entries(ended).map(([name, count]) => [name, String(count)]));
    const subject = { kind: 'database' as const, id: 'database', name: from };
    await recordAudit(tx, { action: 'database.restored', actor, businessId: null, subject, detail }, now);
    await addKnownKeys(tx, keyIds, now);
    // The newest time in an old backup is long past, which would look like a clock that jumped.
    await confirmReading(tx, now);
    return ended;
  });
}

async function endEveryAccess(tx: Database, now: number) {
  return {
    consents_forgotten: await forgetEveryConsent(tx),
    sessions_ended: await endAllSessions(tx),
    invitations_withdrawn: await withdrawAllInvitations(tx, now),
    password_links_ended: await deleteAllPasswordLinks(tx),
    mail_links_ended: await deleteAllMailLinks(tx),
    mails_dropped: await dropWaitingMails(tx),
  };
}
