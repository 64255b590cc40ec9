import { type Actor, recordAudit } from '../audit/acts.ts';
import { FormError } from '../lib/errors.ts';
import type { Database } from '../storage/storage.ts';
import { withdrawInvitationsOf } from './invitations.ts';
import { lockMembers, type Member, readRole, updateRole } from './memberships.ts';
import { auditedUser } from './user-acts.ts';

/** What is known for sure, until the transaction ends, when someone wants to change a membership. */
interface Ownership {
  /** Whom it is about; undefined for someone who is no member. */
  member: Member | undefined;
  /** Who may decide: a disabled owner cannot. */
  owners: string[];
}

/** Needs a transaction. */
export async function lockOwnership(
  db: Database,
  { userId, businessId }: { userId: string; businessId: string },
): Promise<Ownership> {
  const held = await lockMembers(db, { userId, businessId });
  const owners = held.filter(({ role, disabledAt }) => role === 'owner' && disabledAt === null);
  return { member: held.find(({ id }) => id === userId), owners: owners.map(({ id }) => id) };
}

/** Judged by the row as it is now, and not by the page that offered it. */
export function isDecidedByOwner({ owners }: Ownership, by: Pick<Actor, 'kind' | 'id'>): boolean {
  return by.kind === 'operator' || owners.some((id) => id === by.id);
}

/** An operator may: it is to them that a business without an owner turns. */
export function rejectLastOwner({ member, owners }: Ownership, by: Actor): void {
  if (member?.role !== 'owner' || by.kind === 'operator') return;
  if (owners.some((id) => id !== member.id)) return;
  throw new FormError('role', 'A business keeps at least one owner. Make someone else an owner first.');
}

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
  rejectLastOwner(ownership, by);
  await updateRole(db, userId, businessId, wanted);
  // Whoever may no longer invite people cannot let them in by a link made before.
  await withdrawInvitationsOf(db, { userId, businessId }, now);
  const subject = auditedUser(member);
  const detail = { from: member.role, to: wanted };
  await recordAudit(db, { action: 'member.role_changed', actor: by, businessId, subject, detail }, now);
  return true;
}

/** The businesses that would have nobody to run them if this user could no longer sign in. */
export async function listSolelyOwned(db: Database, userId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('memberships')
    .innerJoin('businesses', 'businesses.id', 'memberships.business_id')
    .select('businesses.name')
    .where('memberships.user_id', '=', userId)
    .where('memberships.role', '=', 'owner')
    .where(({ exists, not, selectFrom }) =>
      not(
        exists(
          selectFrom('memberships as others')
            .innerJoin('users', 'users.id', 'others.user_id')
            .select('others.user_id')
            .whereRef('others.business_id', '=', 'memberships.business_id')
            .where('others.role', '=', 'owner')
            .where('others.user_id', '!=', userId)
            .where('users.disabled_at', 'is', null),
        ),
      ),
    )
    .orderBy('businesses.name')
    .execute();
  return rows.map(({ name }) => name);
}
