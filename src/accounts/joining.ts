import { recordAct, type UserActor } from '../audit/acts.ts';
import { FormError } from '../lib/errors.ts';
import type { Database } from '../storage/storage.ts';
import { acceptInvitation, type Invitation, stateOf } from './invitations.ts';
import { addMember, findMembership } from './memberships.ts';
import { userSubject } from './user-acts.ts';
import { setCurrentBusiness } from './users.ts';

/** Needs a transaction. False if the invitation can no longer be used; a member who comes with it leaves it unused. */
export async function join(
  db: Database,
  { invitation, by }: { invitation: Invitation; by: UserActor },
  now: number,
): Promise<boolean> {
  const { id, businessId, businessName, role, note } = invitation;
  if (await findMembership(db, by.id, businessId)) {
    throw new FormError('member', `You are a member of ${businessName} already.`);
  }
  if (stateOf(invitation, now) !== 'open') return false;
  if (!(await acceptInvitation(db, { id, userId: by.id }, now))) return false;
  await addMember(db, { userId: by.id, businessId, role }, now);
  await setCurrentBusiness(db, by.id, businessId);
  const subject = userSubject(by);
  const detail = { role, ...(note && { invitation: note }) };
  await recordAct(db, { action: 'member.joined', actor: by, businessId, subject, detail }, now);
  return true;
}
