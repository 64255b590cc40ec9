import { DAY, MINUTE } from '../lib/clock.ts';
import { hashSecret, newSecret, sha256 } from '../lib/secrets.ts';
import { retentionStep } from '../storage/retention.ts';
import type { Database } from '../storage/storage.ts';
import type { Row } from '../storage/tables.ts';
import type { Credentials } from './users.ts';

/** A one-time link that is sent by mail. */
type MailLink = Row<'mail_links'>;
type Purpose = MailLink['purpose'];

export const MAIL_LINK_LIFETIME = 30 * MINUTE;

/** As long as an invitation: the page of an expired link offers a new one. */
const KEPT_FOR = 7 * DAY;

interface NewMailLink {
  subjectId: string;
  purpose: Purpose;
  boundTo: string;
  email?: string;
}

/** Replaces the previous link for this purpose. Returns the token, of which only the hash is stored. */
export async function putMailLink(
  tx: Database,
  { subjectId, purpose, boundTo, email }: NewMailLink,
  now: number,
): Promise<string> {
  const token = newSecret();
  const link = {
    token_hash: hashSecret(token),
    bound_to: boundTo,
    email: email ?? null,
    created_at: now,
    expires_at: now + MAIL_LINK_LIFETIME,
    used_at: null,
  };
  await tx
    .insertInto('mail_links')
    .values({ subject_id: subjectId, purpose, ...link })
    .onConflict((conflict) => conflict.columns(['subject_id', 'purpose']).doUpdateSet(link))
    .execute();
  return token;
}

/** Undefined if it is unknown, used, replaced or expired. The caller compares `bound_to`. */
export async function findMailLink(
  db: Database,
  { purpose, token }: { purpose: Purpose; token: string },
  now: number,
): Promise<MailLink | undefined> {
  return db
    .selectFrom('mail_links')
    .selectAll()
    .where('token_hash', '=', hashSecret(token))
    .where('purpose', '=', purpose)
    .where('used_at', 'is', null)
    .where('expires_at', '>', now)
    .executeTakeFirst();
}

/** The link of an invitation, even if it is used or expired. */
export async function findInvitationLink(db: Database, by: { token: string } | { id: string }) {
  const links = db.selectFrom('mail_links').selectAll().where('purpose', '=', 'invitation');
  const found =
    'id' in by ? links.where('subject_id', '=', by.id) : links.where('token_hash', '=', hashSecret(by.token));
  return found.executeTakeFirst();
}

/** Atomic: the conditional UPDATE succeeds for one caller only. */
export async function markMailLinkUsed(db: Database, { token_hash }: MailLink, now: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('mail_links')
    .set({ used_at: now })
    .where('token_hash', '=', token_hash)
    .where('used_at', 'is', null)
    .executeTakeFirstOrThrow();
  return numUpdatedRows === 1n;
}

/** What a link depends on: it ends when the address or the password of the account changes. */
export function bindingOf({ user, passwordHash }: Credentials): string {
  return sha256(`${user.email}\n${passwordHash}`);
}

/** Whether an account can still use a link that was bound to it. */
export function isBound(found: Credentials | undefined, boundTo: string): found is Credentials {
  return found?.user.disabledAt === null && bindingOf(found) === boundTo;
}

export async function deleteMailLinksOf(db: Database, subjectId: string): Promise<void> {
  await db.deleteFrom('mail_links').where('subject_id', '=', subjectId).execute();
}

/** After a restore: a link that is unused in the backup may have been used since. */
export async function deleteAllMailLinks(db: Database): Promise<number> {
  const { numDeletedRows } = await db.deleteFrom('mail_links').executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}

export const expiredMailLinks = retentionStep(
  'mail_links',
  ['subject_id', 'purpose'],
  'expires_at',
  (now) => now - KEPT_FOR,
);
