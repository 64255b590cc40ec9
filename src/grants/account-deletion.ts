import { withdrawInvitationsOf } from '../accounts/invitations.ts';
import { deleteMailLinksOf } from '../accounts/mail-links.ts';
import {
  deleteMembership,
  findOwnership,
  listMembers,
  listMemberships,
  type Member,
  type Membership,
} from '../accounts/memberships.ts';
import { deleteNoticesOfUser } from '../accounts/notices.ts';
import { deletePasskeysOfUser } from '../accounts/passkeys.ts';
import { deletePasswordLinkOf } from '../accounts/password-links.ts';
import { deleteSecondFactors } from '../accounts/second-factors.ts';
import { endSessionsOfUser } from '../accounts/sessions.ts';
import {
  auditedUser,
  type Credentials,
  deleteUser,
  lockPlatformAdmins,
  lockUser,
  lockUserForDeletion,
  recordUserAudit,
  type User,
} from '../accounts/users.ts';
import { type App, listAppsOf } from '../apps/apps.ts';
import { type Actor, recordAudit } from '../audit/entries.ts';
import { FormError } from '../lib/errors.ts';
import { type Database, inTransaction } from '../storage/storage.ts';
import { deleteRequestsOfMember } from './app-requests.ts';
import { forgetConsentsOfUser } from './consents.ts';
import { beginFollowUp } from './follow-ups.ts';
import { deleteHandoversOfMember } from './handover-rows.ts';
import { lockMember } from './member-changes.ts';
import { disableApp } from './suspension.ts';
import { findSuccessor, transferBusinessConnections } from './transfers.ts';

/** What the deletion of an account ends in one business. */
export interface EndedMembership extends Membership {
  /**
   * Other people belong to the business, and none of them is an owner who can sign in: the account cannot be deleted.
   */
  needsOwner: boolean;
  /** The owner who becomes responsible for the connections of the business. Undefined: they end. */
  successor: Member | undefined;
  /** Apps of a business without other members. They are disabled. */
  apps: App[];
}

/** For the page: it locks nothing. */
export function listEndedMemberships(db: Database, userId: string): Promise<EndedMembership[]> {
  return listEnded(db, userId, findOwnership);
}

async function listEnded(
  db: Database,
  userId: string,
  readOwnership: typeof findOwnership,
): Promise<EndedMembership[]> {
  const ended: EndedMembership[] = [];
  for (const membership of await listMemberships(db, userId)) {
    const { businessId, role } = membership;
    const members = await listMembers(db, businessId, { search: '', after: undefined, limit: 2 });
    const isAlone = members.every(({ id }) => id === userId);
    const ownership = await readOwnership(db, { userId, businessId });
    const { owners } = ownership;
    const successor = findSuccessor(ownership, { id: userId });
    const needsOwner = !isAlone && role === 'owner' && owners.every((id) => id === userId);
    ended.push({ ...membership, needsOwner, successor, apps: isAlone ? await listAppsOf(db, businessId) : [] });
  }
  return ended;
}

/** False if the password was changed since it was checked. */
export async function deleteAccount(actor: Actor, db: Database, current: Credentials, now: number): Promise<boolean> {
  const { user } = current;
  return inTransaction(db, async (tx) => {
    if (user.isPlatformAdmin) await rejectLastAdmin(tx, user);
    const found = await lockUser(tx, user.id);
    if (found?.passwordHash !== current.passwordHash) return false;
    // Before the memberships, which an Allow for the business locks after its session.
    await endSessionsOfUser(tx, user.id);
    const memberships = await listEnded(tx, user.id, lockMember);
    for (const ended of memberships) await endMembership(actor, tx, { user, ended }, now);
    await lockUserForDeletion(tx, user.id);
    // In this order: a grant that relies on a consent is either marked below, or waits and finds no consent.
    await forgetConsentsOfUser(tx, user.id);
    await beginFollowUp(tx, { kind: 'end', userId: user.id, reason: 'member_removed' }, now);
    await recordUserAudit(actor, tx, { action: 'user.deleted', user }, now);
    await deleteNoticesOfUser(tx, user.id);
    await deletePasskeysOfUser(tx, user.id);
    await deleteSecondFactors(tx, user.id);
    await deletePasswordLinkOf(tx, user.id);
    await deleteMailLinksOf(tx, user.id);
    await deleteUser(tx, user.id);
    return true;
  });
}

async function rejectLastAdmin(tx: Database, user: User): Promise<void> {
  const admins = await lockPlatformAdmins(tx);
  if (admins.every((id) => id === user.id)) throw new FormError('current_password', 'You are the last platform admin.');
}

async function endMembership(
  actor: Actor,
  tx: Database,
  { user, ended }: { user: User; ended: EndedMembership },
  now: number,
): Promise<void> {
  const { businessId, businessName, role, needsOwner, successor, apps } = ended;
  if (needsOwner) {
    throw new FormError(
      'current_password',
      `You are the only owner of ${businessName}. Make someone else an owner first.`,
    );
  }
  for (const app of apps) await disableApp(actor, tx, app, now);
  const transfer = { from: user, businessId, cause: 'account deleted' } as const;
  if (successor) await transferBusinessConnections(actor, tx, { ...transfer, to: successor }, now);
  await deleteMembership(tx, user.id, businessId);
  await deleteRequestsOfMember(tx, { userId: user.id, businessId });
  await deleteHandoversOfMember(tx, { userId: user.id, businessId });
  await withdrawInvitationsOf(tx, { userId: user.id, businessId }, now);
  const entry = { action: 'member.removed', actor, businessId, subject: auditedUser(user) } as const;
  await recordAudit(tx, { ...entry, detail: { role, account: 'deleted' } }, now);
}
