import { type Actor, recordAudit } from '../audit/acts.ts';
import { HOUR } from '../lib/clock.ts';
import { hashSecret, newSecret, sha256 } from '../lib/secrets.ts';
import type { Database } from '../storage/storage.ts';
import type { Row } from '../storage/tables.ts';
import { listMemberships } from './memberships.ts';
import { isDecidedByOwner, lockOwnership } from './ownership.ts';
import { auditedUser } from './user-acts.ts';
import { type Credentials, findCredentials, findUser, lockUser, type User } from './users.ts';

/** A one-time link with which a user sets a new password. */
export interface PasswordLink {
  user: User;
  maker: Maker;
  expiresAt: number;
}

/** Who made a link: an owner of the named business, or the platform, or an operator. */
interface Maker {
  kind: 'user' | 'platform' | 'operator';
  id: string | null;
  name: string;
  businessId: string | null;
}

interface NewLink {
  userId: string;
  by: Actor;
  /** The business in which an owner acts; null for the platform and an operator. */
  businessId: string | null;
}

export const PASSWORD_LINK_LIFETIME = 24 * HOUR;

/** Needs a transaction. Ends the user's last link. Undefined if there is no such user, or if `by` may not make one for them. */
export async function createPasswordLink(
  db: Database,
  { userId, by, businessId }: NewLink,
  now: number,
): Promise<{ token: string; expiresAt: number } | undefined> {
  const found = await lockUser(db, userId);
  const maker = makerOf(by, businessId);
  if (!found || !(await mayMakeLink(db, found.user, maker))) return undefined;
  const token = newSecret();
  const link = {
    token_hash: hashSecret(token),
    bound_to: bindingOf(found),
    creator_kind: maker.kind,
    creator_id: maker.id,
    creator_name: maker.name,
    business_id: businessId,
    created_at: now,
    expires_at: now + PASSWORD_LINK_LIFETIME,
    used_at: null,
  };
  await db
    .insertInto('password_links')
    .values({ user_id: userId, ...link })
    .onConflict((conflict) => conflict.column('user_id').doUpdateSet(link))
    .execute();
  const subject = auditedUser(found.user);
  await recordAudit(db, { action: 'user.password_link_created', actor: by, businessId, subject }, now);
  return { token, expiresAt: link.expires_at };
}

/**
 * The maker's rights as they are now. An owner may reset only a member of this business alone: a person who can set a password can
 * sign in, and a password opens every business of a user. Nobody may bypass their own password this way.
 */
async function mayMakeLink(db: Database, user: User, { kind, id, businessId }: Maker): Promise<boolean> {
  if (kind === 'operator') return true;
  if (id === null || id === user.id) return false;
  if (kind === 'platform') {
    const admin = await findUser(db, id);
    return admin?.isPlatformAdmin === true && admin.disabledAt === null;
  }
  if (businessId === null || user.isPlatformAdmin) return false;
  const ownership = await lockOwnership(db, { userId: user.id, businessId });
  if (!ownership.member || !isDecidedByOwner(ownership, { kind, id })) return false;
  return (await listMemberships(db, user.id)).every((membership) => membership.businessId === businessId);
}

/** Undefined if it is unknown, used, replaced or expired, or if its maker could not make it any more. */
export async function findPasswordLink(db: Database, token: string, now: number): Promise<PasswordLink | undefined> {
  const row = await selectUnused(db, token, now).executeTakeFirst();
  return row && readLink(db, row, await findCredentials(db, row.user_id));
}

/** Needs a transaction. Atomic: the conditional UPDATE succeeds for one caller only. */
export async function usePasswordLink(db: Database, token: string, now: number): Promise<PasswordLink | undefined> {
  const row = await selectUnused(db, token, now).executeTakeFirst();
  const link = row && (await readLink(db, row, await lockUser(db, row.user_id)));
  if (!link) return undefined;
  const { numUpdatedRows } = await db
    .updateTable('password_links')
    .set({ used_at: now })
    .where('token_hash', '=', hashSecret(token))
    .where('used_at', 'is', null)
    .executeTakeFirstOrThrow();
  return numUpdatedRows === 1n ? link : undefined;
}

/** After a restore from a backup, in which a link may be unused that was used since. */
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

async function readLink(
  db: Database,
  row: Row<'password_links'>,
  found: Credentials | undefined,
): Promise<PasswordLink | undefined> {
  if (!found || found.user.disabledAt !== null || bindingOf(found) !== row.bound_to) return undefined;
  const maker = { kind: row.creator_kind, id: row.creator_id, name: row.creator_name, businessId: row.business_id };
  return (await mayMakeLink(db, found.user, maker))
    ? { user: found.user, maker, expiresAt: row.expires_at }
    : undefined;
}

function bindingOf({ user, passwordHash }: Credentials): string {
  return sha256(`${user.email}\n${passwordHash}`);
}

function makerOf({ kind, id, name }: Actor, businessId: string | null): Maker {
  if (kind === 'app' || kind === 'anonymous') throw new Error('Only people make password links.');
  return { kind, id, name, businessId };
}
