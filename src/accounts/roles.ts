import { type Actor, recordAudit } from '../audit/acts.ts';
import type { Database } from '../storage/storage.ts';
import { withdrawInvitationsOf } from './invitations.ts';
import { readRole, setRole } from './memberships.ts';
import { isDecidedByOwner, lockOwnership, refuseLastOwner } from './ownership.ts';
import { auditedUser } from './user-acts.ts';

interface RoleChange {
  userId: string;
  businessId: string;
  role: string;
  by: Actor;
}

/** Needs a transaction. False if there is no such member, or if it is not for this one to decide. */
export async function changeRole(
  db: Database,
  { userId, businessId, role, by }: RoleChange,
  now: number,
): Promise<boolean> {
  const ownership = await lockOwnership(db, { userId, businessId });
  const { member } = ownership;
  if (!member || !isDecidedByOwner(ownership, by)) return false;
  const wanted = readRole(role);
  if (wanted === member.role) return true;
  refuseLastOwner(ownership, by);
  await setRole(db, userId, businessId, wanted);
  // Whoever may no longer invite people cannot let them in by a link made before.
  await withdrawInvitationsOf(db, { userId, businessId }, now);
  const subject = auditedUser(member);
  const detail = { from: member.role, to: wanted };
  await recordAudit(db, { action: 'member.role_changed', actor: by, businessId, subject, detail }, now);
  return true;
}
