import type { Actor } from '../audit/entries.ts';
import { readEmail } from '../lib/email-addresses.ts';
import { FormError } from '../lib/errors.ts';
import { parseUserAgent } from '../lib/user-agents.ts';
import { type Mailer, queueMail } from '../mail/mails.ts';
import { type Database, inTransaction, isUniqueViolation } from '../storage/storage.ts';
import { bindingOf, findMailLink, isBound, MAIL_LINK_LIFETIME, markMailLinkUsed, putMailLink } from './mail-links.ts';
import { type Device, deleteOtherSessions, type Session } from './sessions.ts';
import {
  type Credentials,
  findCredentials,
  isAddressTaken,
  lockUser,
  recipientOf,
  recordUserAudit,
  setEmail,
  type User,
  verifyEmail,
} from './users.ts';

interface AddressRequest {
  /** As they were when the password was checked: the link ends when either changes. */
  current: Credentials;
  email: string;
  device: Device;
  /** The language of the page, for users who have chosen none. */
  language: string;
}

/**
 * Mails a link to the address to verify, which may be the current one. If another account has the address, the mail has
 * no link: only the owner of the mailbox learns that the account exists.
 */
export async function requestAddressLink(
  actor: Actor,
  db: Database,
  mailer: Mailer,
  { current, email: typed, device, language: ofPage }: AddressRequest,
  now: number,
): Promise<void> {
  const { user } = current;
  const email = readEmail(typed);
  await inTransaction(db, async (tx) => {
    const isTaken = await isAddressTaken(tx, { id: user.id, email });
    const link = { subjectId: user.id, purpose: 'address', boundTo: bindingOf(current), email } as const;
    const path = `/settings/address/${await putMailLink(tx, link, now)}`;
    const language = user.language ?? ofPage;
    const mail = { to: { address: email }, userId: user.id, language, cause: user.id, values: {} };
    const isSame = email === user.email;
    if (isTaken) await queueMail(tx, mailer, { ...mail, kind: 'address_taken' }, now);
    else {
      const kind = isSame ? 'address_verification' : 'address_change';
      await queueMail(tx, mailer, { ...mail, kind, path, validFor: MAIL_LINK_LIFETIME }, now);
    }
    if (isSame) return;
    await queueMail(tx, mailer, noticeTo(user, { newAddress: email, device, language }), now);
    await recordUserAudit(actor, tx, { action: 'user.email_change_requested', user, detail: { to: email } }, now);
  });
}

/** To the current address, while its owner can still stop the change. */
function noticeTo(
  user: User,
  { newAddress, device, language }: { newAddress: string; device: Device; language: string },
) {
  const values = { newAddress, device: parseUserAgent(device.browser), address: device.address };
  const { id } = user;
  const mail = { kind: 'address_change_requested', to: recipientOf(user), userId: id, cause: id, values } as const;
  return { ...mail, language, path: '/password' };
}

interface AddressLink {
  session: Session;
  token: string;
}

/**
 * The address that a link verifies. Undefined if the link is unknown, used, replaced or expired, or belongs to another
 * account: a person who has only the mailbox, because the address was mistyped or someone else created the account,
 * gets nothing.
 */
export async function findAddressLink(
  db: Database,
  { session, token }: AddressLink,
  now: number,
): Promise<string | undefined> {
  const link = await findMailLink(db, { purpose: 'address', token }, now);
  if (!link || link.subject_id !== session.user.id) return undefined;
  return isBound(await findCredentials(db, link.subject_id), link.bound_to) ? (link.email ?? undefined) : undefined;
}

/** Signs out every other session if the address is a new one. False if the link no longer works. */
export async function confirmAddress(
  actor: Actor,
  db: Database,
  mailer: Mailer,
  { session, token, language }: AddressLink & { language: string },
  now: number,
): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    const link = await findMailLink(tx, { purpose: 'address', token }, now);
    if (!link?.email || link.subject_id !== session.user.id) return false;
    const found = await lockUser(tx, link.subject_id);
    if (!isBound(found, link.bound_to) || !(await markMailLinkUsed(tx, link, now))) return false;
    const { user } = found;
    if (link.email === user.email) await verifyEmail(actor, tx, { user }, now);
    else await changeEmail(actor, tx, mailer, { session, user, email: link.email, language }, now);
    return true;
  });
}

async function changeEmail(
  actor: Actor,
  tx: Database,
  mailer: Mailer,
  { session, user, email, language: ofPage }: { session: Session; user: User; email: string; language: string },
  now: number,
): Promise<void> {
  if (await isAddressTaken(tx, { id: user.id, email })) throw addressTaken();
  await setEmail(tx, { id: user.id, email }, now).catch((error: unknown) => {
    // Another account has confirmed it at the same time.
    throw isUniqueViolation(error) ? addressTaken() : error;
  });
  await deleteOtherSessions(tx, session);
  const values = { newAddress: email };
  const language = user.language ?? ofPage;
  await queueMail(
    tx,
    mailer,
    { kind: 'address_changed', to: recipientOf(user), userId: user.id, language, cause: user.id, values },
    now,
  );
  await recordUserAudit(
    actor,
    tx,
    { action: 'user.email_changed', user, detail: { from: user.email, to: email } },
    now,
  );
}

function addressTaken(): FormError {
  return new FormError('email', 'Another account now has this address, or one that looks like it.');
}
