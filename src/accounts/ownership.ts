import { type Actor, recordAudit } from '../audit/entries.ts';
import { type Database, inTransaction } from '../storage/storage.ts';
import { withdrawInvitationsOf } from './invitations.ts';
import { lockOwnership, mayManageMembers, readRole, rejectLastOwner, updateRole } from './memberships.ts';
import { auditedUser } from './users.ts';

interface RoleChange {
  userId: string;
  businessId: string;
  role: string;
}

/** False if there is no such member, or if the actor may not change the role. */
export async function changeRole(
  actor: Actor,
  db: Database,
  { userId, businessId, role }: RoleChange,
  now: number,
): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    const ownership = await lockOwnership(tx, { userId, businessId });
    const { member } = ownership;
    if (!member || !mayManageMembers(ownership, actor)) return false;
    const newRole = readRole(role);
    if (newRole === member.role) return true;
    rejectLastOwner(ownership, actor);
    await updateRole(tx, userId, businessId, newRole);
    // A former owner's invitations must not let anyone in.
    await withdrawInvitationsOf(tx, { userId, businessId }, now);
    const detail = { from: member.role, to: newRole };
    await recordAudit(
      tx,
      { action: 'member.role_changed', actor, businessId, subject: auditedUser(member), detail },
      now,
    );
    return true;
  });
}

/** The names of the businesses of which this user is the only owner who is not disabled. */
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
