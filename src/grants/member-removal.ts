import { withdrawInvitationsOf } from '../accounts/invitations.ts';
import { deleteMembership, lockOwnership, mayManageMembers, rejectLastOwner } from '../accounts/memberships.ts';
import { auditedUser } from '../accounts/users.ts';
import { type App, listAppsById } from '../apps/apps.ts';
import { type Actor, recordAudit } from '../audit/entries.ts';
import { type Database, inTransaction } from '../storage/storage.ts';
import { deleteRequestsOfMember } from './app-requests.ts';
import { forgetConsentsOfMember } from './consents.ts';
import { revokeGrantsOfUser } from './grants.ts';
import { selectLiveGrants } from './status.ts';

interface Parties {
  userId: string;
  businessId: string;
}

/**
 * A member leaves, or an owner or operator removes them. Their grants in the business end, and a later membership does not
 * restore them. False if there is no such member, or if the actor may not remove them.
 */
export async function removeMember(
  actor: Actor,
  db: Database,
  { userId, businessId }: Parties,
  now: number,
): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    const ownership = await lockOwnership(tx, { userId, businessId });
    const { member } = ownership;
    if (!member || (actor.id !== userId && !mayManageMembers(ownership, actor))) return false;
    rejectLastOwner(ownership, actor);
    await deleteMembership(tx, userId, businessId);
    await withdrawInvitationsOf(tx, { userId, businessId }, now);
    await deleteRequestsOfMember(tx, { userId, businessId });
    // In this order: a grant that relies on a consent is either revoked below, or waits and finds no consent.
    await forgetConsentsOfMember(tx, { userId, businessId });
    await revokeGrantsOfUser(tx, { userId, businessId, reason: 'member_removed' }, now);
    const subject = auditedUser(member);
    const detail = { role: member.role };
    await recordAudit(tx, { action: 'member.removed', actor, businessId, subject, detail }, now);
    return true;
  });
}

/** The apps that lose their access when the member is removed. */
export async function listAppsAllowedBy(db: Database, { userId, businessId }: Parties, now: number): Promise<App[]> {
  const live = await selectLiveGrants(db, now)
    .select('app_id')
    .distinct()
    .where('user_id', '=', userId)
    .where('business_id', '=', businessId)
    .execute();
  return listAppsById(
    db,
    live.map(({ app_id }) => app_id),
  );
}
