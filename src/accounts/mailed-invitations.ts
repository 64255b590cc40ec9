import type { UserActor } from '../audit/entries.ts';
import { looksLikeAny } from '../lib/confusables.ts';
import { newId } from '../lib/ids.ts';
import { type Mailer, queueMail } from '../mail/mails.ts';
import { type Database, inTransaction } from '../storage/storage.ts';
import {
  createInvitation,
  findInvitation,
  findInvitationById,
  type Invitation,
  type NewInvitation,
} from './invitations.ts';
import { findInvitationLink, MAIL_LINK_LIFETIME, putMailLink } from './mail-links.ts';
import { listMemberships } from './memberships.ts';
import { findUserByEmail } from './users.ts';

/**
 * `shown`: the link that the owner received; it does not verify the address. `mailed`: the link in the mail; it
 * verifies the address. `expired`: a mailed link after 30 minutes, or one that was replaced; the person can request a
 * new one.
 */
export type LinkSource = 'shown' | 'mailed' | 'expired';

/** Creates an invitation and mails a link to its address. A form that is sent twice sends one mail. */
export async function inviteByMail(
  actor: UserActor,
  db: Database,
  mailer: Mailer,
  { language, ...invitation }: NewInvitation & { language: string },
  now: number,
): Promise<Invitation | undefined> {
  return inTransaction(db, async (tx) => {
    const created = await createInvitation(actor, tx, invitation, now);
    if (created && !(await findInvitationLink(tx, { id: created.id })))
      await mailInvitation(tx, mailer, { invitation: created, language }, now);
    return created;
  });
}

/**
 * Ends the previous link in a mail. The link that the owner received still works. `language` is that of the page that
 * requests the mail, for people who have no account, or have not chosen one.
 */
export async function mailInvitation(
  db: Database,
  mailer: Mailer,
  { invitation, language }: { invitation: Invitation; language: string },
  now: number,
): Promise<void> {
  const { id, email, businessName, inviterName } = invitation;
  const invited = await findUserByEmail(db, email);
  // For a stranger, too: the work does not reveal which accounts exist.
  const own = await listMemberships(db, invited?.id ?? newId(now));
  const known = [mailer.platformName, ...own.map((membership) => membership.businessName)];
  const isImitation = looksLikeAny(businessName, known);
  await inTransaction(db, async (tx) => {
    const token = await putMailLink(tx, { subjectId: id, purpose: 'invitation', boundTo: '' }, now);
    const mail = {
      kind: 'invitation',
      to: { address: email },
      language: invited?.language ?? language,
      cause: id,
      values: { businessName, inviterName, isImitation },
      path: `/invitation/${token}`,
    } as const;
    await queueMail(tx, mailer, { ...mail, validFor: MAIL_LINK_LIFETIME }, now);
  });
}

/** The invitation of a link, shown or mailed. Undefined if the link is unknown. */
export async function findInvitationOf(
  db: Database,
  token: string,
  now: number,
): Promise<{ invitation: Invitation; source: LinkSource } | undefined> {
  const shown = await findInvitation(db, token);
  if (shown) return { invitation: shown, source: 'shown' };
  const link = await findInvitationLink(db, { token });
  const invitation = link && (await findInvitationById(db, link.subject_id));
  return invitation && { invitation, source: link.expires_at > now ? 'mailed' : 'expired' };
}
