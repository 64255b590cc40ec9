import type { Actor } from '../audit/entries.ts';
import { HOUR } from '../lib/clock.ts';
import { newId } from '../lib/ids.ts';
import { hashSecret, newSecret } from '../lib/secrets.ts';
import { parseUserAgent } from '../lib/user-agents.ts';
import { type Mailer, queueMail } from '../mail/mails.ts';
import { type Database, inTransaction } from '../storage/storage.ts';
import type { Row } from '../storage/tables.ts';
import { bindingOf, findMailLink, isBound, MAIL_LINK_LIFETIME, markMailLinkUsed, putMailLink } from './mail-links.ts';
import { findOwnership, listMemberships, lockOwnership, mayManageMembers } from './memberships.ts';
import type { Device } from './sessions.ts';
import {
  type Credentials,
  findCredentials,
  findCredentialsByEmail,
  findUser,
  lockUser,
  recipientOf,
  recordUserAudit,
  type User,
} from './users.ts';

/** A one-time link with which a user sets a new password. */
export interface PasswordLink {
  user: User;
  creator: Creator | typeof BY_MAIL;
  expiresAt: number;
}

/** Who created a link: an owner of the business, a platform admin, or an operator. */
interface Creator {
  kind: 'user' | 'platform' | 'operator';
  id: string | null;
  name: string;
  businessId: string | null;
}

const LIFETIME = 24 * HOUR;

/** The user requested the link, which was sent to their address. */
const BY_MAIL = { kind: 'mail', id: null, name: 'mail', businessId: null } as const;

/**
 * Mails a link to the address, if it has an account. Otherwise it stores the same rows, and sends nothing: neither the
 * response nor the work reveals which accounts exist.
 */
export async function mailPasswordLink(
  db: Database,
  mailer: Mailer,
  { email, device, language }: { email: string; device: Device; language: string },
  now: number,
): Promise<void> {
  const found = await findCredentialsByEmail(db, email);
  const account = found?.user.disabledAt === null ? found : undefined;
  const userId = account?.user.id ?? newId(now);
  await inTransaction(db, async (tx) => {
    const boundTo = account ? bindingOf(account) : '';
    const token = await putMailLink(tx, { subjectId: userId, purpose: 'password', boundTo }, now);
    const mail = {
      kind: 'password_reset',
      to: account && recipientOf(account.user),
      userId,
      language: account?.user.language ?? language,
      cause: userId,
      values: { device: parseUserAgent(device.browser), address: device.address },
      path: `/password/${token}`,
      validFor: MAIL_LINK_LIFETIME,
    } as const;
    await queueMail(tx, mailer, mail, now);
  });
}

/** Replaces the user's previous link. Undefined if there is no such user, or if the actor may not create a link for them. */
export async function createPasswordLink(
  actor: Actor,
  db: Database,
  /** `businessId` is the business whose owner the actor is; null for platform admins and operators. */
  { userId, businessId }: { userId: string; businessId: string | null },
  now: number,
): Promise<{ token: string; expiresAt: number } | undefined> {
  const creator = creatorOf(actor, businessId);
  const token = newSecret();
  return inTransaction(db, async (tx) => {
    const found = await lockUser(tx, userId);
    if (!found || !(await mayCreateLink(tx, { user: found.user, creator, readOwnership: lockOwnership })))
      return undefined;
    const link = {
      token_hash: hashSecret(token),
      bound_to: bindingOf(found),
      creator_kind: creator.kind,
      creator_id: creator.id,
      creator_name: creator.name,
      business_id: businessId,
      created_at: now,
      expires_at: now + LIFETIME,
      used_at: null,
    };
    await tx
      .insertInto('password_links')
      .values({ user_id: userId, ...link })
      .onConflict((conflict) => conflict.column('user_id').doUpdateSet(link))
      .execute();
    await recordUserAudit(actor, tx, { action: 'user.password_link_created', user: found.user, businessId }, now);
    return { token, expiresAt: link.expires_at };
  });
}

/**
 * Checks the rights of the creator as they are now. An owner can reset only a member who belongs to no other business:
 * a new password gives access to every business of the user. Users cannot create a link for themselves, which would
 * bypass their own password.
 */
