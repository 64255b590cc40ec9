import { notify } from '../accounts/notices.ts';
import { deletePasskeysOfUser } from '../accounts/passkeys.ts';
import { type PasswordLink, usePasswordLink } from '../accounts/password-links.ts';
import { hashNewPassword } from '../accounts/passwords.ts';
import { deleteSecondFactors, findSecondFactors, needsSecondStep } from '../accounts/second-factors.ts';
import { endSessionsOfUser } from '../accounts/sessions.ts';
import { recordUserAudit, setPasswordHash, type User, userActor, verifyEmail } from '../accounts/users.ts';
import type { Actor } from '../audit/entries.ts';
import { type Database, inTransaction } from '../storage/storage.ts';
import { stopUser } from './user-connections.ts';

interface NewPassword {
  user: User;
  password: string;
  /** Whether apps lose their access, too. */
  endsGrants: boolean;
}

/** An operator sets a new password. */
export async function setPassword(
  actor: Actor,
  db: Database,
  { user, password, endsGrants }: NewPassword,
  now: number,
): Promise<void> {
  const hash = await hashNewPassword(user, password);
  await inTransaction(db, async (tx) => {
    const removed = await resetAccount(tx, { userId: user.id, hash, endsGrants }, now);
    await recordUserAudit(actor, tx, { action: 'user.password_changed', user, detail: removed }, now);
    const values = { how: 'by_operator', two_step: removed.two_step_sign_in ?? 'kept' } as const;
    await notify(tx, [user.id], { kind: 'password_changed', values }, now);
  });
}

interface PasswordReset extends NewPassword {
  token: string;
  address: string;
}

/** The user sets a new password with a link. False if the link no longer works. */
export async function resetPassword(
  db: Database,
  { token, user, password, endsGrants, address }: PasswordReset,
  now: number,
): Promise<boolean> {
  const hash = await hashNewPassword(user, password);
  return inTransaction(db, async (tx) => {
    const link = await usePasswordLink(tx, token, now);
    if (!link) return false;
    const kept = await findKeptFactor(tx, link);
    const removed = await resetAccount(tx, { userId: user.id, hash, endsGrants, kept }, now);
    await recordReset(tx, { link, address, endsGrants, removed }, now);
    return true;
  });
}

interface Reset {
  link: PasswordLink;
  address: string;
  endsGrants: boolean;
  removed: RemovedFactor;
}

/** What a reset leaves in place: the second step of the sign-in. */
type KeptFactor = 'authenticator app' | 'passkeys' | undefined;

/**
 * A person who creates a link vouches for the user, and the reset removes everything. A mailbox alone is one factor: it
 * must not remove the other. While the address is not verified, the second factor may be that of a person who took the
 * address, and is removed.
 */
export async function findKeptFactor(db: Database, { user, creator }: PasswordLink): Promise<KeptFactor> {
  if (creator.kind !== 'mail' || user.emailVerifiedAt === null) return undefined;
  const factors = await findSecondFactors(db, user.id);
  if (!needsSecondStep(factors)) return undefined;
  return factors.appAddedAt !== null ? 'authenticator app' : 'passkeys';
}

/** A link from an owner does not verify the address: owners vouch for it in their own business only. */
async function recordReset(tx: Database, { link, address, endsGrants, removed }: Reset, now: number): Promise<void> {
  const { user, creator } = link;
  const { businessId } = creator;
  const actor = userActor(user, address);
  const detail = {
    link_by: creator.kind === 'user' ? creator.name : creator.kind,
    apps: endsGrants ? 'disconnected' : 'kept',
    ...removed,
  };
  await recordUserAudit(actor, tx, { action: 'user.password_reset', user, businessId, detail }, now);
  const two_step = removed.two_step_sign_in ?? 'kept';
  await notify(tx, [user.id], { kind: 'password_changed', values: { how: creator.kind, two_step } }, now);
  if (creator.kind !== 'user') await verifyEmail(actor, tx, { user, businessId }, now);
}

/** For the audit log. Empty if the user had no authenticator app. */
type RemovedFactor = { two_step_sign_in: 'removed' } | Record<string, never>;

/**
 * Sets the password and removes every other way into the account: sessions, passkeys, the authenticator app, recovery
 * codes, and known browsers, whose cookies are bound to the password. `kept` stays. Needs a transaction.
 */
export async function resetAccount(
  tx: Database,
  { userId, hash, endsGrants, kept }: { userId: string; hash: string; endsGrants: boolean; kept?: KeptFactor },
  now: number,
): Promise<RemovedFactor> {
  // First, since it locks the row of the user: a passkey that is being added is either removed below or rejected.
  await setPasswordHash(tx, userId, hash);
  if (kept !== 'passkeys') await deletePasskeysOfUser(tx, userId);
  const isRemoved = kept !== 'authenticator app' && (await deleteSecondFactors(tx, userId));
  const removed: RemovedFactor = isRemoved ? { two_step_sign_in: 'removed' } : {};
  await endSessionsOfUser(tx, userId);
  if (endsGrants) await stopUser(tx, userId, 'password_reset', now);
  return removed;
}
