import { recordAudit, type UserActor } from '../audit/acts.ts';
import { emailSkeleton } from '../lib/email-addresses.ts';
import { FormError } from '../lib/errors.ts';
import type { Database } from '../storage/storage.ts';
import { acceptInvitation, type Invitation, stateOf } from './invitations.ts';
import { findMembership, insertMembership } from './memberships.ts';
import { auditedUser } from './user-acts.ts';
import { setCurrentBusiness, type User } from './users.ts';

/** Why an account cannot accept an invitation. */
export type JoinObstacle = 'another address' | 'address not verified';

/**
 * An invitation is for one address. An account whose address nobody has verified may have been made by someone else, with
 * an invitation to a business of theirs, so it can join only the business that it was made in.
 */
export function findObstacle(user: User, { email, businessId }: Invitation): JoinObstacle | undefined {
  if (emailSkeleton(user.email) !== emailSkeleton(email)) return 'another address';
  if (!mayJoin(user, businessId)) return 'address not verified';
  return undefined;
}

export function mayJoin({ emailVerifiedAt, originBusinessId }: User, businessId: string): boolean {
  return emailVerifiedAt !== null || originBusinessId === businessId;
}

interface Joining {
  invitation: Invitation;
  user: User;
  by: UserActor;
}

/** Needs a transaction. False if the invitation can no longer be used; a member who opens one leaves it unused. */
export async function join(db: Database, { invitation, user, by }: Joining, now: number): Promise<boolean> {
  const { id, businessId, businessName, role, email } = invitation;
  if (await findMembership(db, user.id, businessId)) {
    throw new FormError('member', `You are a member of ${businessName} already.`);
  }
  const obstacle = findObstacle(user, invitation);
  if (obstacle) throw new FormError('member', `You cannot join with this account: ${obstacle}.`);
  if (stateOf(invitation, now) !== 'open') return false;
  if (!(await acceptInvitation(db, { id, userId: user.id }, now))) return false;
  await insertMembership(db, { userId: user.id, businessId, role }, now);
  await setCurrentBusiness(db, user.id, businessId);
  const subject = auditedUser(user);
  const detail = { role, invitation: email };
  await recordAudit(db, { action: 'member.joined', actor: by, businessId, subject, detail }, now);
  return true;
}