async function mayCreateLink(db: Database, { user, creator, readOwnership }: Authorship): Promise<boolean> {
  const { kind, id, businessId } = creator;
  if (kind === 'operator') return true;
  if (id === null || id === user.id) return false;
  if (kind === 'platform') {
    const admin = await findUser(db, id);
    return admin?.isPlatformAdmin === true && admin.disabledAt === null;
  }
  if (businessId === null || user.isPlatformAdmin) return false;
  const ownership = await readOwnership(db, { userId: user.id, businessId });
  if (!ownership.member || !mayManageMembers(ownership, { kind, id })) return false;
  return (await listMemberships(db, user.id)).every((membership) => membership.businessId === businessId);
}

interface Authorship {
  user: User;
  creator: Creator;
  /** A page locks nothing. */
  readOwnership: typeof findOwnership;
}

/** Undefined if it is unknown, used, replaced or expired, or if its creator has lost the right to create it. */
export async function findPasswordLink(db: Database, token: string, now: number): Promise<PasswordLink | undefined> {
  const row = await selectUnused(db, token, now).executeTakeFirst();
  if (row) return readLink(db, { row, found: await findCredentials(db, row.user_id), readOwnership: findOwnership });
  const mailed = await findMailLink(db, { purpose: 'password', token }, now);
  return mailed && readMailedLink(mailed, await findCredentials(db, mailed.subject_id));
}

/** Needs a transaction. Atomic: the conditional UPDATE succeeds for one caller only. */
export async function usePasswordLink(db: Database, token: string, now: number): Promise<PasswordLink | undefined> {
  const row = await selectUnused(db, token, now).executeTakeFirst();
  if (!row) return useMailedLink(db, token, now);
  const link = await readLink(db, { row, found: await lockUser(db, row.user_id), readOwnership: lockOwnership });
  if (!link) return undefined;
  const { numUpdatedRows } = await db
    .updateTable('password_links')
    .set({ used_at: now })
    .where('token_hash', '=', hashSecret(token))
    .where('used_at', 'is', null)
    .executeTakeFirstOrThrow();
  return numUpdatedRows === 1n ? link : undefined;
}

async function useMailedLink(db: Database, token: string, now: number): Promise<PasswordLink | undefined> {
  const mailed = await findMailLink(db, { purpose: 'password', token }, now);
  const link = mailed && readMailedLink(mailed, await lockUser(db, mailed.subject_id));
  return link && (await markMailLinkUsed(db, mailed, now)) ? link : undefined;
}

export async function deletePasswordLinkOf(db: Database, userId: string): Promise<void> {
  await db.deleteFrom('password_links').where('user_id', '=', userId).execute();
}

/** After a restore: a link that is unused in the backup may have been used since. */
export async function deleteAllPasswordLinks(db: Database): Promise<number> {
  const { numDeletedRows } = await db.deleteFrom('password_links').executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}

function selectUnused(db: Database, token: string, now: number) {
  return db
    .selectFrom('password_links')
    .selectAll()
    .where('token_hash', '=', hashSecret(token))
    .where('used_at', 'is', null)
    .where('expires_at', '>', now);
}

interface StoredLink extends Pick<Authorship, 'readOwnership'> {
  row: Row<'password_links'>;
  found: Credentials | undefined;
}

async function readLink(db: Database, { row, found, readOwnership }: StoredLink): Promise<PasswordLink | undefined> {
  if (!isBound(found, row.bound_to)) return undefined;
  const creator = { kind: row.creator_kind, id: row.creator_id, name: row.creator_name, businessId: row.business_id };
  return (await mayCreateLink(db, { user: found.user, creator, readOwnership }))
    ? { user: found.user, creator, expiresAt: row.expires_at }
    : undefined;
}

function readMailedLink(row: Row<'mail_links'>, found: Credentials | undefined): PasswordLink | undefined {
  if (!isBound(found, row.bound_to)) return undefined;
  return { user: found.user, creator: BY_MAIL, expiresAt: row.expires_at };
}

function creatorOf({ kind, id, name }: Actor, businessId: string | null): Creator {
  if (kind === 'app' || kind === 'anonymous') throw new Error('Only people create password links.');
  return { kind, id, name, businessId };
}
